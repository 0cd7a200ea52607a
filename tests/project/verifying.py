"""A project with two sensitive attributes, and what it takes to verify its bundles."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Binning, ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient, TableSource
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.release import make_release
from sfumato.project.verification.verify import VerificationReport, verify_bundle
from tests.in_batches import in_batches
from tests.project.making import CHEAP, PASSPHRASE, noon

ROWS = 900
ILLNESSES = ("asthma", "cold", "flu", "gout")
WORK = ("mine", "mill", "none")
SECRETS = (*ILLNESSES, *WORK, "P0007")
"""Values of the table: none of them may be in a finding."""


def a_table(rows: int = ROWS) -> Table:
    return Table(_frame(rows).copy())


@cache
def _frame(rows: int) -> pd.DataFrame:
    at = np.arange(rows)
    return pd.DataFrame(
        {
            "person": [f"P{i:04d}" for i in at],
            "age": 20 + at % 61,
            "illness": pd.Categorical([ILLNESSES[(i % 13) % 4] for i in at]),
            "zip": [f"{i % 97:05d}" for i in at],
            "work": pd.Categorical([WORK[(i % 5) % 3] if i % 7 else None for i in at]),
            "income": 1000.0 + (at * 37 % 501) / 3,
        }
    )


def levels(illness: float, work: float = 0.5) -> dict[str, dict[str, float]]:
    return {
        "illness": {"retention_probability": illness},
        "work": {"retention_probability": work},
    }


def a_document(**changes: object) -> Document:
    document = Document(
        title="Ward 7",
        source=TableSource("/data/ward.csv", "ab" * 32, ROWS),
        columns=(
            ColumnSpec("person", Role.IDENTIFYING, Kind.TEXT),
            ColumnSpec(
                "age",
                Role.QUASI_IDENTIFIER,
                Kind.NUMERIC,
                binning=Binning((20.0, 40.0, 60.0, 81.0)),
            ),
            ColumnSpec("illness", Role.SENSITIVE, domain=Domain(ILLNESSES)),
            ColumnSpec("zip", Role.QUASI_IDENTIFIER, Kind.TEXT),
            ColumnSpec("work", Role.SENSITIVE, domain=Domain((*WORK, None))),
            ColumnSpec("income", Role.INSENSITIVE, Kind.NUMERIC),
        ),
        policy=(PolicyEntry(("illness",), "uniform"), PolicyEntry(("work",), "uniform")),
        recipients=(
            Recipient("Clinic A", levels(0.6)),
            Recipient("Institute B", levels(0.3)),
            Recipient("Public C", levels(0.1)),
            Recipient("Clinic D", levels(0.6)),
        ),
    )
    return replace(document, **changes)


def new_project(folder: Path, document: Document | None = None, name: str = "ward") -> ProjectFile:
    path = folder / f"{name}.sfumato"
    return ProjectFile.create(path, PASSPHRASE, document or a_document(), cost=CHEAP, clock=noon)


def release(
    project: ProjectFile,
    folder: Path,
    recipient: str = "Clinic A",
    format_name: str = "csv",
    table: Table | None = None,
    as_zip: bool = False,
) -> Path:
    outcome = make_release(
        project,
        in_batches(table or a_table()),
        recipient,
        folder,
        format_name,
        Silent(),
        as_zip=as_zip,
    )
    return outcome.path


def verify(project: ProjectFile, path: Path, table: Table | None = None) -> VerificationReport:
    report = verify_bundle(project, in_batches(table or a_table()), path, Silent())
    for check in report.checks:
        assert check.finding
        assert not any(secret in check.finding for secret in SECRETS), check
    return report


def failed(report: VerificationReport) -> dict[str, str]:
    return {check.title: check.finding for check in report.failed}


def edit(bundle: Path, change, vouch: bool = False) -> None:
    """Change data.csv, line by line; with `vouch`, let datapackage.json agree with it."""
    path = bundle / "data.csv"
    header, *rows = path.read_bytes().decode().removesuffix("\r\n").split("\r\n")
    path.write_bytes("".join(line + "\r\n" for line in [header, *change(rows)]).encode())
    if vouch:
        description = bundle / "datapackage.json"
        package = json.loads(description.read_bytes())
        facts = package["resources"][0]
        facts["bytes"] = path.stat().st_size
        facts["hash"] = f"sha256:{sha256(path.read_bytes()).hexdigest()}"
        description.write_text(json.dumps(package))


def swap(rows: list[str], number: int, old: str, new: str) -> list[str]:
    """Replace a value in one row (counted from 1)."""
    assert old in rows[number - 1]
    return [
        row.replace(old, new, 1) if at == number else row for at, row in enumerate(rows, start=1)
    ]


def other_illness(row: str) -> tuple[str, str]:
    """The illness in a row, and another one."""
    old = next(name for name in ILLNESSES if f'"{name}"' in row)
    return f'"{old}"', f'"{ILLNESSES[ILLNESSES.index(old) - 1]}"'
