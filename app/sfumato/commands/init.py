"""Make a project from a table and a rules file, or with the roles that are proposed."""

from __future__ import annotations

import math
import os
from argparse import Namespace
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sfumato.commands.shared.command import (
    PROJECT,
    Command,
    ExitCode,
    Terminal,
    file_argument,
    one_of,
    option,
    repeated,
)
from sfumato.commands.shared.opening import MEMORY, READING, read_text, stated_reading
from sfumato.commands.shared.remarks import lines_of
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.formats.language import know_columns, said, worded
from sfumato.project.errors import ProjectExists

if TYPE_CHECKING:
    from sfumato.engine.table.proposals import Proposal
    from sfumato.engine.table.table import Table
    from sfumato.formats.options import ReadOptions
    from sfumato.formats.reading import Note, Place
    from sfumato.project.document.model import Document, TableSource
    from sfumato.project.release.batched_table import BatchedTable
    from sfumato.project.release.table_survey import Survey
    from sfumato.project.source import Tell


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.source import create_project

    if os.path.lexists(arguments.project):
        raise ProjectExists(
            "There is a file at {path} already.", "Choose another name.", path=arguments.project
        )
    if arguments.query is not None and arguments.database is None:
        terminal.note("--query asks a database: name it by --database.")
        return ExitCode.USAGE
    place, chosen = _source_in(arguments)
    rules = None if arguments.rules is None else read_text(arguments.rules)
    passphrase = terminal.new_passphrase(arguments.passphrase_fd)
    notes: list[Note] = []
    with terminal.working() as context:
        folder = None if arguments.rules is None else arguments.rules.parent
        made = document_for(
            place,
            rules,
            arguments.record_key,
            Part(context, 0.0, 0.9),
            folder,
            notes.append,
            arguments.units,
            arguments.unit_rows,
            chosen,
            MemoryRoom(arguments.project.parent, arguments.memory * 1e6),
        )
        document, rest = made.document, Part(context, 0.9, 1.0)
        know_columns(document.column_names)
        with create_project(arguments.project, passphrase, document, made.table, rest) as project:
            terminal.say(str(project.path))
    terminal.remark_on(passphrase)
    source = document.source
    for line in lines_of(notes, source.options if source else {}):
        terminal.note(line)
    for line in _told(document, made.proposed, every=rules is None):
        terminal.note(line)
    terminal.note(
        "{rows:,} {rows:record|records}, {columns} {columns:column|columns}, {recipients}"
        " {recipients:recipient|recipients}.",
        rows=source.rows if source else 0,
        columns=len(document.columns),
        recipients=len(document.recipients),
    )
    return ExitCode.OK


@dataclass(frozen=True)
class TableRead:
    """A table as it was read, the document made of it, and what each column is proposed to be."""

    document: Document
    proposed: tuple[Proposal, ...]
    table: BatchedTable


@dataclass(frozen=True)
class MemoryRoom:
    """How much memory a table may take, in bytes, and which folder has room for the rest."""

    folder: Path = Path()
    memory: float = math.inf


_ANY_ROOM = MemoryRoom()


def _source_in(arguments: Namespace) -> tuple[Place, dict[str, Any]]:
    """Return where the table is, and what the arguments say of how it is read."""
    from sfumato.formats.reading import detect_options, place_of

    stated = stated_reading(arguments)
    if arguments.database is None:
        return Path(arguments.table), stated
    place = place_of(arguments.database)
    # The format is that of the database, whatever rules say of an earlier table.
    stated["format"] = detect_options(place).format
    if arguments.query is not None:
        return place, {**stated, "sheet": "", "query": read_text(arguments.query)}
    return place, {**stated, "sheet": arguments.table, "query": ""}


def _reading_options(file: Place, rules: str | None, chosen: Mapping[str, Any]) -> ReadOptions:
    """Return how the table is read: as arguments and rules say, else as it seems to be meant."""
    from sfumato.formats.options import typed_options
    from sfumato.formats.reading import detect_options
    from sfumato.project.rules.rules import reading_options_in

    return detect_options(file, {**typed_options(reading_options_in(rules or "")), **chosen})


