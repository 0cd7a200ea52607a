"""Markdown shown as a page to read: room between paragraphs, headings in the type scale."""

from __future__ import annotations

from typing import Final

from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFrameFormat,
    QTextTable,
)

from sfumato.plots.style import PlotStyle

HEADING_STEPS: Final = (2, 1, 0)
"""How much larger than the text the headings of the first three levels are, in Qt's steps: with
text of 13 pixels they have 20, 16 and 13."""

_LINE_HEIGHT: Final = 140.0
_AFTER_PARAGRAPH: Final = 12
_AFTER_ITEM: Final = 4
_BEFORE_HEADING: Final = 24
_AFTER_HEADING: Final = 8
_CELL: Final = 8


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
