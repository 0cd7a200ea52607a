"""Opening the project and the files that a command line names, and the flags that say how."""

from __future__ import annotations

import math
from argparse import BooleanOptionalAction, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sfumato.commands.shared.command import Argument, Group, Terminal, argument, option
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.formats.errors import BadOptions, WrongEncoding
from sfumato.formats.files import opening
from sfumato.formats.language import know_columns, said, worded
from sfumato.formats.options import (
    OptionDescription,
    ReadOptions,
    settings_of_reading,
    typed_options,
)
from sfumato.project.errors import ReleaseError

if TYPE_CHECKING:
    from sfumato.engine.table.table import Table
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.release.batched_table import BatchedTable
    from sfumato.project.release.table_survey import Survey

_NAMED: Final = {
    **{"tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "point": ".", "blank": " "},
    **{"apostrophe": "'", "none": ""},
}
"""Words for marks that a command line hardly lets one write."""


def _argument(name: str, setting: OptionDescription) -> Argument:
    """Return the argument for an option of `ReadOptions`; absent, it is None."""
    usual, told = getattr(ReadOptions(), name), {"dest": name, "help": setting.text}
    if isinstance(usual, bool):
        return argument(setting.option, action=BooleanOptionalAction, **told)
    if isinstance(usual, StrEnum):
        return argument(setting.option, choices=[str(one) for one in type(usual)], **told)
    told["metavar"] = setting.metavar
    if setting.many and not setting.file:
        told["help"] = Sentence("{text}; may be repeated", text=Sentence(setting.text))
        return argument(setting.option, action="append", **told)
    kind = Path if setting.file else int if isinstance(usual, int) else str
    return argument(setting.option, type=kind, **told)


READING: Final = Group(
    tuple(
        _argument(name, setting)
        for name, setting in settings_of_reading().items()
        if setting.option
    ),
    title="how the file is read (default: detected)",
)
"""The flags; without them, a file is read as it seems to be meant."""


def open_project(arguments: Namespace, terminal: Terminal, read_only: bool = False) -> ProjectFile:
    """Open the project that the arguments name, and say what became of unfinished releases."""
    from sfumato.project.project_file import ProjectFile

    passphrase = terminal.passphrase(arguments.passphrase_fd)
    project = ProjectFile.open(arguments.project, passphrase, read_only=read_only)
    know_columns(project.document.column_names)
    for recovered in project.recovered:
        terminal.note(
            "An unfinished release to {recipient} was settled: {explanation}. ({target})",
            recipient=recovered.recipient,
            explanation=said(recovered.explanation),
            target=recovered.target,
        )
    if project.tampering is not None:
        found = project.tampering
        terminal.note(f"sfumato: {worded(found.what_template, **found.details)}")
    return project


MEMORY: Final = option(
    "--memory",
    "MB",
    "read a table of Parquet or CSV in parts that would take more memory than so many megabytes"
    " (default: 1000)",
    type=float,
    default=1000.0,
)


@contextmanager
def opened_by_parts(
    arguments: Namespace, terminal: Terminal, share: float, read_only: bool = True
) -> Iterator[tuple[ProjectFile, BatchedTable, Context]]:
    """Open the project that the arguments name, and its source table.

    A table that would take more memory than the arguments allow (`MEMORY`) is not read, where
    its file can be read in parts; which is said. With an engine, no table is read as a whole.

    Raises
    ------
    ReleaseError
        If the arguments name an engine, and the table can't be worked on in parts.
    """
    from sfumato.commands.shared.engines import check_engine
    from sfumato.project.source import open_long_source, open_table

    def tell(in_parts: bool) -> None:
        terminal.note(
            worded("The table is read in parts, since it is long.")
            if in_parts
            else worded("The table is read as a whole, since its file can't be read in parts.")
        )

    with open_project(arguments, terminal, read_only) as project, terminal.working() as context:
        reading, rest = Part(context, 0.0, share), Part(context, share, 1.0)
        if getattr(arguments, "engine", None) is None:
            table = open_table(project, arguments.memory * 1e6, reading, tell)
        else:
            check_engine(project.document, arguments.engine)
            beside, remembered = project.path.parent, project.remembered
            found = open_long_source(project.document, reading, beside, remembered)
            if found is None:
                raise ReleaseError(
                    "An engine reads Parquet files' columns as they are stored, and the project"
                    " reads some as other types.",
                    "Write them as these types and make a project of the new file, or release"
                    " without --engine.",
                )
            table = found[0]
            if not read_only:
                project.save_document(found[1])
        tell_versions(project, table, terminal, reading)
        yield project, table, rest


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
    """Return all rows of the project's source table in memory.

    Raises
    ------
    SourceMissing, SourceChanged
        See `sfumato.project.source.open_table`.
    """
    from sfumato.project.source import open_table

    opening, rest = Part(context, 0.0, 0.9), Part(context, 0.9, 1.0)
    return open_table(project, math.inf, opening).in_memory(rest)


def tell_versions(
    project: ProjectFile, table: BatchedTable, terminal: Terminal, context: Context
) -> None:
    """Tell once what the present version of reading would read otherwise of an older project's."""
    from sfumato.commands.shared.remarks import lines_of, read_again
    from sfumato.project.source import find_source
    from sfumato.project.source_changes import told_once

    path = find_source(project.document, project.path.parent)
    source = project.document.source
    for note in told_once(project, table, path, context) if source is not None else ():
        assert source is not None
        again = partial(read_again, project.path, replace(source, path=str(path)))
        for line in lines_of((note,), source.options, again):
            terminal.note(line)


def known_source(project: ProjectFile, memory: float, context: Context) -> Survey:
    """Return what is known of the source table, read in batches where it would take more bytes.

    Raises what `source_of` does.
    """
    from sfumato.project.release.table_survey import survey_of_any
    from sfumato.project.source import open_table

    table = open_table(project, memory, Part(context, 0.0, 0.2))
    return survey_of_any(table, Part(context, 0.2, 1.0))


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

    # A release has as many rows as its table, whatever they still hold.
    return detect_options(path, {"keep_blank_rows": True, **stated_reading(arguments)})


def stated_reading(arguments: Namespace) -> dict[str, Any]:
    """Return what the flags of `READING` say, in the names and values of `ReadOptions`.

    Raises
    ------
    BadOptions
        If a flag has a value it can't have.
    """
    from sfumato.formats.layouts import read_layout

    plain: dict[str, Any] = {}
    for name, setting in settings_of_reading().items():
        value = getattr(arguments, name, None) if setting.option else None
        if value is None:
            continue
        if name == "missing":
            value = ["", *dict.fromkeys(value)]
        elif name == "column_missing":
            texts: dict[str, list[str]] = {}
            for column, text in (_of_one_column(one, setting) for one in value):
                texts.setdefault(column, []).append(text)
            value = texts
        elif setting.file:
            value = list(read_layout(value))
        elif setting.many:
            value = dict(_of_one_column(one, setting) for one in value)
        elif setting.metavar == "MARK":
            value = _NAMED.get(value, value)
        plain[name] = value
    return typed_options(plain)


def _of_one_column(stated: str, setting: OptionDescription) -> tuple[str, str]:
    column, mark, value = stated.rpartition("=")
    if not mark or not column:
        raise BadOptions(
            "{option} is not written as {form}.",
            "Write the column's name, an equals sign, and the choice for it.",
            option=setting.option,
            form=setting.metavar,
        )
    return column, value
