"""A small table, rules for it, and a command line that runs in this process."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sfumato.cli import main
from sfumato.commands.shared.command import PASSPHRASE_VARIABLE, Terminal
from sfumato.project import project_file as store
from sfumato.project import recovery_sheet
from tests.project.making import CHEAP, PASSPHRASE, table

REASON = "It is a test, and nobody is in the table."

RULES = """\
format = 1
title = "Ward 7"
record_key = "person"

[columns.person]
role = "identifying"

[columns.sex]
role = "quasi-identifier"

[columns.illness]
role = "sensitive"
kind = "categorical"
values = ["asthma", "cold", "flu", "gout"]

[[policy]]
attributes = ["illness"]
mechanism = "uniform"

[[recipients]]
name = "Clinic A"
[recipients.levels]
illness = { retention_probability = 0.6 }

[[recipients]]
name = "Institute B"
note = "for a study"
[recipients.levels]
illness = { epsilon = 1.0 }
"""


class Screen(io.StringIO):
    """A stream that may say it is a terminal."""

    def __init__(self, watched=False):
        super().__init__()
        self.watched = watched

    def isatty(self):
        return self.watched


@dataclass
class CommandLine:
    """Runs commands in one folder and keeps what they said last."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    watched: bool = False
    output: str = ""
    remarks: str = ""

    def run(self, *arguments) -> int:
        output, remarks = Screen(), Screen(self.watched)
        terminal = Terminal(output, remarks, Screen(self.watched), self.environment)
        code = main([str(argument) for argument in arguments], terminal)
        self.output, self.remarks = output.getvalue(), remarks.getvalue()
        return code

    @property
    def project(self) -> Path:
        return self.folder / "ward.sfumato"

    def init(self, *more) -> int:
        table_file, rules = self.folder / "ward.csv", self.folder / "rules.toml"
        return self.run("init", self.project, "--table", table_file, "--rules", rules, *more)

    def release(self, recipient="Clinic A", *more) -> int:
        out = self.folder / "out"
        accepted = ("--accept", REASON)
        return self.run(
            "release", self.project, "--recipient", recipient, "--out", out, *accepted, *more
        )

    def bundles(self) -> list[Path]:
        return sorted((self.folder / "out").iterdir()) if (self.folder / "out").exists() else []

    def verified(self, names: Iterable[str]) -> list[Path]:
        """Release to each of these, and return the bundles, all of which are verified."""
        for name in names:
            assert self.release(name) == 0, self.remarks
        for bundle in self.bundles():
            assert self.run("verify", bundle, "--project", self.project) == 0, self.output
        return self.bundles()


def people(column: str, term: str, levels: Mapping[str, float]) -> str:
    """Return the rules' recipients, who have levels of one column."""
    return "\n".join(
        f'[[recipients]]\nname = "{name}"\nlevels."{column}" = {{ {term} = {level} }}'
        for name, level in levels.items()
    )


def told_of(bundle: Path, column: str) -> dict[str, Any]:
    """Return what a bundle's package tells of a perturbed column: its parameters."""
    package = json.loads((bundle / "datapackage.json").read_text(encoding="utf-8"))
    (schema,) = (one["schema"] for one in package["resources"] if "schema" in one)
    (told,) = (one["sfumato"] for one in schema["fields"] if one["name"] == column)
    return told["parameters"]


def by_record(bundle: Path) -> pd.DataFrame:
    """Return a bundle's data, in the order of its records' numbers."""
    return pd.read_csv(bundle / "data.csv").set_index("record").sort_index()


@pytest.fixture(autouse=True)
def cheap_passphrases(monkeypatch):
    made = store.ProjectFile
    for function in (made.create.__func__, made.change_passphrase, recovery_sheet.recover):
        monkeypatch.setitem(function.__kwdefaults__, "cost", CHEAP)


@pytest.fixture
def line(tmp_path):
    table().frame.to_csv(tmp_path / "ward.csv", index=False, lineterminator="\n")
    (tmp_path / "rules.toml").write_text(RULES)
    return CommandLine(tmp_path, {PASSPHRASE_VARIABLE: PASSPHRASE})


@pytest.fixture
def made(line):
    """The command line with a project."""
    assert line.init() == 0, line.remarks
    return line


@pytest.fixture
def released(made):
    """The command line with a project and a bundle for Clinic A."""
    assert made.release() == 0, made.remarks
    return made
