"""Write a recipient's plan and its keys, for a cluster that never sees the project."""

from __future__ import annotations

from argparse import Namespace

from sfumato.commands.shared.command import (
    ACCEPT,
    PROJECT,
    Command,
    ExitCode,
    argument,
    file_argument,
    override_for,
)
from sfumato.commands.shared.opening import MEMORY, opened_by_parts
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Part


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.guarantee import row_order_caution
    from sfumato.analysis.readiness import accepted_for, settle
    from sfumato.project.release.key_file import make_plan

    name = arguments.recipient
    with opened_by_parts(arguments, terminal, 0.3, read_only=False) as (project, table, whole):
        cautions = row_order_caution(project.document)
        checked = settle(project, table, [name], arguments.accept, Part(whole, 0.0, 0.6))
        record = make_plan(
            project,
            table,
            name,
            arguments.out,
            arguments.keys,
            Part(whole, 0.6, 1.0),
            override=arguments.override,
            accepted=accepted_for(checked, name),
        )
    terminal.say(str(record.target))
    terminal.say(str(arguments.keys.absolute()))
    for caution in cautions:
        terminal.note(caution)
    terminal.note(
        "Whoever holds the key file can tell which released values are true: treat it like the"
        " data. The ledger counts the two files as a release."
    )
    return ExitCode.OK


COMMAND = Command(
    (
        *PROJECT,
        argument("--recipient", metavar="NAME", required=True, help="for whom"),
        file_argument("--out", "FILE", "the plan, which holds no secret", required=True),
        file_argument(
            "--keys",
            "FILE",
            "the keys of this plan alone; only you can read the file",
            required=True,
        ),
        override_for("release a column otherwise than before"),
        ACCEPT,
        MEMORY,
    ),
    _run,
    ('sfumato plan clinic.sfumato --recipient "Public file" --out plan.json --keys keys.bin',),
)