def document_for(
    file: Place,
    rules: str | None,
    record_key: str | None,
    context: Context,
    folder: Path | None = None,
    tell: Tell = lambda _: None,
    units: Sequence[str] = (),
    unit_rows: int | None = None,
    chosen: Mapping[str, Any] = MappingProxyType({}),
    room: MemoryRoom = _ANY_ROOM,
) -> TableRead:
    """Return the document that rules make of a table, checked as a release would check it.

    Without rules, every column has the role that is proposed for it. The rules may name files of
    hierarchies, which are looked for in `folder`. Remarks on the table are told. What is `chosen`
    of how it is read, in the names of `ReadOptions`, comes before what rules say. A table that
    would take more memory than there is `room` for is read in parts where its file and the rules
    allow it.

    Raises
    ------
    SfumatoError
        If the table can't be read, the rules don't fit it, or no release could be made.
    """
    from sfumato.engine.randomness.noisy_statistics import KeyedNoise
    from sfumato.engine.table.table import no_column
    from sfumato.project.document.model import Document
    from sfumato.project.release.table_survey import measured_for_unit
    from sfumato.project.release.units import unit_of_columns
    from sfumato.project.rules.rules import apply_rules, record_key_in
    from sfumato.project.source import title_of

    options = _reading_options(file, rules, chosen)
    stated = record_key_in(rules or "") if record_key is None else record_key
    read = _read(file, options, rules, stated, Part(context, 0.0, 0.7), room, chosen)
    survey, source, largest = read.survey, read.source, None
    proposed = survey.proposals()
    if rules is None:
        columns = tuple(proposal.spec for proposal in proposed)
        document = Document(title=title_of(file, options), source=source, columns=columns)
    else:
        document = apply_rules(rules, survey, Document(source=source), folder)
    if record_key is not None:
        if record_key not in survey.columns:
            raise no_column(record_key)
        document = replace(document, record_key=record_key)
    if units:
        part = Part(context, 0.7, 0.75)
        unit, largest = unit_of_columns(document, survey, units, unit_rows, part)
        document = measured_for_unit(document.with_unit(unit), survey, KeyedNoise.passing())
    if rules is not None:
        _check(document, survey, Part(context, 0.75, 0.9))
    rest, every = Part(context, 0.9, 1.0), rules is None
    for note in (*(source.notes or ()), *_found(document, survey, largest, rest, every=every)):
        tell(note)
    return TableRead(document, proposed, read.table)


@dataclass(frozen=True)
class _Read:
    """A table, what is known of its rows, and what it takes to know it again."""

    table: BatchedTable
    survey: Survey
    source: TableSource


def _read(
    file: Place,
    options: ReadOptions,
    rules: str | None,
    record_key: str | None,
    context: Context,
    room: MemoryRoom,
    chosen: Container[str],
) -> _Read:
    """Read a table so that its categories stay distinct: as a whole, or in batches.

    It is read in batches where it would take more memory than there is. What was guessed in the
    place of options that are chosen is not told.
    """
    from sfumato.project.release.table_survey import survey_of_any
    from sfumato.project.source import read_source

    reading = Part(context, 0.0, 0.3)
    table, source = read_source(
        file, options, reading, memory=room.memory, room=room.folder, stated=chosen
    )
    if apart := _with_categories_apart(source.notes or (), options, rules):
        return _read(file, apart, rules, record_key, context, room, chosen)
    return _Read(table, survey_of_any(table, Part(context, 0.3, 1.0), record_key), source)


def _with_categories_apart(
    notes: Sequence[Note], options: ReadOptions, rules: str | None
) -> ReadOptions | None:
    """Return how categories are read whose texts differ but were read as one number, if any."""
    from sfumato.formats.columns.settling import columns_read_as_one
    from sfumato.formats.options import ColumnType
    from sfumato.project.rules.rules import categories_in

    found = columns_read_as_one(notes) & categories_in(rules or "")
    for name in found:
        options = options.with_type(name, ColumnType.TEXT)
    return options if found else None


def _looked_at(rows: int) -> str:
    """Say what was counted in all rows of a long table, and what looked for in some."""
    return worded(
        "The table is long and read in parts. Values were counted in all rows; what else the"
        " proposals rest on, and which columns follow from others, was determined from {rows:,}"
        " {rows:row|rows}. Rows that belong together were not searched for.",
        rows=rows,
    )


def _relations(
    document: Document, table: Table, context: Context, *, every: bool
) -> Iterator[Note]:
    """Say which columns follow from others; see `_found`."""
    from sfumato.engine.core.columns import Role
    from sfumato.engine.table.relations import exact_relations
    from sfumato.formats.reading import Note

    names = [spec.name for spec in document.columns if spec.role is not Role.IDENTIFYING]
    relations = exact_relations(table, names, context)
    if relations and not every:
        from sfumato.analysis.findings import endangering

        relations = endangering(document, relations)
    for relation in relations:
        yield Note(f"{said(relation.sentence)} {said(relation.advice)}")


def _key(document: Document, proposed: Sequence[Proposal]) -> Iterator[Note]:
    """Say by which column records can be known."""
    from sfumato.analysis.disclosure.pooled_rows import proposed_key
    from sfumato.formats.reading import Note

    if found := proposed_key(document, proposed):
        yield Note(
            f"{said(found[1])} {worded('Say so with --record-key {column}.', column=found[0])}"
        )


