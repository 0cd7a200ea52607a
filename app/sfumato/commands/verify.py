"""Files that turn up: examining a bundle, and saying which releases a file comes from."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from sfumato.commands.shared.command import (
    BY_PROJECT,
    JSON,
    PASSPHRASE,
    Command,
    ExitCode,
    Terminal,
    file_argument,
    lines_of_verification,
    seal_as_check,
)
from sfumato.commands.shared.opening import MEMORY, opened_by_parts
from sfumato.commands.shared.remarks import lines_of_answers
from sfumato.project.errors import LedgerTampered


def _run_verify(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.verification.found import verify_file

    try:
        with opened_by_parts(arguments, terminal, 0.3) as (project, table, context):
            chain = seal_as_check(project.tampering)
            report = verify_file(project, table, arguments.bundle, context)
    except LedgerTampered as tampering:
        checks = [seal_as_check(tampering)]
        added: tuple[str, ...] = ()
        withdrawn, only_table_differs = None, False
    else:
        checks, added = [chain, *report.checks], report.added
        withdrawn = None if report.release is None else report.release.withdrawn
        only_table_differs = chain.holds and report.only_table_differs
    holds = all(check.holds for check in checks)
    terminal.tell(
        arguments.json,
        {
            "holds": holds,
            "only_table_differs": only_table_differs,
            "checks": [
                {"title": check.title, "holds": check.holds, "finding": check.finding}
                for check in checks
            ],
            "added_files": list(added),
            "withdrawn": None if withdrawn is None else asdict(withdrawn),
        },
        lines_of_verification(checks, only_table_differs=only_table_differs),
    )
    return ExitCode.OK if holds else ExitCode.CHECK_FAILED


VERIFY = Command(
    (
        file_argument("bundle", "BUNDLE", "the bundle, folder or zip, or any file of one"),
        BY_PROJECT,
        MEMORY,
        JSON,
        PASSPHRASE,
    ),
    _run_verify,
    ("sfumato verify bundles/Clinic-Public-file --project clinic.sfumato",),
)


def _run_trace(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.answers import Severity
    from sfumato.analysis.disclosure.traced_files import answer_of_file

    with opened_by_parts(arguments, terminal, 0.3) as (project, table, context):
        found = answer_of_file(project, table, arguments.file, context)
    terminal.tell(arguments.json, found.plain("trace"), lines_of_answers([found]))
    return ExitCode.OK if found.verdict is Severity.GRAVE else ExitCode.CHECK_FAILED


TRACE = Command(
    (
        file_argument("file", "FILE", "the file that was found: a table or a bundle, also zipped"),
        BY_PROJECT,
        MEMORY,
        JSON,
        PASSPHRASE,
    ),
    _run_trace,
    ("sfumato trace found.csv --project clinic.sfumato",),
)
