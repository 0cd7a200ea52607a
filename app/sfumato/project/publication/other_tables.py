"""Looking into a table that another holder published: its columns, classes and spelling."""

from __future__ import annotations

from dataclasses import field, replace
from pathlib import Path

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Value
from sfumato.engine.generalization.others import (
    HolderClasses,
    OtherTable,
    holder_classes,
    propose_spelling,
    unknown_values,
)
from sfumato.formats.bundles import DATAPACKAGE_NAME
from sfumato.formats.bundles.packages import PackagedTable, is_package, package_at, table_file
from sfumato.formats.notes import Note
from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import detect_options, digest_of, preview, read_file
from sfumato.project.document.generalization import OtherTableFile

MOST_UNKNOWN = 60
"""With more values than this that are not ours, it is the wrong column."""


@dataclass(frozen=True)
class OpenedOther:
    """A file that was looked into.

    Parameters
    ----------
    path
        The data file, or the zip file that it is packed in.
    options
        How it is read.
    columns
        Its columns' names.
    unique
        The columns whose values were all different there, as a key's are.
    name
        What it was called: the file, or the package's folder.
    sensitive, public
        What the table itself states, where another custodian published it with Sfumato: its
        sensitive column (else empty) and its public ones (else None).
    """

    path: Path
    options: ReadOptions
    columns: tuple[str, ...]
    unique: frozenset[str]
    name: str
    sensitive: str = ""
    public: tuple[str, ...] | None = None

    def proposed_sensitive(self, ours: str) -> str | None:
        """Return the column that holds our sensitive attribute, as far as can be told."""
        alike = {name.casefold(): name for name in self.columns}
        stated = self.sensitive if self.sensitive in self.columns else None
        return alike.get(ours.casefold(), stated)

    def is_public(self, column: str, sensitive: str | None) -> bool:
        """Return whether people may be known by a column, as far as can be told."""
        if column == sensitive:
            return False
        return column in self.public if self.public is not None else column not in self.unique


@dataclass(frozen=True)
class LookAtOther:
    """What came of reading another holder's table.

    Parameters
    ----------
    file
        How it is kept in the document; its spelling includes what is proposed.
    classes
        Its classes; None where it can't be used as it is.
    unknown
        Its sensitive values that are not ours, with what is proposed for each; shown to the
        custodian and kept nowhere else.
    problem
        Why it can't be used.
    notes
        What the reader remarked.
    """

    file: OtherTableFile
    classes: HolderClasses | None = None
    unknown: tuple[Value, ...] = field(default=(), repr=False)
    problem: SfumatoError | None = None
    notes: tuple[Note, ...] = ()


def open_other(path: Path, context: Context) -> OpenedOther:
    """Look into a file, or into a data package: its folder, its description or a zip file.

    Raises
    ------
    FileError
        If it can't be read, or the package has not exactly one table.
    """
    context.report(0.0, "Looking into the file")
    name = path.parent.name if path.name == DATAPACKAGE_NAME else path.stem
    packed = package_at(path) if is_package(path) else PackagedTable(path, detect_options(path))
    with table_file(packed.path) as file:
        seen = preview(file, packed.options)
    unique = frozenset(
        name
        for name in seen.columns
        if seen.rows > 20 and seen.column(name).nunique(dropna=False) == seen.rows
    )
    return OpenedOther(
        packed.path.absolute(),
        packed.options,
        tuple(seen.columns),
        unique,
        name,
        packed.sensitive,
        packed.public,
    )


def look_at_other(
    opened: OpenedOther, stated: OtherTableFile, values: tuple[Value, ...], context: Context
) -> LookAtOther:
    """Read the whole table, and its classes by our values."""
    digest = digest_of(opened.path, Part(context, 0.0, 0.2))
    with table_file(opened.path) as data:
        read = read_file(data, opened.options, Part(context, 0.2, 0.8))
    frame = read.table.frame
    given = dict(stated.spelling)
    bare = OtherTable(stated.holder, frame, stated.quasi_identifiers, stated.sensitive)
    file = replace(stated, path=str(opened.path), digest=digest, options=opened.options.to_dict())
    strange: tuple[Value, ...] = ()
    try:
        strange = tuple(unknown_values(bare, values))
        if None not in values and bool(frame[stated.sensitive].isna().any()):
            strange = (*strange, None)
        spelling = {**propose_spelling(bare, values), **given}
        file = replace(file, spelling=tuple(spelling.items()))
        strange = strange if len(strange) <= MOST_UNKNOWN else ()
        classes = holder_classes(replace(bare, spelling=spelling), values)
    except SfumatoError as problem:
        return LookAtOther(file, None, strange, problem.with_traceback(None), read.notes)
    return LookAtOther(file, classes, strange, notes=read.notes)
