"""Examine a bundle, or one of its files, against its project, ledger and table."""

from __future__ import annotations

from argparse import Namespace

from sfumato.commands.shared.command import (
    BY_PROJECT,
    JSON,
    PASSPHRASE,
    Command,
    ExitCode,
    file_argument,
    lines_of_verification,
    seal_as_check,
)
from sfumato.commands.shared.opening import MEMORY, opened_by_parts
from sfumato.commands.shared.terminal import Terminal
from sfumato.project.errors import LedgerTampered


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.verification.found import verify_file

    try:
        with opened_by_parts(arguments, terminal, 0.3) as (project, table, context):
            chain = seal_as_check(project.tampering)
            report = verify_file(project, table, arguments.bundle, context)
    except LedgerTampered as tampering:
        checks = [seal_as_check(tampering)]
    else:
        checks = [chain, *report.checks]
    holds = all(check.holds for check in checks)
    terminal.tell(
        arguments.json,
        {
            "holds": holds,
            "checks": [
                {"title": check.title, "holds": check.holds, "finding": check.finding}
                for check in checks
            ],
        },
        lines_of_verification(checks),
    )
    return ExitCode.OK if holds else ExitCode.CHECK_FAILED


COMMAND = Command(
    (
        file_argument("bundle", "BUNDLE", "the bundle, folder or zip, or any file of one"),
        BY_PROJECT,
        MEMORY,
        JSON,
        PASSPHRASE,
    ),
    _run,
    ("sfumato verify bundles/Clinic-Public-file --project clinic.sfumato",),
)
