"""List the ledger and check its chain."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from sfumato.commands.shared.command import Command, ExitCode, add_json, add_project, open_project
from sfumato.commands.shared.terminal import Terminal
from sfumato.commands.verify import check_seal
from sfumato.project.document.adopted_files import AdoptedFile
from sfumato.project.errors import LedgerTampered
from sfumato.project.ledger.ledger import Entry, EntryKind


def _add_arguments(parser: ArgumentParser) -> None:
    add_project(parser)
    add_json(parser)


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    with open_project(arguments, terminal, read_only=True) as project:
        tampering = project.tampering
        try:
            entries = project.ledger.entries
        except LedgerTampered:
            entries = ()
    chain = check_seal(tampering)
    if arguments.json:
        plain = {"holds": chain.holds, "entries": [entry_as_plain(entry) for entry in entries]}
        terminal.say(json.dumps(plain, indent=2))
    else:
        for entry in entries:
            terminal.say(line_of(entry))
    terminal.note(chain.finding)
    return ExitCode.OK if chain.holds else ExitCode.CHECK_FAILED


def entry_as_plain(entry: Entry) -> dict[str, object]:
    """Return an entry as plain JSON values."""
    return {
        "number": entry.number,
        "recorded_at": entry.recorded_at,
        "kind": str(entry.kind),
        "details": dict(entry.details),
    }


def line_of(entry: Entry) -> str:
    """Return an entry as one line: number, time, kind and what it is about."""
    about = [entry.details.get(key) for key in ("recipient", "holder", "target", "reason")]
    about += _adopted(entry) if entry.kind == EntryKind.ADOPTED else []
    shown = "  ".join(str(part) for part in about if part)
    return f"{entry.number:>4}  {entry.recorded_at}  {entry.kind:<18}  {shown}".rstrip()


def _adopted(entry: Entry) -> list[str]:
    """Return what an adoption is of: attribute, level, place on the ladder, and file."""
    try:
        file = AdoptedFile.from_dict(entry.details["release"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return []  # written by another version
    place = "on the ladder" if file.rung else "beside the ladder"
    return [f"{entry.details.get('attribute', '')} at {file.level:g}, {place}", file.file]


COMMAND = Command(_add_arguments, _run, ("sfumato ledger clinic.sfumato",))
