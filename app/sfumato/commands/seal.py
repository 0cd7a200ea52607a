"""Say whether a project was changed outside Sfumato; accept it as it stands."""

from __future__ import annotations

from argparse import Namespace
from typing import Final

from sfumato.commands.shared.command import PROJECT, Command, ExitCode, option
from sfumato.commands.shared.terminal import Terminal
from sfumato.formats.language import said, worded

_SEALED: Final = "The project matches its seal."
_ADVICE: Final = (
    "Inspect it first with sfumato rules, recipients and ledger. If you have a copy from before"
    " the change, use that; --accept REASON accepts the project as it stands."
)


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.project_file import ProjectFile

    passphrase = terminal.passphrase(arguments.passphrase_fd)
    reason = arguments.accept.strip()
    with ProjectFile.open(arguments.project, passphrase, read_only=True) as project:
        tampering = project.tampering
    if not reason or tampering is None:
        for finding in () if tampering is None else tampering.findings:
            terminal.say(f"{finding.part.value}: {said(finding.what)}")
        terminal.note(_SEALED if tampering is None else _ADVICE)
        return ExitCode.OK if tampering is None else ExitCode.CHECK_FAILED
    with ProjectFile.open(arguments.project, passphrase, accepting=reason) as project:
        for finding in project.accepted:
            terminal.say(worded("accepted: {what}", what=said(finding.what)))
    terminal.note(worded("The project is sealed as it stands, and its ledger says so."))
    return ExitCode.OK


COMMAND = Command(
    (
        *PROJECT,
        option(
            "--accept",
            "REASON",
            "accept the project as it stands although it does not match its seal; the ledger"
            " keeps the reason and the findings",
            default="",
        ),
    ),
    _run,
    (
        "sfumato seal clinic.sfumato",
        'sfumato seal clinic.sfumato --accept "Restored from the backup of 3 March"',
    ),
)
