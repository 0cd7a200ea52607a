"""A report as PDF, laid out by Qt's text engine, with page numbers."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QRectF, QSizeF, Qt, QUrl
from PySide6.QtGui import (
    QColor,
    QFont,
    QImage,
    QPageLayout,
    QPageSize,
    QPainter,
    QPdfWriter,
    QTextDocument,
)

from sfumato.report.blocks import Picture, Report
from sfumato.report.drawing import FONT, Drawn
from sfumato.report.html import body_of

DOTS_PER_INCH = 96
MARGIN_MILLIMETRES = 18.0
FOOT = 28.0
"""Pixels at the foot of a page, for its number."""

STYLE = """
h1 { font-size: 20px; margin: 0; }
h2 { font-size: 15px; margin-top: 22px; margin-bottom: 6px; }
p { margin-top: 5px; margin-bottom: 5px; }
.muted, .note { color: #6B7280; }
.note { font-size: 10px; }
.notice { color: #8A5A0B; }
.lead { font-size: 14px; }
table { margin-top: 5px; margin-bottom: 10px; font-size: 10px; }
th { color: #6B7280; }
"""


def to_pdf(report: Report, pictures: Sequence[Drawn]) -> bytes:
    """Return a report as PDF, A4. Needs a `QGuiApplication`.

    Qt tells nobody of a disk that is full, so it is given none.

    Parameters
    ----------
    report
        The report.
    pictures
        Its plots, in order.
    """
    content = QBuffer()
    content.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(content)
    writer.setTitle(report.title)
    writer.setCreator("Sfumato")
    writer.setResolution(DOTS_PER_INCH)
    margins = QMarginsF(*(MARGIN_MILLIMETRES,) * 4)
    writer.setPageLayout(
        QPageLayout(
            QPageSize(QPageSize.PageSizeId.A4),
            QPageLayout.Orientation.Portrait,
            margins,
            QPageLayout.Unit.Millimeter,
        )
    )
    page = QSizeF(writer.width(), writer.height() - FOOT)
    document = _laid_out(report, pictures, page)
    painter = QPainter()
    if not painter.begin(writer):
        raise RuntimeError("Qt paints no PDF")
    try:
        _paint(document, painter, writer, page, report.footer)
    finally:
        painter.end()
    made = bytes(content.data().data())
    if not made.rstrip().endswith(b"%%EOF"):
        raise RuntimeError("Qt left the PDF unfinished")
    return made


def _laid_out(report: Report, pictures: Sequence[Drawn], page: QSizeF) -> QTextDocument:
    document = QTextDocument()
    document.setDocumentMargin(0.0)
    fill(document, report, pictures, page.width())
    document.setPageSize(page)
    return document


def fill(document: QTextDocument, report: Report, pictures: Sequence[Drawn], width: float) -> None:
    """Put a report into a document of Qt's.

    Parameters
    ----------
    document
        Its former content goes.
    report
        The report.
    pictures
        Its plots as images, in order.
    width
        The widest that a plot may be, in pixels.
    """
    document.clear()
    font = QFont(FONT)
    font.setPixelSize(12)
    document.setDefaultFont(font)
    document.setDefaultStyleSheet(STYLE)

    def image(place: int, _picture: Picture) -> str:
        drawn = pictures[place]
        name = f"plot-{place}"
        document.addResource(
            QTextDocument.ResourceType.ImageResource, QUrl(name), drawn.image or QImage()
        )
        shown = min(width, drawn.width)
        height = drawn.height * shown / drawn.width
        return f'<p><img src="{name}" width="{shown:.0f}" height="{height:.0f}"></p>'

    document.setHtml(body_of(report, image))


def _paint(
    document: QTextDocument, painter: QPainter, writer: QPdfWriter, page: QSizeF, footer: str
) -> None:
    count = document.pageCount()
    font = QFont(FONT)
    font.setPixelSize(10)
    for number in range(count):
        if number:
            writer.newPage()
        top = number * page.height()
        painter.save()
        painter.translate(0.0, -top)
        document.drawContents(painter, QRectF(0.0, top, page.width(), page.height()))
        painter.restore()
        painter.setFont(font)
        painter.setPen(QColor("#6B7280"))
        foot = QRectF(0.0, page.height() + FOOT / 2, page.width(), FOOT / 2)
        painter.drawText(foot, int(Qt.AlignmentFlag.AlignLeft), footer)
        painter.drawText(foot, int(Qt.AlignmentFlag.AlignRight), f"{number + 1} / {count}")
