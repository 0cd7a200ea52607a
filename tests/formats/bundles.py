"""Bundles to test with: a released table of every type, perturbed without a project."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Binning, ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Mechanism, ReleaseRequest, Settings
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from sfumato.engine.table.table import Attribute, Table, encode_column
from sfumato.formats.bundles.writing import BundleContents, Perturbation

FORMATS = ("csv", "parquet", "sav", "dta")
SECRET = bytes(range(100, 132))
ROWS = 600
ILLNESSES = ("asthma", "cold", "flu", "gout", None)
TRIAGE = {1: "now", 2: "soon", 3: "later"}


@dataclass(frozen=True)
class Case:
    """A release: its contents, and the true values that it must not show."""

    contents: BundleContents
    truth: Table


def specifications() -> tuple[ColumnSpec, ...]:
    """The columns of `case`."""
    return (
        ColumnSpec("illness", Role.SENSITIVE, domain=Domain(ILLNESSES)),
        ColumnSpec("triage", Role.SENSITIVE, domain=Domain((1, 2, 3), TRIAGE)),
        ColumnSpec("postcode", Role.QUASI_IDENTIFIER, Kind.TEXT),
        ColumnSpec("age", Role.QUASI_IDENTIFIER, Kind.NUMERIC),
        ColumnSpec("weight", Role.INSENSITIVE, Kind.NUMERIC),
        ColumnSpec("smoker", Role.INSENSITIVE),
        ColumnSpec("admitted", Role.INSENSITIVE, Kind.DATE),
        ColumnSpec("seen", Role.INSENSITIVE, Kind.DATE),
        ColumnSpec(
            "pressure", Role.INSENSITIVE, Kind.NUMERIC, binning=Binning((80.0, 120.0, 200.0))
        ),
        ColumnSpec("region", Role.QUASI_IDENTIFIER),
    )


def truth(rows: int = ROWS) -> Table:
    """A table with a column of each type, missing values, and labels."""
    at = np.arange(rows)
    admitted = pd.Series(pd.date_range("2024-01-01", periods=28, freq="D")).take(at % 28)
    frame = pd.DataFrame(
        {
            "illness": pd.Categorical(
                [ILLNESSES[(i % 11) % 5] for i in at], categories=list(ILLNESSES[:-1])
            ),
            "triage": pd.Series(1 + (at % 7) % 3),
            "postcode": [f"{i % 50:05d}" for i in at],
            "age": pd.Series(at % 90).astype("Int64").mask(at % 17 == 0),
            "weight": 50 + at / 7.0,
            "smoker": pd.array([(True, False, None)[i % 3] for i in at], dtype="boolean"),
            "admitted": admitted.reset_index(drop=True).mask(at % 19 == 0),
            "seen": pd.Series(pd.Timestamp("2024-05-01 08:30:00"))
            .repeat(rows)
            .reset_index(drop=True),
            "pressure": 80.0 + at % 120,
            "region": pd.Categorical([('Nörd "N"', "Süd, S", "O|st")[i % 3] for i in at]),
        }
    )
    return Table(
        frame,
        value_labels={"triage": TRIAGE, "age": {99: "unknown"}},
        column_labels={"age": "Age in years", "triage": "Urgency on arrival"},
    )


def perturbed(
    table: Table,
    spec: ColumnSpec,
    level: float,
    by: str = "uniform",
    settings: Settings | None = None,
) -> tuple[pd.Series, Perturbation, Attribute]:
    """Release one column by a mechanism."""
    mechanism, settings = mechanism_called(by), settings or {}
    column = encode_column(table, spec)
    request = ReleaseRequest(
        (column,), settings, level, record_ids_by_position(table.rows), KeyRing(SECRET)
    )
    released = mechanism.release(request, Silent())[spec.name]
    attributes = (column.attribute,)
    return released, facts_of(mechanism, attributes, level, settings), column.attribute


def facts_of(
    mechanism: Mechanism, attributes: Sequence[Attribute], level: float, settings: Settings
) -> Perturbation:
    """What a bundle tells of columns that a mechanism released."""
    return Perturbation(
        attributes=tuple(attribute.name for attribute in attributes),
        mechanism=mechanism.name,
        title=mechanism.title,
        summary=mechanism.summary,
        published=mechanism.published(level, attributes, settings),
        promise=mechanism.promise(level, attributes, settings),
        channel=mechanism.channel(level, attributes, settings),
    )


def case(rows: int = ROWS, level: float = 0.6, **changes: object) -> Case:
    """A release of `truth` in which illness and triage are perturbed."""
    table = truth(rows)
    frame = table.frame.copy()
    perturbations = []
    for spec in specifications():
        if spec.role is Role.SENSITIVE:
            frame[spec.name], facts, _ = perturbed(table, spec, level)
            perturbations.append(facts)
        elif spec.binning is not None:
            frame[spec.name] = spec.binning.apply(frame[spec.name])
    contents = BundleContents(
        table=Table(frame, table.value_labels, table.column_labels),
        columns=specifications(),
        perturbations=tuple(perturbations),
        recipient="Clinic A",
        title="Ward 7",
        release_id="0123456789abcdef",
        version="1.2.3",
    )
    return Case(replace(contents, **changes), table)


def plain_contents(frame: pd.DataFrame) -> BundleContents:
    """Contents without a perturbed column."""
    return BundleContents(
        table=Table(frame),
        columns=tuple(ColumnSpec(str(name)) for name in frame.columns),
        perturbations=(),
        recipient="Clinic A",
        title="",
        release_id="0123",
        version="1.2.3",
    )


def code_blocks(readme: str, language: str) -> list[str]:
    """The code of a README in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", readme, re.S | re.M)
