"""What a person does in the Data panel, and what its tables show."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from tests.ui.hands import click, settle

HEADINGS = Qt.Orientation.Horizontal


def shown(table, rows=None):
    """The texts of a table view, row by row."""
    model = table.model()
    count = model.rowCount() if rows is None else rows
    return [
        [model.index(row, column).data() for column in range(model.columnCount())]
        for row in range(count)
    ]


def headings(table):
    model = table.model()
    return [model.headerData(i, HEADINGS) for i in range(model.columnCount())]


def remarks(notes):
    """The remarks of a list and what was chosen, from the top."""
    found = []
    for place in range(notes.lines.count()):
        texts = notes.lines.itemAt(place).widget().findChildren(QLabel)
        found.append(" ".join(text.text() for text in texts))
    return found


def look_at(panel, qtbot, path):
    panel.open_file(path)
    settle(qtbot, panel.session)


def load(panel, qtbot, path):
    look_at(panel, qtbot, path)
    click(panel.load_button)
    settle(qtbot, panel.session)


def wait_for_preview(panel, qtbot, condition):
    qtbot.waitUntil(condition)
    settle(qtbot, panel.session)
