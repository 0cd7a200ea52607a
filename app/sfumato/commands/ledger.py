"""List the ledger and check its chain."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from sfumato.commands.shared.command import JSON, PROJECT, Command, ExitCode, seal_as_check
from sfumato.commands.shared.opening import open_project
from sfumato.commands.shared.terminal import Terminal
from sfumato.formats.language import worded
from sfumato.project.errors import LedgerTampered

if TYPE_CHECKING:
    from sfumato.project.ledger import Entry


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    with open_project(arguments, terminal, read_only=True) as project:
        tampering = project.tampering
        try:
            entries = project.ledger.entries
        except LedgerTampered:
            entries = ()
    chain = seal_as_check(tampering)
    plain = {
        "holds": chain.holds,
        "entries": [
            {
                "number": entry.number,
                "recorded_at": entry.recorded_at,
                "kind": str(entry.kind),
                "details": dict(entry.details),
            }
            for entry in entries
        ],
    }
    terminal.tell(arguments.json, plain, map(_line_of, entries))
    terminal.note(chain.finding)
    return ExitCode.OK if chain.holds else ExitCode.CHECK_FAILED


def _line_of(entry: Entry) -> str:
    """Return an entry as one line: number, time, kind and what it is about."""
    about = [entry.details.get(key) for key in ("recipient", "holder", "target", "reason")]
    shown = "  ".join(str(part) for part in (*about, *_adopted(entry)) if part)
    return f"{entry.number:>4}  {entry.recorded_at}  {entry.kind:<18}  {shown}".rstrip()


def _adopted(entry: Entry) -> list[str]:
    """Return what an adoption is of: attribute, level, place on the ladder, and file."""
    from sfumato.project.document.adopted_files import AdoptedFile
    from sfumato.project.ledger import EntryKind

    if entry.kind != EntryKind.ADOPTED:
        return []
    try:
        file = AdoptedFile.from_dict(entry.details["release"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return []  # written by another version
    place = worded("on the ladder") if file.rung else worded("beside the ladder")
    return [
        worded(
            "{get} at {level:g}, {place}",
            get=entry.details.get("attribute", ""),
            level=file.level,
            place=place,
        ),
        file.file,
    ]


COMMAND = Command((*PROJECT, JSON), _run, ("sfumato ledger clinic.sfumato",))
