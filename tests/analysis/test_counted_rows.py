"""What recipients see is counted from rows counted once, and comes to what the columns show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.coarsening.view_checks import seen_by, shown_to
from sfumato.analysis.coarsening.views import with_cells, with_levels, with_statement
from sfumato.analysis.shown_columns import SMALL, LeavingColumns
from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.generalization.hierarchies import Intervals, Masking
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.repeated_units import units_of
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, Recipient, Unit
from sfumato.project.release.views import coarsening_of, quasi_identifiers
from tests.project.whole_table import coarsened

PEOPLE = ("Partner", "Contract", "Public")
HIERARCHIES = {"age": Intervals(width=10), "zip": Masking((1, 2)), "sex": Masking((1,))}


def a_table(draw: np.random.Generator, rows: int) -> Table:
    zips = pd.Series(draw.integers(100, 130, rows)).astype(str)
    frame = {
        "age": draw.integers(20, 50, rows),
        "zip": zips.where(pd.Series(draw.random(rows) > 0.1)),
        "sex": draw.choice(["f", "m", "*"], rows, p=[0.5, 0.45, 0.05]),
        "visits": draw.integers(0, 4, rows),
        "cost": np.round(draw.normal(0, 1.5, rows), 1) + 0.0,  # -0 is 0
        "household": draw.integers(0, rows // 2, rows),
    }
    return Table(pd.DataFrame(frame))


def a_document(unit: bool) -> Document:
    kinds = {"age": Kind.NUMERIC, "visits": Kind.NUMERIC, "cost": Kind.NUMERIC}
    specs = [
        ColumnSpec(name, Role.QUASI_IDENTIFIER, kinds.get(name, Kind.CATEGORICAL))
        for name in HIERARCHIES
    ]
    specs += [ColumnSpec(name, Role.INSENSITIVE, kinds[name]) for name in ("visits", "cost")]
    specs.append(ColumnSpec("household", Role.IDENTIFYING, Kind.CATEGORICAL))
    document = Document(
        title="people",
        columns=tuple(specs),
        recipients=tuple(Recipient(name) for name in PEOPLE),
        hierarchies=dict(HIERARCHIES),
        unit=Unit(("household",), 120) if unit else None,
    )
    for name, k in zip(PEOPLE, (1, 2, 4), strict=True):
        document = with_statement(document, name, k, 0.5)
    return document


def counted(document: Document, recipient: Recipient, table: Table) -> dict[str, Any]:
    """Return the same from the columns that a release would show."""
    coarsening = coarsening_of(document, recipient)
    assert coarsening is not None
    seen = coarsened(coarsening, document.columns, table)
    shown = {name: seen.columns[name].astype("str").fillna("<none>") for name in seen.columns}
    for name in ("visits", "cost"):
        if document.column(name).role is Role.INSENSITIVE:
            shown[name] = table.column(name).astype("str")
    frame = pd.DataFrame(shown)
    classes = frame.groupby(list(frame)).ngroup()
    whose = pd.Series(np.arange(table.rows))
    if document.unit is not None:
        whose = pd.Series(units_of(table, document.unit.columns))
    sizes = whose.groupby(classes).transform("nunique")
    alone = sizes == 1
    return {
        "unique": whose[alone].nunique(),
        "smallest": sizes.min(),
        "small": int((sizes < SMALL).sum()),
        "rows": int(alone.sum()),
        "columns": shown,
        "changed": seen.changed,
        "cells": seen.view.suppressed_cells,
        "suppressed": seen.view.suppressed_rows,
        "starred": seen.view.starred,
        "loss": seen.view.loss,
    }


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(6))
def test_counts_are_those_of_the_columns_shown(seed: int) -> None:
    """Levels move up and down, columns leave the quasi-identifiers, and nothing is left over."""
    draw = np.random.default_rng(seed)
    table, document = a_table(draw, 80), a_document(unit=seed % 3 == 2)
    document = with_cells(document, seed % 2 == 1)
    known = LeavingColumns(table, KeyRing(bytes(32)))
    for step in range(4):
        whose = PEOPLE[int(draw.integers(3))]
        levels = {name: int(draw.integers(3)) for name in HIERARCHIES}
        quasi = set(quasi_identifiers(document))
        levels = {name: at // 2 if name == "sex" else at for name, at in levels.items()}
        levels = {name: at for name, at in levels.items() if name in quasi}
        document, _ = with_levels(document, whose, levels)
        role = (Role.INSENSITIVE, Role.IDENTIFYING)[step % 2]
        document = document.with_column(replace(document.column("cost"), role=role))
        sex = Role.IDENTIFYING if step == 3 else Role.QUASI_IDENTIFIER
        document = document.with_column(replace(document.column("sex"), role=sex))
        columns = known.of(document)
        for recipient in document.recipients:
            seen = seen_by(document, recipient, columns)
            assert seen is not None
            found = columns.classes(shown_to(document, recipient, columns))
            wanted = counted(document, recipient, columns.table)
            figures = (found.unique, found.smallest, found.small, found.rows)
            assert figures == tuple(wanted[key] for key in ("unique", "smallest", "small", "rows"))
            assert seen.changed == wanted["changed"]
            assert seen.view.suppressed_cells == wanted["cells"]
            assert seen.view.suppressed_rows == wanted["suppressed"]
            assert seen.view.starred == wanted["starred"]
            assert seen.view.loss == pytest.approx(wanted["loss"], abs=1e-12)
            shown = {name: one.astype("str").fillna("<none>") for name, one in seen.columns.items()}
            for name, one in shown.items():
                pd.testing.assert_series_equal(one, wanted["columns"][name], check_names=False)
