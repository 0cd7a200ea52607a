"""A small table with hierarchies, for the tests of generalized tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.generalization.hierarchies import propose_hierarchy
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document
from sfumato.project.publication.generalization_pipeline import proposed
from sfumato.ui.state.insights import SurveyedTable
from tests.in_batches import in_batches

WARDS = ("heart", "lungs", "skin", "bones")


def small_table() -> Table:
    places = np.arange(120)
    return Table(
        pd.DataFrame(
            {
                "age": 20 + places % 8,
                "sex": pd.Categorical(np.where(places // 8 % 2, "f", "m")),
                "ward": pd.Categorical(np.array(WARDS)[(places + places // 8) % 4]),
            }
        )
    )


def small_document(*, hierarchies: bool = True, **decided: object) -> Document:
    """The document about the small table; with any decision, it is generalized."""
    table = small_table()
    columns = (
        ColumnSpec("age", Role.QUASI_IDENTIFIER, Kind.NUMERIC),
        ColumnSpec("sex", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        ColumnSpec("ward", Role.SENSITIVE, Kind.CATEGORICAL, Domain(WARDS)),
    )
    document = Document(title="Small", columns=columns)
    if hierarchies:
        for name in ("age", "sex"):
            recipe = propose_hierarchy(document.column(name), table.column(name)).recipe
            document = document.with_hierarchy(name, recipe)
    if decided:
        start = proposed(document)
        assert start is not None
        document = replace(document, generalization=replace(start, **decided))
    return document


def open_small(session, **document: object) -> None:
    """Open the small table."""
    session.open_table(
        "Open", SurveyedTable.of(in_batches(small_table())), small_document(**document)
    )


def write_other(folder: Path, *, spelled: bool = False, weak: bool = False) -> Path:
    """Write a table that another holder published about the same people."""
    frame = small_table().frame
    ward = frame["ward"].astype(str)
    if spelled:
        ward = ward.str.upper().replace("SKIN", "dermatology")
    group = np.where(frame["ward"].isin(["heart", "lungs"]), "a", "b") if weak else "all"
    path = folder / "registry.csv"
    pd.DataFrame({"group": group, "sex": frame["sex"], "ward": ward}).to_csv(path, index=False)
    return path


def write_counts(folder: Path) -> Path:
    """Write how many people of each age are in each group of `write_other`'s weak table."""
    frame = small_table().frame
    group = np.where(frame["ward"].isin(["heart", "lungs"]), "a", "b")
    counts = pd.DataFrame({"age": frame["age"], "group": group}).value_counts()
    path = folder / "census.csv"
    counts.rename("people").reset_index().to_csv(path, index=False)
    return path
