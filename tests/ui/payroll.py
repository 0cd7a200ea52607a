"""A table with numbers that depend on each other, and a session that has it open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.table.table import Table, encode_column
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.state.session import Session
from tests.engine.numbers import stated_settings
from tests.in_batches import in_batches

KEY = "age + income"
LEVELS = {"Clinic A": 0.25, "Institute": 1.0, "Public": 4.0}


def payroll_table(rows: int = 600) -> Table:
    at = np.arange(rows)
    age = 20 + at * 7 % 61
    income = 900.0 * age + (at * 7919 % 30011)
    return Table(
        pd.DataFrame(
            {
                "name": [f"person {i}" for i in at],
                "age": age,
                "income": income,
                "hours": 30.0 + at * 13 % 17,
                "sex": pd.Categorical(np.where(at % 2 == 0, "f", "m")),
            }
        )
    )


def payroll_document() -> Document:
    return Document(
        title="Payroll",
        columns=(
            ColumnSpec("name", Role.IDENTIFYING, Kind.TEXT),
            ColumnSpec("age", Role.SENSITIVE, Kind.NUMERIC),
            ColumnSpec("income", Role.SENSITIVE, Kind.NUMERIC),
            ColumnSpec("hours", Role.INSENSITIVE, Kind.NUMERIC),
            ColumnSpec("sex", Role.INSENSITIVE, Kind.CATEGORICAL, Domain(("f", "m"))),
        ),
    )


def protected(
    groups: Sequence[tuple[str, ...]] = (("age", "income"),), **settings: object
) -> Document:
    """The payroll's document with Gaussian noise for groups of attributes, at three levels."""
    document, table = payroll_document(), payroll_table()
    entries = []
    for group in groups:
        attributes = [encode_column(table, document.column(name)).attribute for name in group]
        chosen = stated_settings(attributes, **settings)
        entries.append(PolicyEntry(group, "gaussian", chosen))
    recipients = tuple(
        Recipient(name, {entry.key: {"sigma_squared": level} for entry in entries})
        for name, level in LEVELS.items()
    )
    return replace(document, policy=tuple(entries), recipients=recipients)


def open_payroll(session: Session, document: Document, table: Table | None = None) -> None:
    session.open_table(
        "Open payroll",
        SurveyedTable.of(in_batches(table if table is not None else payroll_table())),
        document,
    )
