"""Columns, domains, bins, record keys and policies that can't be used as asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Binning, Domain, MissingRule, Role
from sfumato.engine.core.errors import DomainError, PolicyError, TableError
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.release.release import make_release
from tests.bad_inputs.workshop import DIAGNOSES, Act, BadInput, Workshop
from tests.in_batches import in_batches


def value(make: Callable[[], object]) -> Callable[[Workshop], Act]:
    """A stage on which nothing but a value is made."""
    return lambda _: make


def released(
    change: Callable[[Document], Document] = lambda d: d,
    rows: Callable[[pd.DataFrame], pd.DataFrame] = lambda f: f,
) -> Callable[[Workshop], Act]:
    """A stage on which a release is made from a changed document or changed rows."""

    def prepare(workshop: Workshop) -> Act:
        table = Table(rows(workshop.frame()))
        changed = change(workshop.document())
        workshop.change_document(**{n: getattr(changed, n) for n in ("columns", "policy")})
        workshop.change_document(recipients=changed.recipients)

        def act() -> object:
            with workshop.open() as project:
                return make_release(
                    project, in_batches(table), "Public", workshop.out, "csv", Silent()
                )

        return act

    return prepare


def column(name: str, **changes: Any) -> Callable[[Document], Document]:
    """A change of one column's specification."""
    return lambda document: document.with_column(replace(document.column(name), **changes))


def policy(*entries: PolicyEntry) -> Callable[[Document], Document]:
    return lambda document: replace(document, policy=entries)


def cell(name: str, row: int, new: object) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Rows in which one cell is another."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        changed = frame[name].astype("object")
        changed.iloc[row] = new
        return frame.assign(**{name: changed})

    return change


def _without_levels(document: Document) -> Document:
    return replace(document, recipients=(Recipient("Office"), Recipient("Public")))


def _binned_age(document: Document) -> Document:
    age = replace(document.column("age"), binning=Binning((20.0, 40.0, 50.0)))
    return document.with_column(age)


def _sensitive_number(document: Document) -> Document:
    document = column("cost", role=Role.SENSITIVE)(document)
    return replace(document, policy=(*document.policy, PolicyEntry(("cost",), "uniform")))


CASES = (
    BadInput(
        "a table without columns", TableError, "no columns", value(lambda: Table(pd.DataFrame()))
    ),
    BadInput(
        "a table without rows",
        TableError,
        "no rows",
        value(lambda: Table(pd.DataFrame({"age": []}))),
    ),
    BadInput(
        "two columns of one name",
        TableError,
        "Two columns are called age",
        value(lambda: Table(pd.DataFrame([[1, 2]], columns=["age", "age"]))),
    ),
    BadInput("an empty domain", DomainError, "domain is empty", value(lambda: Domain(()))),
    BadInput(
        "a value twice in a domain",
        DomainError,
        "Entries 1 and 3 .* same value",
        value(lambda: Domain(("Asthma", "Measles", "Asthma"))),
    ),
    BadInput(
        "numbers and texts in one domain",
        DomainError,
        "mixes values of two types: entry 1 is a number, entry 2 a text",
        value(lambda: Domain((1, "Measles"))),
    ),
    BadInput(
        "a domain with a number that is none",
        DomainError,
        "Entry 2 of the domain is not a finite number",
        value(lambda: Domain((1.0, float("nan")))),
    ),
    BadInput(
        "a value outside the domain",
        DomainError,
        "diagnosis has values outside its domain in 1 row, first in row 8",
        released(rows=cell("diagnosis", 7, "Quicksilver")),
    ),
    BadInput(
        "a missing value that the domain does not have",
        DomainError,
        "diagnosis is missing in 1 row, first in row 3",
        released(rows=cell("diagnosis", 2, None)),
    ),
    BadInput(
        "a missing value that is refused",
        DomainError,
        "diagnosis is missing in 1 row, first in row 40",
        released(
            column("diagnosis", domain=Domain((*DIAGNOSES, None)), missing=MissingRule.REFUSED),
            cell("diagnosis", 39, None),
        ),
    ),
    BadInput(
        "bins with two edges", DomainError, "at least two bins", value(lambda: Binning((1, 2)))
    ),
    BadInput(
        "bins whose edges fall",
        DomainError,
        "edges of the binning don't increase",
        value(lambda: Binning((1, 3, 2))),
    ),
    BadInput(
        "bins without an end",
        DomainError,
        "edge of the binning is not a number",
        value(lambda: Binning((1, 2, float("inf")))),
    ),
    BadInput(
        "more labels than bins",
        DomainError,
        "2 bins but 3 labels",
        value(lambda: Binning((1, 2, 3), ("a", "b", "c"))),
    ),
    BadInput(
        "two bins of one label",
        DomainError,
        "Two bins have the same label",
        value(lambda: Binning((1, 2, 3), ("a", "a"))),
    ),
    BadInput(
        "numbers outside all bins",
        DomainError,
        "age has numbers outside the bins in .* rows, first in row 32",
        released(_binned_age),
    ),
    BadInput(
        "bins for a column of texts",
        DomainError,
        "diagnosis is not numeric",
        released(column("diagnosis", domain=None, binning=Binning((1, 2, 3)))),
    ),
    BadInput(
        "a record key that stands in two rows",
        TableError,
        "record key number is not unique: rows 5 and 6",
        released(rows=cell("number", 5, "A004")),
    ),
    BadInput(
        "a record key that is missing",
        TableError,
        "record key number is missing in 1 row, first in row 10",
        released(rows=cell("number", 9, np.nan)),
    ),
    BadInput(
        "a table that lacks a column",
        TableError,
        "no column cost",
        released(rows=lambda frame: frame.drop(columns="cost")),
    ),
    BadInput(
        "a table with a column nobody gave a role",
        TableError,
        "column ward that has no role",
        released(rows=lambda frame: frame.assign(ward="A")),
    ),
    BadInput(
        "a sensitive attribute that no mechanism covers",
        PolicyError,
        "sensitive attribute diagnosis has no mechanism",
        released(policy()),
    ),
    BadInput(
        "a mechanism for a column that is not sensitive",
        PolicyError,
        "mechanism for age, which is not a sensitive attribute",
        released(policy(PolicyEntry(("diagnosis",), "uniform"), PolicyEntry(("age",), "uniform"))),
    ),
    BadInput(
        "two mechanisms for one attribute",
        PolicyError,
        "two mechanisms for diagnosis",
        released(policy(*[PolicyEntry(("diagnosis",), "uniform")] * 2)),
    ),
    BadInput(
        "a mechanism that this version does not have",
        PolicyError,
        "no mechanism called telepathy",
        released(policy(PolicyEntry(("diagnosis",), "telepathy"))),
    ),
    BadInput(
        "a mechanism for numbers it can't treat",
        PolicyError,
        "cost",
        released(_sensitive_number),
    ),
    BadInput(
        "a recipient without a level",
        PolicyError,
        "Public has no trust level for diagnosis",
        released(_without_levels),
    ),
    BadInput(
        "a domain of one value",
        PolicyError,
        "diagnosis|two values",
        released(
            column("diagnosis", domain=Domain(("Asthma",))),
            lambda frame: frame.assign(diagnosis="Asthma"),
        ),
    ),
)
