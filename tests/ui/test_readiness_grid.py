"""The table of recipients by risks, in little room."""

from __future__ import annotations

from sfumato.ui.panels.releases.readiness_card import _Grid
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading
from tests.ui.hands import on_screen


def test_recipients_names_have_as_many_lines_as_they_need(qtbot):
    names = ("A", "A study group of the region")
    model = CellsModel([Heading("Recipient")])
    grid = on_screen(qtbot, _Grid(model, "Recipients", None), 110, 300)
    model.show_cells(2, lambda row, _: Cell(names[row]))
    grid.fit()
    short, long = grid.rowHeight(0), grid.rowHeight(1)
    assert short < long
    assert grid.height() == grid.horizontalHeader().height() + short + long + 4
