from __future__ import annotations

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QImage, QTextCursor, QTextDocument, QTextTable
from PySide6.QtWidgets import QApplication

from sfumato.ui.dialogs.help import set_prose
from sfumato.ui.look.theme import current_theme, scaled

TEXT = """\
# Title

First paragraph.

## Part

- one
- two

| a | b |
|---|---|
| 1 | 2 |
"""


@pytest.fixture
def page(themed: QApplication) -> QTextDocument:
    made = QTextDocument()
    set_prose(made, TEXT, current_theme().style)
    return made


def blocks(page: QTextDocument) -> dict[str, QTextCursor]:
    found, block = {}, page.begin()
    while block.isValid():
        found[block.text()] = QTextCursor(block)
        block = block.next()
    return found


def steps(cursor: QTextCursor) -> int:
    cursor.movePosition(QTextCursor.MoveOperation.NextCharacter)
    shape = cursor.charFormat()
    return int(shape.property(shape.Property.FontSizeAdjustment.value) or 0)


def test_headings_are_larger_by_level(page):
    found = blocks(page)
    assert steps(found["Title"]) > steps(found["Part"]) > steps(found["First paragraph."]) == 0


def test_paragraphs_and_lists_have_room_below(page):
    found = blocks(page)
    below = {text: cursor.blockFormat().bottomMargin() for text, cursor in found.items()}
    assert below["First paragraph."] == below["two"] > below["one"] > 0


def test_tables_have_thin_rules_of_the_theme(page):
    (table,) = [f for f in page.rootFrame().childFrames() if isinstance(f, QTextTable)]
    assert table.format().border() == 1
    assert table.format().borderBrush().color().name() == current_theme().style.line.lower()


def test_a_wide_picture_takes_the_width_of_the_text_and_no_more_height_than_it_has(themed):
    drawn = QImage(2_000, 500, QImage.Format.Format_RGB32)
    made = QTextDocument()
    made.addResource(QTextDocument.ResourceType.ImageResource.value, QUrl("wide.png"), drawn)
    set_prose(made, "![What is seen in it](wide.png)", current_theme().style)
    made.setDocumentMargin(0)
    size = made.documentLayout().blockBoundingRect(made.begin())
    assert made.idealWidth() <= scaled(640) + 1
    assert size.height() < scaled(640) / 4 + 40
