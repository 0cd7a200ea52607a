"""What is written can be read: looked at by the pixels that are drawn, not by the tokens alone."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QComboBox, QListWidget, QPlainTextEdit, QWidget

from sfumato.plots.style import contrast
from sfumato.ui.look.theme import Appearance, current_theme, themes
from sfumato.ui.panels.policy.lists import EntryList, Item
from sfumato.ui.widgets.fields import text_field
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading, TableView
from tests.ui.hands import on_screen

READABLE = 4.5
LOOKS = (Appearance.LIGHT, Appearance.DARK)


@pytest.fixture(params=LOOKS)
def look(request, themed):
    before = themes().appearance
    themes().set_appearance(request.param)
    yield request.param
    themes().set_appearance(before)


def drawn_contrast(widget: QWidget, part: QRect | None = None) -> float:
    """Return how much the strongest pixels of what is written stand out from their ground."""
    image = widget.grab(part or widget.rect()).toImage()
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(image.constBits(), np.uint8)
    rows = pixels.reshape(image.height(), image.bytesPerLine() // 4, 4)[:, : image.width(), 2::-1]
    inner = rows[4:-4, 10:-10].reshape(-1, 3)  # without the edge
    counted = Counter(f"#{r:02x}{g:02x}{b:02x}" for r, g, b in inner.tolist())
    ground = counted.most_common(1)[0][0]
    # The end of a stroke may be stronger by chance; four pixels are a stroke.
    strong = sorted((contrast(c, ground) for c, n in counted.items() for _ in range(min(n, 4))))
    return strong[-4]


def editable() -> QComboBox:
    made = QComboBox()
    made.setEditable(True)
    made.lineEdit().setPlaceholderText("Placeholder")
    return made


def plain() -> QPlainTextEdit:
    made = QPlainTextEdit()
    made.setPlaceholderText("Placeholder")
    return made


@pytest.mark.parametrize(
    "make", [lambda: text_field(hint="Placeholder"), plain, editable], ids=["line", "text", "combo"]
)
def test_placeholders_can_be_read(qtbot, look, make):
    assert drawn_contrast(on_screen(qtbot, make(), 220, 40)) >= READABLE


def test_the_note_of_a_selected_entry_can_be_read(qtbot, look):
    shown = on_screen(qtbot, EntryList(), 220, 160)
    shown.show_items([Item("ward", "Uniform retention", "check", "good")], "ward")
    area = shown.visualItemRect(shown.item(0))
    note = QRect(area.left(), area.center().y() + 2, area.width(), area.height() // 2 - 2)
    assert drawn_contrast(shown.viewport(), note) >= READABLE


def test_muted_cells_of_a_selected_row_can_be_read(qtbot, look):
    model = CellsModel([Heading("row"), Heading("value")])
    ink = current_theme().style.muted
    model.show_cells(2, lambda row, column: Cell("12345" * (column == 0), ink=ink))
    table = TableView()
    table.setModel(model)
    on_screen(qtbot, table, 320, 160)
    table.selectRow(0)
    assert drawn_contrast(table.viewport(), table.visualRect(model.index(0, 0))) >= READABLE


def test_a_chosen_line_of_a_list_can_be_read(qtbot, look):
    shown = on_screen(qtbot, QListWidget(), 220, 100)
    shown.addItems(["Releases", "Audit"])
    shown.setCurrentRow(0)
    area = shown.visualItemRect(shown.item(0))
    assert drawn_contrast(shown.viewport(), area) >= READABLE
