"""A table with a column of every sort, released to one recipient, and its plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import Coding, ColumnSpec, Domain, Kind, Pseudonym, Role
from sfumato.engine.generalization.hierarchies import Intervals, Masking, Orders
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table, encode_attribute
from sfumato.project.document.entry_plan import plan_release
from sfumato.project.document.model import Document, PolicyEntry, Recipient, TableSource, ViewRule
from sfumato.project.release.batches import batch_of
from sfumato.project.release.plan import Plan
from sfumato.project.release.release_columns import EncodedTable, material_of, plan_for
from sfumato.project.release.views import coarsening_of
from tests.noise import NOISE
from tests.project.whole_table import release_whole, rows_of

SECRET = bytes(range(32))
KEYS = KeyRing(SECRET)
ILLNESSES = ("asthma", "cold", "flu", "gout")
WARDS = (1, 2, 3, 7)
GRADES = ("low", "middle", "high")


def hospital(rows: int = 300) -> Table:
    """A table whose columns have missing values, and texts that UTF-8 writes in several bytes."""
    rng = np.random.default_rng(17)
    at = np.arange(rows)
    visited = pd.Timestamp("2024-01-01") + pd.to_timedelta(at % 400, unit="D")
    frame = pd.DataFrame(
        {
            "person": [f"P{i:05d}é" for i in rng.permutation(rows)],
            "name": [f"Name {i}" if i % 9 else None for i in at],
            "age": 18 + at % 70,
            "zip": [f"{10000 + 37 * (i % 60)}" if i % 11 else None for i in at],
            "grade": [GRADES[i % 3] for i in at],
            "illness": pd.Categorical([ILLNESSES[i] for i in rng.integers(0, 4, rows)]),
            "ward": pd.array([None if i % 13 == 0 else WARDS[i % 4] for i in at], dtype="Int64"),
            "cost": np.where(at % 17 == 0, np.nan, np.round(rng.gamma(2.0, 100.0, rows), 2)),
            "stay": rng.integers(1, 30, rows).astype(float),
            "visits": pd.array([None if i % 5 == 0 else i % 90 for i in at], dtype="Int64"),
            "smoker": pd.array([None if i % 7 == 0 else bool(i % 2) for i in at], dtype="boolean"),
            "visited": pd.Series(visited).where(at % 8 > 0),
            "grade_of_pain": [GRADES[i] for i in rng.integers(0, 3, rows)],
            "severity": pd.Categorical.from_codes(at % 3, list(GRADES), ordered=True),
            "weight": 1.0 + (at % 4) / 4,
            "dose": np.where(at % 19 == 0, np.nan, rng.integers(0, 600, rows) / 10),
        }
    )
    return Table(frame)


def hospital_document(rows: int = 300, view: ViewRule | None = None) -> Document:
    """A document with all mechanisms whose records stand alone."""
    table = hospital(rows)
    categorical, numeric = Kind.CATEGORICAL, Kind.NUMERIC
    document = Document(
        title="Ward 7",
        source=TableSource("/data/ward.parquet", "ab" * 32, rows),
        columns=(
            ColumnSpec("person", Role.IDENTIFYING, Kind.TEXT),
            ColumnSpec("name", Role.IDENTIFYING, Kind.TEXT, pseudonym=Pseudonym()),
            ColumnSpec("age", Role.QUASI_IDENTIFIER, numeric),
            ColumnSpec("zip", Role.QUASI_IDENTIFIER, Kind.TEXT),
            ColumnSpec("grade", Role.QUASI_IDENTIFIER, categorical, Domain(GRADES)),
            ColumnSpec("illness", Role.SENSITIVE, categorical, Domain(ILLNESSES)),
            ColumnSpec("ward", Role.SENSITIVE, categorical, Domain((*WARDS, None))),
            ColumnSpec("cost", Role.SENSITIVE, numeric),
            ColumnSpec("stay", Role.SENSITIVE, numeric),
            ColumnSpec("visits", Role.INSENSITIVE, numeric, coding=Coding(top=60.0, step=5.0)),
            ColumnSpec("smoker", Role.INSENSITIVE, categorical),
            ColumnSpec("visited", Role.INSENSITIVE, Kind.DATE),
            ColumnSpec("grade_of_pain", Role.SENSITIVE, categorical, Domain(GRADES)),
            ColumnSpec("severity", Role.INSENSITIVE, categorical),
            ColumnSpec("dose", Role.SENSITIVE, numeric),
            ColumnSpec("weight", Role.WEIGHT, numeric),
        ),
        record_key="person",
        hierarchies={
            "age": Intervals(width=10.0),
            "zip": Masking(hidden=(2, 1)),
            "grade": Orders(sizes=(2,), order=GRADES),
        },
    )
    statements = {
        "illness": {"retention_probability": 0.5},
        "ward": {"trust_factor": 0.8},
        "grade_of_pain": {"trust_factor": 0.7},
        "cost + stay": {"sigma_squared": 0.5},
        "dose": {"epsilon": 3.0},
    }
    policy = []
    for names, mechanism, chosen in (
        (("illness",), "uniform", {}),
        (("ward",), "finegrain", {}),
        (("grade_of_pain",), "matrix", {}),
        (("cost", "stay"), "gaussian", {"rounding": {"stay": 1.0}}),
        (("dose",), "laplace", {"lowest": 0, "highest": 60, "step": 0.1, "bounds": "stated"}),
    ):
        attributes = [encode_attribute(table, document.column(name)).attribute for name in names]
        found = mechanism_called(mechanism)
        stated = {**found.default_settings(attributes), **chosen}
        policy.append(
            PolicyEntry(names, mechanism, found.complete_settings(attributes, stated, NOISE))
        )
    recipients = (Recipient("Clinic A", statements, view=view),)
    return replace(document, policy=tuple(policy), recipients=recipients)


SEEN = {"age", "zip", "grade", "illness", "severity", "note"}


def with_few_columns(document):
    """Leave out what a check takes long to weigh: numbers, and all that is randomised but one."""
    columns = [
        each if each.name in SEEN else replace(each, role=Role.IDENTIFYING, pseudonym=None)
        for each in document.columns
    ]
    recipients = [
        replace(each, statements={"illness": each.statements["illness"]})
        for each in document.recipients
    ]
    policy = [each for each in document.policy if each.key == "illness"]
    return replace(
        document, columns=tuple(columns), policy=tuple(policy), recipients=tuple(recipients)
    )


def planned(document: Document, table: Table) -> tuple[EncodedTable, Plan]:
    material = material_of(document, table)
    recipient = document.recipients[0]
    entries = plan_release(material.document, material.attributes, recipient)
    coarsening = coarsening_of(material.document, recipient)
    return material, plan_for(material, entries, recipient.name, coarsening)


def as_batch(table: Table) -> pa.RecordBatch:
    """The rows with the types that files of Arrow have them in."""
    return pa.RecordBatch.from_pandas(table.frame, preserve_index=False)


def released_whole(document: Document, table: Table) -> pa.Table:
    """What the recipient is given, released at once, in the table's order."""
    material, plan = planned(document, table)
    frame = release_whole(plan, KEYS, rows_of(material, KEYS))
    return pa.Table.from_batches([batch_of(frame, plan.output_schema())])
