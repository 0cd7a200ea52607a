"""A small table, rules for it, and a command line that runs in this process."""

from __future__ import annotations

import io
import json
import shutil
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


@pytest.fixture(autouse=True, scope="package")
def cheap_passphrases():
    made = store.ProjectFile
    with pytest.MonkeyPatch.context() as patch:
        for function in (made.create.__func__, made.change_passphrase, recovery_sheet.recover):
            patch.setitem(function.__kwdefaults__, "cost", CHEAP)
        yield


def begun(folder: Path) -> CommandLine:
    """Return a command line in a folder with the table and its rules."""
    folder.mkdir(exist_ok=True)
    table().frame.to_csv(folder / "ward.csv", index=False, lineterminator="\n")
    (folder / "rules.toml").write_text(RULES)
    return CommandLine(folder, {PASSPHRASE_VARIABLE: PASSPHRASE})


def copied(template: Path, folder: Path) -> CommandLine:
    """Return a command line in a folder that holds what another one does."""
    shutil.copytree(template, folder, dirs_exist_ok=True)
    return CommandLine(folder, {PASSPHRASE_VARIABLE: PASSPHRASE})


def moved(folder: Path) -> Path:
    """Move a folder, so that a project in a copy of it finds no table but the one beside it."""
    return folder.rename(folder.with_name("template"))


@pytest.fixture(scope="package")
def folder_made(cheap_passphrases, tmp_path_factory):
    """A folder with the table, its rules and a project, which tests copy."""
    line = begun(tmp_path_factory.mktemp("made") / "while")
    assert line.init() == 0, line.remarks
    return moved(line.folder)


@pytest.fixture(scope="package")
def folder_released(folder_made, tmp_path_factory):
    """The same with a bundle for Clinic A."""
    line = copied(folder_made, tmp_path_factory.mktemp("released") / "while")
    assert line.release() == 0, line.remarks
    return moved(line.folder)


@pytest.fixture
def line(tmp_path):
    return begun(tmp_path)


@pytest.fixture
def made(folder_made, tmp_path):
    """The command line with a project."""
    return copied(folder_made, tmp_path)


@pytest.fixture
def released(folder_released, tmp_path):
    """The command line with a project and a bundle for Clinic A."""
    return copied(folder_released, tmp_path)
