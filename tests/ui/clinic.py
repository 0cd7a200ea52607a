"""A small table about patients, and a session that has it open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from pytestqt.qtbot import QtBot

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.table.table import Attribute, Table, encode_column
from sfumato.project.document.model import Document, PolicyEntry, Recipient, TableSource
from sfumato.project.project_file import ProjectFile
from sfumato.project.store.secret import ScryptCost
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.state.session import Session
from tests.in_batches import in_batches

CHEAP = ScryptCost(n=2**4, r=1, p=1)
DISEASES = ("asthma", "cancer", "flu", "none")
LEVELS = {"Clinic A": 0.6, "Institute": 0.3, "Public": 0.1}


def clinic_table(rows: int = 400) -> Table:
    places = np.arange(rows)
    disease = np.array(DISEASES)[(places * places // 3 + places) % 7 % 4]
    frame = pd.DataFrame(
        {
            "name": [f"patient {i}" for i in places],
            "age": 20 + places % 60,
            "disease": pd.Categorical(disease),
            "ward": pd.Categorical(np.where(places % 3 == 0, "north", "south")),
        }
    )
    return Table(frame)


def clinic_document(**changes: object) -> Document:
    columns = (
        ColumnSpec("name", Role.IDENTIFYING, Kind.TEXT),
        ColumnSpec("age", Role.QUASI_IDENTIFIER, Kind.NUMERIC),
        ColumnSpec("disease", Role.SENSITIVE, Kind.CATEGORICAL, Domain(DISEASES)),
        ColumnSpec("ward", Role.INSENSITIVE, Kind.CATEGORICAL),
    )
    return replace(Document(title="Clinic", columns=columns), **changes)


def protected(levels: Mapping[str, float] = LEVELS, **changes: object) -> Document:
    """The clinic's document with a policy and recipients at retention probabilities."""
    recipients = tuple(
        Recipient(name, {"disease": {"retention_probability": level}})
        for name, level in levels.items()
    )
    policy = (PolicyEntry(("disease",), "uniform"),)
    return clinic_document(policy=policy, recipients=recipients, **changes)


def disease(table: Table | None = None) -> Attribute:
    """Return the sensitive attribute, of which a mechanism's settings are made before it is open.

    A table that is opened without its policy would be weighed for a mechanism first.
    """
    table = clinic_table() if table is None else table
    return encode_column(table, clinic_document().column("disease")).attribute


def open_clinic(session: Session, document: Document, table: Table | None = None) -> None:
    """Open the clinic's table with a document about it, as the Data panel does."""
    session.open_table(
        "Open clinic",
        SurveyedTable.of(in_batches(table if table is not None else clinic_table())),
        document,
    )


def save_clinic(session: Session, folder: Path) -> ProjectFile:
    """Save the session in a project whose source is on the disk."""
    table = session.table
    assert table is not None
    path = folder / "clinic.csv"
    table.frame.to_csv(path, index=False)
    source = TableSource(str(path), "0" * 64, table.rows)
    session.edit("Note the source", replace(session.document, source=source))
    project = ProjectFile.create(
        folder / "clinic.sfumato", "correct horse", session.document, cost=CHEAP
    )
    session.set_project(project, keep_state=True)
    return project


def wait_for_jobs(qtbot: QtBot, session: Session) -> None:
    """Wait until nothing runs any more."""
    qtbot.waitUntil(lambda: not session.runner.jobs)
