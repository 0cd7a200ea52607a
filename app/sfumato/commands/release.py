"""Make a recipient's bundle and record it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from sfumato.analysis.guarantee import row_order_caution
from sfumato.commands.shared.command import Command, ExitCode, add_bundle, add_project, open_project
from sfumato.commands.shared.files import source_of
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Part
from sfumato.project.release.release import make_release
from sfumato.project.release.uniqueness import RELEASE_ADVICE, alone_in_release, release_sentence


def _add_arguments(parser: ArgumentParser) -> None:
    add_project(parser)
    parser.add_argument(
        "--recipient",
        action="append",
        required=True,
        metavar="NAME",
        help="for whom; may be given several times",
    )
    add_bundle(parser, "release a column otherwise than before")


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    recipients = arguments.recipient
    with open_project(arguments, terminal) as project, terminal.working() as context:
        cautions = row_order_caution(project.document)
        table = source_of(project, Part(context, 0.0, 0.15))
        alone = alone_in_release(project.document, table, Part(context, 0.15, 0.2))
        for position, recipient in enumerate(recipients):
            start = 0.2 + 0.8 * position / len(recipients)
            outcome = make_release(
                project,
                table,
                recipient,
                arguments.out,
                arguments.format,
                Part(context, start, start + 0.8 / len(recipients)),
                as_zip=arguments.zip,
                override=arguments.override,
                escape_formulas=not arguments.keep_formulas,
            )
            terminal.say(str(outcome.path))
    if alone is not None and alone.alone:
        terminal.note(release_sentence(alone))
        terminal.note(RELEASE_ADVICE)
    for caution in cautions:
        terminal.note(caution)
    return ExitCode.OK


COMMAND = Command(
    _add_arguments,
    _run,
    (
        'sfumato release clinic.sfumato --recipient "Public file" --out bundles',
        'sfumato release clinic.sfumato --recipient "Public file" --out bundles --format sav --zip',
    ),
)
