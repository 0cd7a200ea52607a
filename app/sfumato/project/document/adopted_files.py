"""Earlier releases that were made elsewhere, as a policy entry's settings keep them.

A project keeps where such a file is, its digest, and how its rows and values are matched to the
table; the file itself stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Final

from sfumato.engine.core.columns import Value
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.mechanisms.adoption import ADOPTED, adopted_in
from sfumato.engine.mechanisms.base import Settings
from sfumato.formats.files import digest_of, is_file
from sfumato.project.document.model import from_plain, to_plain
from sfumato.project.errors import AdoptionError

BY_ROWS: Final = "rows"
BY_KEY: Final = "key"


@dataclass(frozen=True)
class RowMatching:
    """How the rows of a file are matched to the table's.

    Parameters
    ----------
    by
        ``"rows"``: row by row, in order; ``"key"``: by a column that tells records apart.
    table_column, file_column
        That column in the table and in the file; empty where rows are matched in order.
    source
        Where rows are matched in order, the digest of the table whose order it is.
    """

    by: str = BY_ROWS
    table_column: str = ""
    file_column: str = ""
    source: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return it as plain JSON values."""
        if self.by == BY_ROWS:
            return {"by": BY_ROWS, "source": self.source}
        return {"by": BY_KEY, "table": self.table_column, "file": self.file_column}

    @classmethod
    def from_dict(cls, plain: Mapping[str, str]) -> RowMatching:
        """Return what `to_dict` wrote."""
        return cls(
            plain["by"], plain.get("table", ""), plain.get("file", ""), plain.get("source", "")
        )


@dataclass(frozen=True)
class AdoptedFile:
    """One earlier release, as a policy entry's settings keep it.

    Parameters
    ----------
    file
        Where it is, absolute.
    digest
        Its SHA-256, in hexadecimal.
    options
        How it is read, `ReadOptions` as plain values.
    columns
        The file's column for each attribute of the entry.
    level
        Its trust level, in the unit of the entry's mechanism.
    estimated
        Whether the level was estimated rather than stated.
    match
        How its rows are matched.
    values
        For an attribute, domain values for texts of the file that the domain does not have.
    holder
        Who was given it.
    rung
        Whether further levels are fitted to it.
    sound
        Whether it passed the tests of its own level.
    apart
        The digests of other adopted files with which it forms no ladder.
    part
        How many of the table's records it had when it was examined, and of how many; None where
        it had all.
    """

    file: str
    digest: str
    options: Mapping[str, Any]
    columns: Mapping[str, str]
    level: float
    match: RowMatching
    estimated: bool = False
    values: Mapping[str, tuple[tuple[str, Value], ...]] = field(default_factory=dict)
    holder: str = ""
    rung: bool = True
    sound: bool = True
    apart: tuple[str, ...] = ()
    part: tuple[int, int] | None = None

    @property
    def path(self) -> Path:
        """Where the file is."""
        return Path(self.file)

    @property
    def called(self) -> str:
        """What the release is called in sentences: by its holder, or else by its file."""
        return self.holder or self.path.name

    def held_by(self, holder: str) -> AdoptedFile:
        """Return it with another name of who was given it."""
        return replace(self, holder=holder)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {**to_plain(self), "match": self.match.to_dict()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> AdoptedFile:
        """Return what `to_dict` wrote."""
        match = to_plain(RowMatching.from_dict(plain["match"]))
        file: AdoptedFile = from_plain(cls, {**plain, "match": match})
        return file


def adopted_files(settings: Settings) -> tuple[AdoptedFile, ...]:
    """Return the earlier releases that settings tell of.

    Raises
    ------
    AdoptionError
        If they can't be read; they may come from a rules file.
    """
    try:
        return tuple(AdoptedFile.from_dict(plain) for plain in adopted_in(settings))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise AdoptionError(
            "What the settings tell of adopted releases can't be read.",
            "Remove the setting adopted, and adopt the releases again.",
        ) from None


def with_places_of(settings: Settings, others: Settings) -> Settings:
    """Return settings in which adopted files are where other settings have the same files."""
    places = {one["digest"]: one["file"] for one in adopted_in(others)}
    moved = [
        {**one, "file": places.get(one["digest"], one["file"])} for one in adopted_in(settings)
    ]
    return {**settings, ADOPTED: moved} if moved else settings


def find_file(file: AdoptedFile, folders: Iterable[Path] = ()) -> Path:
    """Return where an adopted file is: in its place, or by its name in one of the folders.

    Raises
    ------
    AdoptionError
        If it is in none of them.
    """
    for place in (file.path, *(folder / file.path.name for folder in folders)):
        if is_file(place):
            return place
    raise AdoptionError(
        "The adopted release {holder} is not at {path} any more, and further levels can't be"
        " fitted to it without its rows.",
        "Bring the file back, or show where it is now (Policy, Adopted releases).",
        holder=file.called,
        path=file.file,
    )


def relocated(file: AdoptedFile, path: Path, context: Context) -> AdoptedFile:
    """Return an adopted release with the new place of its file.

    Raises
    ------
    AdoptionError
        If there is no file, or it is another one.
    """
    moved = replace(file, file=str(Path(path).absolute()))
    check_digest(moved, find_file(moved), context)
    return moved


def check_digest(file: AdoptedFile, path: Path, context: Context) -> None:
    """Raise `AdoptionError` where a file is not the one that was adopted."""
    if digest_of(path, context) != file.digest:
        raise AdoptionError(
            "{path} is not the file that was adopted as the release to {holder}: its contents"
            " changed.",
            "Bring the file back as it was given out. Levels that are fitted to other values"
            " would not sit on the ladder of what its holder has.",
            path=path,
            holder=file.called,
        )
