"""Markdown in the window's look."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QUrl
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QImage,
    QPixmap,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFrameFormat,
    QTextTable,
)
from PySide6.QtWidgets import QTextBrowser

from sfumato.plots.style import PlotStyle
from sfumato.ui.look.theme import scaled

HEADING_STEPS: Final = (2, 1, 0)
"""How much larger than the text the headings of the first three levels are, in Qt's steps: with
text of 13 pixels they have 20, 16 and 13."""

_LINE_HEIGHT: Final = 140.0
_AFTER_PARAGRAPH: Final = 12
_AFTER_ITEM: Final = 4
_BEFORE_HEADING: Final = 24
_AFTER_HEADING: Final = 8
_CELL: Final = 8
_IMAGE: Final = QTextDocument.ResourceType.ImageResource.value
_PICTURE: Final = 640
"""Pictures are drawn no wider; pixels at scale 1."""
_PICTURES: Final[dict[tuple[str, ...], QImage | QPixmap]] = {}
"""Pictures by their name and where they are looked for; there are few."""


def set_prose(document: QTextDocument, markdown: str, style: PlotStyle) -> None:
    """Fill a document with Markdown in the window's look.

    Parameters
    ----------
    document
        What is filled; what was in it is gone.
    markdown
        The text.
    style
        The theme's colours.
    """
    document.setDefaultStyleSheet(
        f"a {{ color: {style.accent}; }} code {{ color: {style.accent}; }}"
    )
    document.setMarkdown(markdown)
    block = document.begin()
    while block.isValid():
        _space(block)
        _fit_picture(document, block)
        block = block.next()
    for frame in document.rootFrame().childFrames():
        if isinstance(frame, QTextTable):
            _rule(frame, style)


def _space(block: QTextBlock) -> None:
    """Give a block its margins, and a heading its size."""
    given = block.blockFormat()
    level = given.headingLevel()
    in_table = QTextCursor(block).currentTable() is not None
    wanted = QTextBlockFormat()
    wanted.setLineHeight(_LINE_HEIGHT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    if level:
        wanted.setTopMargin(_BEFORE_HEADING if level > 1 else 0)
        wanted.setBottomMargin(_AFTER_HEADING)
    elif not in_table:
        last = block.textList() is None or block.next().textList() is not block.textList()
        wanted.setBottomMargin(_AFTER_PARAGRAPH if last else _AFTER_ITEM)
    cursor = QTextCursor(block)
    cursor.mergeBlockFormat(wanted)
    if level:
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        cursor.mergeCharFormat(_heading(level))


def _fit_picture(document: QTextDocument, block: QTextBlock) -> None:
    """Give a picture the width of the text, and its line no more height than it has."""
    parts = block.begin()
    while not parts.atEnd():
        part = parts.fragment()
        if part.charFormat().isImageFormat():
            look = part.charFormat().toImageFormat()
            drawn = _picture(document, look.name())
            if isinstance(drawn, QImage | QPixmap) and drawn.width() > scaled(_PICTURE):
                look.setWidth(scaled(_PICTURE))
            cursor = QTextCursor(document)
            cursor.setPosition(part.position())
            cursor.setPosition(part.position() + part.length(), QTextCursor.MoveMode.KeepAnchor)
            cursor.setCharFormat(look)
            single = QTextBlockFormat()
            single.setLineHeight(0, QTextBlockFormat.LineHeightTypes.SingleHeight.value)
            cursor.mergeBlockFormat(single)
            return
        parts += 1


def _picture(document: QTextDocument, name: str) -> object:
    """Return a picture, decoded once: a page is written again with each letter of a search."""
    browser = document.parent()
    places = browser.searchPaths() if isinstance(browser, QTextBrowser) else []
    known = _PICTURES.get((name, *places))
    if known is None:
        known = document.resource(_IMAGE, QUrl(name))
        if isinstance(known, QImage | QPixmap):
            _PICTURES[(name, *places)] = known
    else:
        document.addResource(_IMAGE, QUrl(name), known)
    return known


def _heading(level: int) -> QTextCharFormat:
    letters = QTextCharFormat()
    letters.setProperty(
        QTextCharFormat.Property.FontSizeAdjustment.value,
        HEADING_STEPS[min(level, len(HEADING_STEPS)) - 1],
    )
    letters.setFontWeight(QFont.Weight.DemiBold)
    return letters


def _rule(table: QTextTable, style: PlotStyle) -> None:
    """Draw a table with thin rules and room in its cells."""
    look = table.format()
    look.setBorder(1)
    look.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    look.setBorderBrush(QBrush(QColor(style.line)))
    look.setBorderCollapse(True)
    look.setCellPadding(_CELL)
    look.setCellSpacing(0)
    look.setBottomMargin(_AFTER_PARAGRAPH)
    table.setFormat(look)
