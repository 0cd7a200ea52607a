"""A custodian's folder to do wrong things in, and what must survive there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient, TableSource
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.release import make_release
from sfumato.project.store.secret import ScryptCost
from tests.in_batches import in_batches

PASSPHRASE = "a long walk by the lake"
CHEAP = ScryptCost(2**4)
DIAGNOSES = ("Asthma", "Fracture", "Influenza", "Leukaemia", "Measles")
"""Cell values that no message may show."""

CSV = "number,age,diagnosis,cost\n" + "".join(
    f"A{row:03d},{20 + row % 60},{DIAGNOSES[row % 5]},{100 + row}.50\n" for row in range(40)
)
SECRET_WORDS = (*DIAGNOSES, "Quicksilver", "A007")


@dataclass
class Workshop:
    """A folder with a table, and a project about it from which one release was made.

    `keep` remembers how everything stands; `lost` tells what has changed since.
    """

    folder: Path
    _files: dict[str, str] = field(default_factory=dict)
    _contents: Any = None

    @property
    def table_path(self) -> Path:
        return self.folder / "table.csv"

    @property
    def project_path(self) -> Path:
        return self.folder / "project.sfumato"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def write(self, name: str, content: bytes | str) -> Path:
        """Write a file into the folder."""
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def frame(self) -> pd.DataFrame:
        """The table's rows."""
        return pd.read_csv(self.table_path, dtype={"number": "str", "diagnosis": "category"})

    def table(self) -> Table:
        """The table."""
        return Table(self.frame())

    def document(self) -> Document:
        """What is decided about the table."""
        digest = hashlib.sha256(self.table_path.read_bytes()).hexdigest()
        return Document(
            title="Small clinic",
            source=TableSource(str(self.table_path), digest, 40),
            columns=(
                ColumnSpec("number", Role.IDENTIFYING, Kind.TEXT),
                ColumnSpec("age", Role.QUASI_IDENTIFIER, Kind.NUMERIC),
                ColumnSpec("diagnosis", Role.SENSITIVE, Kind.CATEGORICAL, Domain(DIAGNOSES)),
                ColumnSpec("cost", Role.INSENSITIVE, Kind.NUMERIC),
            ),
            record_key="number",
            policy=(PolicyEntry(("diagnosis",), "uniform"),),
            recipients=(
                Recipient("Office", {"diagnosis": {"retention_probability": 0.6}}),
                Recipient("Public", {"diagnosis": {"retention_probability": 0.1}}),
            ),
        )

    def open(self, **options: Any) -> ProjectFile:
        """Open the project."""
        return ProjectFile.open(self.project_path, PASSPHRASE, **options)

    def build(self) -> None:
        """Write the table, create the project, make one release."""
        self.write("table.csv", CSV)
        self.out.mkdir()
        document = self.document()
        with ProjectFile.create(self.project_path, PASSPHRASE, document, cost=CHEAP) as project:
            make_release(project, in_batches(self.table()), "Office", self.out, "csv", Silent())

    def change_document(self, **changes: Any) -> None:
        """Save another document in the project."""
        with self.open() as project:
            project.save_document(replace(project.document, **changes))

    def keep(self) -> None:
        """Remember every file, and what the project holds."""
        self._files = self._digests()
        self._contents = self._project_contents()

    def lost(self) -> list[str]:
        """What is not as it was when `keep` was called."""
        files = self._digests()
        found = [f"{name} is gone" for name, digest in self._files.items() if name not in files]
        found += [
            f"{name} changed or is new"
            for name, digest in files.items()
            if self._files.get(name) != digest
        ]
        if self._project_contents() != self._contents:
            found.append("the project's contents")
        return found

    def _digests(self) -> dict[str, str]:
        return {
            path.relative_to(self.folder).as_posix(): (
                hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
            )
            for path in sorted(self.folder.rglob("*"))
            # SQLite may touch its own files; what they hold is compared instead.
            if not path.name.startswith(self.project_path.name)
        }

    def _project_contents(self) -> Any:
        try:
            with self.open(read_only=True) as project:
                return project.document, project.ledger.entries
        except SfumatoError:
            return hashlib.sha256(self.project_path.read_bytes()).hexdigest()


Act = Callable[[], object]


@dataclass(frozen=True)
class BadInput:
    """One kind of bad input.

    Parameters
    ----------
    what
        What is bad about it, in plain words; the test's name.
    error
        The class of the error that a custodian is shown.
    says
        A regular expression that the message's "what happened" must match.
    prepare
        Sets the stage and returns the call that must fail. What it changes before it returns
        is not held to be lost.
    """

    what: str
    error: type[SfumatoError]
    says: str
    prepare: Callable[[Workshop], Act]

    def __str__(self) -> str:
        return self.what
