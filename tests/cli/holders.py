"""Holders of tables about the same people, each with a project of their own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from sfumato.project.project_file import ProjectFile
from tests.cli.conftest import CommandLine
from tests.engine.generalization.paper import SALARIES, private_table
from tests.project.making import PASSPHRASE

HALVES = {"Age": (40, "≥40", "<40"), "ZIP Code": (20_000, "≥20k", "<20k")}


@dataclass
class Holder:
    """A project of one holder, and the command line that works on it."""

    line: CommandLine
    name: str

    @property
    def project(self) -> Path:
        return self.line.folder / f"{self.name}.sfumato"

    @property
    def rules(self) -> Path:
        return self.line.folder / f"{self.name}.toml"

    @property
    def out(self) -> Path:
        return self.line.folder / f"{self.name} out"

    def init(self, frame: pd.DataFrame, rules: str) -> None:
        table = self.line.folder / f"{self.name}.csv"
        frame.to_csv(table, index=False, lineterminator="\n")
        self.start(table, rules)

    def start(self, table: Path, rules: str) -> None:
        self.rules.write_text(rules, encoding="utf-8")
        code = self.line.run("init", self.project, "--table", table, "--rules", self.rules)
        assert code == 0, self.line.remarks

    def run(self, command: str, *more) -> int:
        return self.line.run(command, self.project, *more)

    def publish(self, *more) -> int:
        return self.run("publish", "--out", self.out, *more)

    def published(self) -> pd.DataFrame:
        """The rows of the only bundle."""
        return pd.read_csv(self.data(), dtype=str)

    def data(self) -> Path:
        [bundle] = self.out.iterdir()
        return bundle / "data.csv"

    def document(self):
        with ProjectFile.open(self.project, PASSPHRASE, read_only=True) as project:
            return project.document

    def change(self, old: str, new: str) -> int:
        """Apply the rules with a part of them replaced."""
        text = self.rules.read_text(encoding="utf-8")
        assert text.count(old) == 1
        self.rules.write_text(text.replace(old, new), encoding="utf-8")
        return self.run("rules", "--apply", self.rules)


def rules_for(columns, criteria, sensitive="Salary Class", more="") -> str:
    """Rules that generalize columns by tables in files beside them; all else is dropped."""
    lines = ["format = 1", 'other_columns = "identifying"']
    for name in columns:
        lines += [f'[columns."{name}"]', 'role = "quasi-identifier"']
    lines += [f'[columns."{sensitive}"]', 'role = "sensitive"', 'kind = "categorical"']
    for name in columns:
        lines += [f'[hierarchies."{name}"]', f'file = "{name}.hierarchy.csv"']
    names = ", ".join(f'"{name}"' for name in columns)
    lines += [
        "[generalization]",
        f'sensitive = "{sensitive}"',
        f"quasi_identifiers = [{names}]",
        f"criteria = [{criteria}]",
    ]
    return "\n".join(lines) + "\n" + more


def paper_holder(line: CommandLine, name: str, columns, least: int = 2, more: str = "") -> Holder:
    """A holder of some columns of table 3, with the two classes of table 2 in hierarchies."""
    frame = private_table()
    for column in columns:
        limit, high, low = HALVES[column]
        rows = [f"{v};{high if v >= limit else low};*" for v in sorted(set(frame[column]))]
        path = line.folder / f"{column}.hierarchy.csv"
        path.write_text("\n".join(rows), encoding="utf-8")
    holder = Holder(line, name)
    rules = rules_for(columns, f'{{ kind = "distinct-diversity", l = {least} }}', more=more)
    values = ", ".join(f'"{salary}"' for salary in SALARIES)
    rules = rules.replace('"categorical"', f'"categorical"\nvalues = [{values}]')
    holder.init(frame[["Name", *columns, "Salary Class"]], rules)
    return holder
