"""Write a report for the data-protection officer."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

from sfumato.commands.shared.command import Command, ExitCode, add_project, open_project
from sfumato.commands.shared.files import source_of
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Part
from sfumato.project.store.clock import utc_now
from sfumato.report.material import USUAL_THRESHOLD, Audience, ReportOptions, collect
from sfumato.report.sections import compose


def _add_arguments(parser: ArgumentParser) -> None:
    add_project(parser)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="the report: .html or .pdf"
    )
    parser.add_argument(
        "--for",
        dest="audience",
        choices=[audience.value for audience in Audience],
        default=Audience.INTERNAL.value,
        help="who may see it: your own house, or anyone (default: %(default)s)",
    )
    parser.add_argument(
        "--threshold",
        type=int,
        default=USUAL_THRESHOLD,
        metavar="COUNT",
        help="the smallest count of records that outsiders are shown (default: %(default)s)",
    )


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    # Late: every other command works without Qt's libraries.
    from PySide6.QtGui import QGuiApplication  # noqa: PLC0415

    from sfumato.report.drawing import draw  # noqa: PLC0415
    from sfumato.report.writing import picture_kind, write_report  # noqa: PLC0415
    from sfumato.ui.look.theme import load_fonts  # noqa: PLC0415

    kind = picture_kind(arguments.out)
    with (
        open_project(arguments, terminal, read_only=True) as project,
        terminal.working() as context,
    ):
        table = source_of(project, Part(context, 0.0, 0.3))
        material = collect(project, table, utc_now, Part(context, 0.3, 0.9))
    options = ReportOptions(Audience(arguments.audience), max(1, arguments.threshold))
    report = compose(material, options)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QGuiApplication.instance() or QGuiApplication(["sfumato"])
    load_fonts()
    write_report(report, [draw(picture, kind) for picture in report.pictures], arguments.out)
    del application  # it had to live as long as Qt laid out the pages
    terminal.say(str(arguments.out))
    return ExitCode.OK


COMMAND = Command(
    _add_arguments,
    _run,
    (
        "sfumato report clinic.sfumato --out report.pdf",
        "sfumato report clinic.sfumato --out outside.html --for outside --threshold 20",
    ),
)
