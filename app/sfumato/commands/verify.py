"""Examine a bundle against its project, ledger and table."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from sfumato.commands.shared.command import (
    Command,
    ExitCode,
    add_json,
    add_passphrase,
    open_project,
)
from sfumato.commands.shared.files import source_of
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Part
from sfumato.engine.mechanisms.base import Check
from sfumato.project.errors import LedgerTampered, ProjectError
from sfumato.project.verification.verify import verify_bundle


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="the bundle, folder or zip")
    parser.add_argument(
        "--project", type=Path, required=True, metavar="PROJECT", help="the project's file"
    )
    add_json(parser)
    add_passphrase(parser)


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    try:
        with open_project(arguments, terminal, read_only=True) as project:
            chain = check_seal(project.tampering)
            with terminal.working() as context:
                table = source_of(project, Part(context, 0.0, 0.3))
                report = verify_bundle(project, table, arguments.bundle, Part(context, 0.3, 1.0))
    except LedgerTampered as tampering:
        checks: tuple[Check, ...] = (check_seal(tampering),)
    else:
        checks = (chain, *report.checks)
    if arguments.json:
        terminal.say(json.dumps(checks_as_plain(checks), indent=2))
    else:
        print_checks(checks, terminal)
    return ExitCode.OK if all(check.holds for check in checks) else ExitCode.CHECK_FAILED


def checks_as_plain(checks: tuple[Check, ...]) -> dict[str, object]:
    """Return checks as plain JSON values."""
    return {
        "holds": all(check.holds for check in checks),
        "checks": [
            {"title": check.title, "holds": check.holds, "finding": check.finding}
            for check in checks
        ],
    }


def check_seal(tampering: ProjectError | None) -> Check:
    """Return whether the project is as it was sealed, its ledger included, as a check."""
    if tampering is None:
        return Check(
            "Seal and ledger", True, "The project and its ledger are as Sfumato wrote them."
        )
    return Check("Seal and ledger", False, str(tampering))


def print_checks(checks: tuple[Check, ...], terminal: Terminal) -> None:
    """Print a line for each check, and one that sums them up."""
    for check in checks:
        mark = "ok  " if check.holds else "FAIL"
        terminal.say(f"{mark}  {check.title}: {check.finding}")
    failed = sum(not check.holds for check in checks)
    terminal.say(f"{failed} of {len(checks)} checks failed." if failed else "Verified.")


COMMAND = Command(
    _add_arguments, _run, ("sfumato verify bundles/Clinic-Public-file --project clinic.sfumato",)
)
