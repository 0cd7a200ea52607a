"""A project whose sensitive attributes stay numbers and are protected together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table, encode_column
from sfumato.project.document.model import Document, PolicyEntry, Recipient, TableSource
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.release import make_release
from sfumato.project.verification.verify import VerificationReport, verify_bundle
from tests.engine.numbers import stated_settings
from tests.in_batches import in_batches
from tests.project.making import CHEAP, PASSPHRASE, noon

ROWS = 600
TOGETHER = ("age", "income")
KEY = "age + income"
LEVELS = {"Clinic A": 0.25, "Institute B": 1.0, "Public C": 4.0}


def a_table(rows: int = ROWS, missing: bool = True) -> Table:
    at = np.arange(rows)
    age = 20 + at * 7 % 61
    income = 800.0 * age + (at * 7919 % 20011)
    frame = pd.DataFrame(
        {
            "person": [f"P{i:04d}" for i in at],
            "sex": pd.Categorical([("f", "m")[i % 2] for i in at]),
            "age": age,
            "income": income,
            "hours": 35.0 + at * 13 % 11,
        }
    )
    if missing:
        frame.loc[frame.index[5::50], "income"] = np.nan
    return Table(frame)


def columns() -> tuple[ColumnSpec, ...]:
    return (
        ColumnSpec("person", Role.IDENTIFYING, Kind.TEXT),
        ColumnSpec("sex", Role.SENSITIVE, domain=Domain(("f", "m"))),
        ColumnSpec("age", Role.SENSITIVE, Kind.NUMERIC),
        ColumnSpec("income", Role.SENSITIVE, Kind.NUMERIC),
        ColumnSpec("hours", Role.INSENSITIVE, Kind.NUMERIC),
    )


def a_document(table: Table, settings: Mapping[str, object] | None = None) -> Document:
    attributes = [
        encode_column(table, spec).attribute for spec in columns() if spec.name in TOGETHER
    ]
    chosen = stated_settings(attributes, **dict(settings or {}))
    return Document(
        title="Wages",
        source=TableSource("/data/wages.csv", "cd" * 32, table.rows),
        columns=columns(),
        policy=(PolicyEntry(TOGETHER, "gaussian", chosen), PolicyEntry(("sex",), "uniform")),
        recipients=tuple(
            Recipient(name, {KEY: {"sigma_squared": v}, "sex": {"retention_probability": 0.5}})
            for name, v in LEVELS.items()
        ),
    )


def new_project(folder: Path, document: Document, name: str = "wages") -> ProjectFile:
    path = folder / f"{name}.sfumato"
    return ProjectFile.create(path, PASSPHRASE, document, cost=CHEAP, clock=noon)


def release(
    project: ProjectFile, table: Table, folder: Path, recipient: str, format_name: str = "csv"
) -> Path:
    return make_release(project, in_batches(table), recipient, folder, format_name, Silent()).path


def verify(project: ProjectFile, table: Table, path: Path) -> VerificationReport:
    report = verify_bundle(project, in_batches(table), path, Silent())
    for check in report.checks:
        assert check.finding
        assert "P0007" not in check.finding
    return report


def failed(report: VerificationReport) -> dict[str, str]:
    return {check.title: check.finding for check in report.failed}
