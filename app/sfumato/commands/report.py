"""Write a report for the data-protection officer."""

from __future__ import annotations

import os
from argparse import Namespace

from sfumato.commands.shared.command import PROJECT, Command, ExitCode, argument, file_argument
from sfumato.commands.shared.opening import MEMORY, opened_by_parts
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Part

AUDIENCES = ("internal", "outside")
THRESHOLD = 10


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from PySide6.QtGui import QGuiApplication

    from sfumato.project.store.files import utc_now
    from sfumato.report.material import Audience, ReportOptions, collect, why_reported_whole
    from sfumato.report.sections import compose
    from sfumato.report.writing import draw, picture_kind, write_report
    from sfumato.ui.look.theme import load_fonts

    kind = picture_kind(arguments.out)
    reading = opened_by_parts(arguments, terminal, 0.3, why_whole=why_reported_whole)
    with reading as (project, table, context):
        material = collect(project, table, utc_now, Part(context, 0.0, 0.9))
    options = ReportOptions(Audience(arguments.audience), max(1, arguments.threshold))
    report = compose(material, options)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QGuiApplication.instance() or QGuiApplication(["sfumato"])
    load_fonts()
    write_report(report, [draw(picture, kind) for picture in report.pictures], arguments.out)
    del application  # it had to live as long as Qt laid out the pages
    terminal.say(str(arguments.out))
    return ExitCode.OK


REPORT = Command(
    (
        *PROJECT,
        file_argument("--out", "FILE", "the report: .html or .pdf", required=True),
        argument(
            "--for",
            dest="audience",
            choices=AUDIENCES,
            default=AUDIENCES[0],
            help="who may see it: your own house, or anyone (default: %(default)s)",
        ),
        argument(
            "--threshold",
            type=int,
            default=THRESHOLD,
            metavar="COUNT",
            help="the smallest count of records that outsiders are shown (default: %(default)s)",
        ),
        MEMORY,
    ),
    _run,
    (
        "sfumato report clinic.sfumato --out report.pdf",
        "sfumato report clinic.sfumato --out outside.html --for outside --threshold 20",
    ),
)
