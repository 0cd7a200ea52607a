"""Show the source table, or say where it is now."""

from __future__ import annotations

from argparse import Namespace

from sfumato.commands.shared.command import PROJECT, Command, ExitCode, one_of, option
from sfumato.commands.shared.opening import open_project, source_of
from sfumato.commands.shared.terminal import Terminal
from sfumato.formats.language import worded


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.formats.reading import Note, place_of
    from sfumato.project.source import accept_edition, locate_source

    read_only = arguments.moved_to is None and arguments.new_edition is None
    notes: list[Note] = []
    with open_project(arguments, terminal, read_only) as project:
        with terminal.working() as context:
            if arguments.moved_to is not None:
                place = place_of(arguments.moved_to)
                project.save_document(locate_source(project.document, place, context))
            elif arguments.new_edition is not None:
                edition = place_of(arguments.new_edition)
                accept_edition(project, edition, context, notes.append)
            else:
                source_of(project, context)
        source = project.document.source
    for note in notes:
        terminal.note(note.text)
    if source is not None:
        terminal.say(
            worded(
                "{path}\n{rows:,} {rows:record|records}, SHA-256 {digest}",
                path=source.path,
                rows=source.rows,
                digest=source.digest,
            )
        )
    return ExitCode.OK


COMMAND = Command(
    (
        *PROJECT,
        one_of(
            option("--moved-to", "FILE", "the same table stands there now"),
            option(
                "--new-edition",
                "FILE",
                "this edition takes the table's place; it may be the same file or database,"
                " changed",
            ),
        ),
    ),
    _run,
    (
        "sfumato source clinic.sfumato",
        "sfumato source clinic.sfumato --new-edition clinic-december.csv",
    ),
)
