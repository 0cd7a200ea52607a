"""The next edition of a project's table: what it changes, and taking it."""

from __future__ import annotations

from argparse import Namespace

from sfumato.commands.shared.command import (
    JSON,
    PROJECT,
    Command,
    ExitCode,
    Terminal,
    argument,
    flag,
    option,
)
from sfumato.commands.shared.opening import MEMORY, READING, open_project, stated_reading
from sfumato.commands.shared.remarks import lines_of
from sfumato.engine.core.progress import Part
from sfumato.formats.language import worded


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.next_edition import edition_answer
    from sfumato.commands.shared.answers import lines_of_answers
    from sfumato.formats.reading import Note, place_of
    from sfumato.project.next_edition import look_at_edition, take_edition

    place, stated = place_of(arguments.table), stated_reading(arguments)
    before = None if arguments.before is None else place_of(arguments.before)
    looking = arguments.dry_run
    notes: list[Note] = []
    with open_project(arguments, terminal, read_only=looking) as project:
        with terminal.working() as context:
            part = Part(context, 0.0, 0.6)
            changes = look_at_edition(project, place, part, stated, before)
            answer = edition_answer(project.document, project.releases, changes)
            if not looking:
                memory, rest = arguments.memory * 1e6, Part(context, 0.6, 1.0)
                take_edition(project, place, changes, rest, notes.append, memory, stated)
        source = project.document.source
    plain = {**answer.plain("next edition"), "taken": not looking}
    terminal.tell(arguments.json, plain, lines_of_answers([answer]))
    for line in lines_of(notes, source.options if source else {}):
        terminal.note(line)
    terminal.note(
        worded("Nothing is saved.")
        if looking
        else worded("It has taken the table's place, and all that was decided goes on.")
    )
    return ExitCode.OK


NEXT = Command(
    (
        *PROJECT,
        argument("table", metavar="TABLE", help="the next edition: a file, or a database"),
        option(
            "--before",
            "FILE",
            "where the table of before is now, if neither at its place nor beside the project",
        ),
        flag("--dry-run", "say what it changes and take nothing"),
        READING,
        MEMORY,
        JSON,
    ),
    _run,
    (
        "sfumato next clinic.sfumato clinic-december.csv --dry-run",
        "sfumato next clinic.sfumato clinic-december.csv",
    ),
)