def _found(
    document: Document, survey: Survey, largest: int | None, context: Context, *, every: bool
) -> Iterator[Note]:
    """Say which columns follow from others, which numbers records, and which rows belong together.

    Parameters
    ----------
    document, survey, context
        What is decided, what is known of the rows, and progress.
    largest
        How many rows the largest unit has; None where that is still to be found.
    every
        Whether all columns are told that follow from others, or those only that tell a sensitive
        one.
    """
    from sfumato.analysis.disclosure.pooled_rows import proposed_unit
    from sfumato.formats.reading import Note
    from sfumato.project.release.units import beyond_largest, unit_sentence

    repeated = survey.repeated_units(Part(context, 0.5, 0.9))
    if repeated is None:
        yield Note(_looked_at(survey.sample.rows))
    yield from _relations(document, survey.sample, Part(context, 0.0, 0.5), every=every)
    proposed = survey.proposals()
    yield from _key(document, proposed)
    if found := proposed_unit(document, repeated or (), proposed):
        pooled = worded(
            "--unit {column} protects by it; sfumato audit units says what pooling them tells.",
            column=found[0],
        )
        yield Note(f"{said(found[1])} {said(pooled)}")
    if (unit := document.unit) is not None:
        yield Note(unit_sentence(document))
        if largest is None:
            _, largest = survey.constant_columns(unit.columns, (), Part(context, 0.9, 1.0))
        if idle := beyond_largest(unit, largest):
            yield Note(idle)


def _told(document: Document, proposed: Sequence[Proposal], *, every: bool) -> Iterator[str]:
    """Say which roles are proposed and why: all, or those that would protect more than the rules.

    Parameters
    ----------
    document
        What is decided.
    proposed
        What each column is proposed to be.
    every
        Whether the roles are those proposed.
    """
    from sfumato.engine.core.columns import Role

    for proposal in proposed:
        name, found = proposal.spec.name, proposal.spec.role
        role = document.column(name).role
        if every:
            yield f"{name}: {found.value}. {said(proposal.reason)}"
        elif found is Role.IDENTIFYING and role not in (Role.IDENTIFYING, Role.SENSITIVE):
            yield worded(
                "{name} is {value}; proposed: {value_2}. {reason}",
                name=name,
                value=role.value,
                value_2=found.value,
                reason=proposal.reason,
            )


def _check(document: Document, survey: Survey, context: Context) -> None:
    """Refuse now what would be refused at the first release."""
    from sfumato.project.document.entry_plan import check_policy, plan_release

    survey.check_weights(document, Silent())
    # Where only a generalized table is published, there are no levels to check.
    if document.generalization is None or document.policy or document.recipients:
        check_policy(document)
        attributes = survey.attributes_of(document, Part(context, 0.0, 0.5))
        for recipient in document.recipients:
            plan_release(document, attributes, recipient)
    # Whether the record key tells all records apart does not depend on the secret.
    if document.record_key is not None:
        survey.check_key(document.record_key, Part(context, 0.5, 1.0))


INIT = Command(
    (
        *PROJECT,
        one_of(
            option(
                "--table",
                "FILE",
                "the table, or a folder of Parquet files that are one table; with --database,"
                " the name of a table or view in it",
            ),
            file_argument("--query", "FILE", "a SELECT statement for the database, in a file"),
            required=True,
        ),
        option(
            "--database",
            "WHERE",
            "a file of SQLite or DuckDB, or postgresql://user@host/database; the password is"
            " never written there, but read from PGPASSWORD or a password file",
        ),
        file_argument("--rules", "RULES", "the rules file (TOML); without it, roles are proposed"),
        option(
            "--record-key",
            "COLUMN",
            "the column that tells records apart, in place of the one in the rules",
        ),
        repeated(
            "--unit",
            "COLUMN",
            "protect by the rows that share this column (a person's visits, a household's members);"
            " may be given several times",
            dest="units",
        ),
        READING,
        MEMORY,
        option(
            "--unit-rows",
            "K",
            "release at most K rows of a unit; as many as the largest has where absent",
            type=int,
        ),
    ),
    _run,
    (
        "sfumato init clinic.sfumato --table clinic.csv --rules clinic.toml",
        "sfumato init clinic.sfumato --table clinic.csv",
        "sfumato init clinic.sfumato --table old.csv --encoding cp850 --skip-lines 2 --missing NA",
        "sfumato init clinic.sfumato --database clinic.duckdb --table patients",
    ),
    reads=lambda _arguments: True,
)
