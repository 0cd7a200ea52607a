"""Small projects to test with: a cheap passphrase, a clock that stands, a table of twelve rows."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
from _pytest.mark.structures import ParameterSet

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient, TableSource
from sfumato.project.project_file import ProjectFile
from sfumato.project.store.secret import ScryptCost

CHEAP = ScryptCost(2**4)
PASSPHRASE = "correct horse"
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ILLNESSES = ("asthma", "cold", "flu", "gout")


def crossed(cases: Sequence[str], formats: Sequence[str]) -> list[ParameterSet]:
    """Each case in each format; those that take a process of their own, slow but for one case."""
    return [
        pytest.param(
            case, form, marks=[pytest.mark.slow] * (form in ("sav", "dta") and case != cases[-1])
        )
        for case in cases
        for form in formats
    ]


def noon() -> datetime:
    return NOON


def table(rows: int = 12) -> Table:
    return Table(
        pd.DataFrame(
            {
                "person": [f"P{i:03d}" for i in range(rows)],
                "sex": pd.Categorical([("f", "m")[i % 2] for i in range(rows)]),
                "illness": pd.Categorical(
                    [ILLNESSES[i * i % 4] for i in range(rows)], categories=list(ILLNESSES)
                ),
            }
        )
    )


def document(record_key: str | None = None, **changes: object) -> Document:
    settled = Document(
        title="Ward 7",
        source=TableSource("/data/ward.csv", "ab" * 32, 12, {"delimiter": ","}),
        columns=(
            ColumnSpec("person", Role.IDENTIFYING, Kind.TEXT),
            ColumnSpec("sex", Role.QUASI_IDENTIFIER),
            ColumnSpec("illness", Role.SENSITIVE, domain=Domain(ILLNESSES)),
        ),
        record_key=record_key,
        policy=(PolicyEntry(("illness",), "uniform"),),
        recipients=(
            Recipient("Clinic A", {"illness": {"retention_probability": 0.6}}),
            Recipient("Institute B", {"illness": {"retention_probability": 0.3}}),
        ),
    )
    return replace(settled, **changes)


def new_project(folder: Path, settled: Document | None = None) -> ProjectFile:
    return ProjectFile.create(
        folder / "ward.sfumato", PASSPHRASE, settled or document(), cost=CHEAP, clock=noon
    )


def reopened(project: ProjectFile, **options: bool) -> ProjectFile:
    project.close()
    return ProjectFile.open(project.path, PASSPHRASE, clock=noon, **options)


@contextlib.contextmanager
def read_only_folder() -> Iterator[Path]:
    """A folder that nobody may write to; the superuser becomes an ordinary user meanwhile."""
    folder = Path(tempfile.mkdtemp(prefix="sfumato-test-"))
    superuser = os.geteuid() == 0
    try:
        folder.chmod(0o555)
        if superuser:
            os.seteuid(65534)
        yield folder
    finally:
        if superuser:
            os.seteuid(0)
        folder.chmod(0o755)
        shutil.rmtree(folder)
