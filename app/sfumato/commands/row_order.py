"""Show or choose the row order of releases."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace

from sfumato.commands.shared.command import (
    PROJECT,
    Command,
    ExitCode,
    flag,
    one_of,
    option,
)
from sfumato.commands.shared.opening import open_project
from sfumato.commands.shared.terminal import Terminal
from sfumato.formats.language import worded


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.formats.bundles.contents import ROWS_AS_IN_TABLE

    reason = arguments.as_in_table
    if reason is not None and not reason.strip():
        terminal.note(worded("sfumato: --as-in-table needs a reason"))
        return ExitCode.USAGE
    changes = reason is not None or arguments.random
    with open_project(arguments, terminal, read_only=not changes) as project:
        document = project.document
        if changes:
            document = replace(document, rows_as_in_table=(reason or "").strip())
            project.save_document(document)
    if document.rows_as_in_table:
        terminal.say(
            worded(
                "Rows are released in the table's order: {rows_as_in_table}",
                rows_as_in_table=document.rows_as_in_table,
            )
        )
        terminal.note(ROWS_AS_IN_TABLE)
    else:
        terminal.say(worded("Every release has a random row order of its own."))
    return ExitCode.OK


COMMAND = Command(
    (
        *PROJECT,
        one_of(
            option(
                "--as-in-table",
                "REASON",
                "keep the rows in the table's order; the ledger keeps the reason",
            ),
            flag("--random", "give every release a random row order of its own (the default)"),
        ),
    ),
    _run,
    (
        "sfumato row-order clinic.sfumato",
        'sfumato row-order clinic.sfumato --as-in-table "The registry joins by row number"',
    ),
)
