"""Opening the project and the files that a command line names, and the flags that say how."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sfumato.commands.shared.command import Group, Terminal, argument, option, repeated
from sfumato.engine.core.progress import Context, Part
from sfumato.formats.errors import WrongEncoding
from sfumato.formats.files import opening
from sfumato.formats.language import said, worded
from sfumato.project.errors import ReleaseError

if TYPE_CHECKING:
    from sfumato.engine.table.table import Table
    from sfumato.formats.options import ReadOptions
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.release.long_survey import LongSurvey
    from sfumato.project.release.long_table import LongTable

_NAMED: Final = {"tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "point": "."}
"""Words for marks that a command line hardly lets one write."""

READING: Final = Group(
    (
        option("--encoding", "NAME", "the text's encoding, e.g. cp1252"),
        option("--delimiter", "MARK", "between fields: a character, tab, comma or semicolon"),
        argument(
            "--decimal",
            choices=("point", "comma", ".", ","),
            help="the mark in decimal numbers",
        ),
        repeated(
            "--missing",
            "TEXT",
            "a text that means a missing value, beside the empty one; may be repeated",
        ),
        option("--skip-lines", "N", "how many lines above the table are left out", type=int),
        option("--sheet", "NAME", "the sheet of a workbook"),
        argument(
            "--any-size",
            action="store_true",
            default=None,
            help="read a file that unpacks to far more than its size lets one expect",
        ),
    ),
    title="how the file is read (usual: found out)",
)
"""The flags; without them, a file is read as it seems to be meant."""


def open_project(arguments: Namespace, terminal: Terminal, read_only: bool = False) -> ProjectFile:
    """Open the project that the arguments name, and say what became of unfinished releases."""
    from sfumato.project.project_file import ProjectFile

    passphrase = terminal.passphrase(arguments.passphrase_fd)
    project = ProjectFile.open(arguments.project, passphrase, read_only=read_only)
    for recovered in project.recovered:
        terminal.note(
            worded(
                "An unfinished release to {recipient} was settled: {explanation}. ({target})",
                recipient=recovered.recipient,
                explanation=said(recovered.explanation),
                target=recovered.target,
            )
        )
    if project.tampering is not None:
        found = project.tampering
        terminal.note(f"sfumato: {worded(found.what_template, **found.details)}")
    return project


MEMORY: Final = option(
    "--memory",
    "MB",
    "read a table of Parquet or CSV in parts that would take more memory than so many"
    " megabytes (usual: 1000)",
    type=float,
    default=1000.0,
)


@contextmanager
def opened_by_parts(
    arguments: Namespace, terminal: Terminal, share: float, read_only: bool = True
) -> Iterator[tuple[ProjectFile, Table | LongTable, Context]]:
    """Open the project that the arguments name, and its source table.

    A table that would take more memory than the arguments allow (`MEMORY`) is not read, where
    its file can be read in parts; which is said. With an engine, no table is read as a whole.

    Raises
    ------
    ReleaseError
        If the arguments name an engine, and the table can't be worked on in parts.
    """
    from sfumato.commands.shared.engines import check_engine
    from sfumato.project.source import is_long, open_long_source

    with open_project(arguments, terminal, read_only) as project, terminal.working() as context:
        reading, found = Part(context, 0.0, share), None
        document = project.document
        if getattr(arguments, "engine", None) is not None:
            check_engine(document, arguments.engine)
            found = open_long_source(document, reading, project.path.parent)
            if found is None:
                raise ReleaseError(
                    "An engine reads Parquet files' columns as they are stored, and the project"
                    " reads some as other types.",
                    "Write them as these types and make a project of the new file, or release"
                    " without --engine.",
                )
        elif is_long(document, arguments.memory * 1e6):
            found = open_long_source(document, reading, project.path.parent)
            terminal.note(
                worded("The table is read in parts, since it is long.")
                if found
                else worded("The table is read as a whole, since its file can't be read in parts.")
            )
        rest = Part(context, share, 1.0)
        if found is None:
            yield project, source_of(project, reading), rest
            return
        if not read_only:
            project.save_document(found[1])
        yield project, found[0], rest


def read_text(path: Path) -> str:
    """Return a text file's contents.

    Raises
    ------
    CannotOpen, WrongEncoding
        If it is not there, may not be read, or is not UTF-8.
    """
    try:
        with opening(path):
            return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise WrongEncoding(
            "{path} is not text in UTF-8.", "Save it as UTF-8.", path=path
        ) from None


def source_of(project: ProjectFile, context: Context) -> Table:
    """Return the project's source table, from its place or from beside the project.

    Raises
    ------
    SourceMissing, SourceChanged
        See `sfumato.project.source.open_source`.
    """
    from sfumato.project.source import open_source

    table, document = open_source(project.document, context, beside=project.path.parent)
    if not project.read_only:
        project.save_document(document)
    return table


def known_source(project: ProjectFile, memory: float, context: Context) -> Table | LongSurvey:
    """Return the source table, or what is known of one that would take more memory, in bytes.

    Raises what `source_of` does.
    """
    from sfumato.project.release.long_survey import survey_of
    from sfumato.project.source import is_long, open_long_source

    document = project.document
    if document.source is not None and is_long(document, memory):
        part = Part(context, 0.0, 0.2)
        if found := open_long_source(document, part, project.path.parent):
            project.save_document(found[1])
            return survey_of(found[0], Part(context, 0.2, 1.0))
    return source_of(project, context)


def reading_of(arguments: Namespace, path: Path) -> ReadOptions:
    """Return how a file is read: as it seems to be meant, except for what the flags say.

    Raises
    ------
    FileError
        If the file can't be looked into.
    BadOptions
        If the flags contradict one another.
    """
    from sfumato.formats.reading import detect_options

    given: dict[str, Any] = {
        "encoding": arguments.encoding,
        "delimiter": _mark(arguments.delimiter),
        "decimal": _mark(arguments.decimal),
        "missing": ("", *dict.fromkeys(arguments.missing)) if arguments.missing else None,
        "skip_lines": arguments.skip_lines,
        "sheet": arguments.sheet,
        "any_size": arguments.any_size,
    }
    stated = {name: value for name, value in given.items() if value is not None}
    return replace(detect_options(path), **stated)


def _mark(given: str | None) -> str | None:
    return None if given is None else _NAMED.get(given, given)
