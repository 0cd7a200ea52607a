"""The rows of a table and the profiles of its columns, however many there are."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    Qt,
)
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.data import loaded_page
from sfumato.ui.panels.data.loaded_page import describe, explain
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.widgets.paint_queue import turns
from sfumato.ui.widgets.sheets import SheetView, sheet_rows, typed_number
from sfumato.ui.widgets.tables import (
    COPIED_CELLS,
    Cell,
    CellsModel,
    FrameModel,
    Heading,
    TableView,
)
from tests.in_batches import in_batches
from tests.ui.data_steps import load, shown
from tests.ui.hands import settle


@pytest.fixture
def panel(data_panel):
    return data_panel


class TestRows:
    def test_the_rows_are_shown_as_they_are(self, panel, qtbot, clinic):
        load(panel, qtbot, clinic)
        rows = shown(panel.loaded.table)
        assert rows[0] == ["p1", "34", "north", "flu"]
        assert rows[4][3] == "–"
        assert "6 records, 4 columns" in panel.loaded.about.text()

    def test_a_click_on_a_heading_sorts(self, panel, qtbot, clinic):
        load(panel, qtbot, clinic)
        header = panel.loaded.table.horizontalHeader()
        header.setSortIndicator(1, Qt.SortOrder.AscendingOrder)
        ages = [row[1] for row in shown(panel.loaded.table)]
        assert ages == sorted(ages)
        header.setSortIndicator(3, Qt.SortOrder.DescendingOrder)
        assert [row[3] for row in shown(panel.loaded.table)][-1] == "–"
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        assert shown(panel.loaded.table)[0][0] == "p1"

    def test_large_tables_are_sorted_in_a_job(self, panel, qtbot, clinic, monkeypatch):
        monkeypatch.setattr(loaded_page, "SORTED_AT_ONCE", 2)
        load(panel, qtbot, clinic)
        panel.loaded.table.horizontalHeader().setSortIndicator(1, Qt.SortOrder.DescendingOrder)
        settle(qtbot, panel.session)
        assert shown(panel.loaded.table)[0][1] == "62"

    def test_cells_are_copied_as_tab_separated_text(self, panel, qtbot, clinic):
        load(panel, qtbot, clinic)
        table = panel.loaded.table
        table.setFocus()
        table.selectRow(1)
        QTest.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
        assert QGuiApplication.clipboard().text() == "p2\t51\tnorth\tasthma"

    def test_all_cells_are_copied_as_they_are_shown_in_the_order_of_the_view(self, themed, qtbot):
        frame = pd.DataFrame(
            {
                "sex": [1, 2, 3],
                "weight": [70.25, None, 55.0],
                "seen": pd.to_datetime(["2025-01-01 00:00", None, "2025-01-02 10:00"]),
                "ward": pd.Categorical(["north", "south", None]),
            }
        )
        view = TableView()
        qtbot.addWidget(view)
        view.setModel(FrameModel(frame, {"sex": {1: "male"}}))
        view.model().sort(0, Qt.SortOrder.DescendingOrder)
        view.selectAll()
        assert view.copy()
        lines = QGuiApplication.clipboard().text().splitlines()
        assert [line.split("\t") for line in lines] == shown(view)
        assert lines[2] == "male\t70.25\t2025-01-01\tnorth"

    def test_too_many_cells_are_not_copied(self, themed, qtbot):
        view = TableView()
        qtbot.addWidget(view)
        view.setModel(FrameModel(pd.DataFrame({"a": range(COPIED_CELLS + 1)})))
        QGuiApplication.clipboard().setText("before")
        view.selectAll()
        assert not view.copy()
        assert QGuiApplication.clipboard().text() == "before"
        view.clearSelection()
        view.setCurrentIndex(view.model().index(3, 0))
        assert view.copy()
        assert QGuiApplication.clipboard().text() == "3"

    def test_no_cell_out_of_sight_is_asked_for_anything_when_all_are_selected(self, themed, qtbot):
        """Headers that show a selection ask for each cell's flags whenever they are painted."""
        asked = Counter()

        class Asked(FrameModel):
            def flags(self, index):
                asked[index.row()] += 1
                return super().flags(index)

        view = TableView()
        qtbot.addWidget(view)
        view.setModel(Asked(pd.DataFrame({"a": range(5000), "b": range(5000)})))
        view.resize(300, 300)
        view.show()
        view.selectAll()
        view.grab()
        assert asked
        assert max(asked) < 20
        assert len(view.selectionModel().selectedColumns()) == 2

    def test_ten_million_rows_are_on_screen_at_once(self, themed, qtbot):
        frame = pd.DataFrame({"a": np.broadcast_to(np.int8(7), 10_000_000)})
        view = TableView()
        qtbot.addWidget(view)
        view.setModel(FrameModel(frame))
        view.resize(300, 300)
        view.show()
        view.scrollToBottom()
        assert view.rowAt(view.viewport().height() - 20) == 9_999_999
        assert view.model().headerData(9_999_999, Qt.Orientation.Vertical) == "10,000,000"

    def test_nothing_is_left_of_what_a_table_showed_before(self, themed, qtbot):
        view = TableView()
        qtbot.addWidget(view)
        left = []
        for rows in range(5):
            model = FrameModel(pd.DataFrame({"a": range(rows)}))
            model.setParent(view)
            view.setModel(model)
            view.setModel(None)
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
            left.append(len(view.findChildren(QObject)))
        assert left == left[:1] * 5
        assert len(view.findChildren(QItemSelectionModel)) == 1
        assert not view.findChildren(FrameModel)

    def test_labels_of_statistical_files_are_shown(self, themed, qtbot):
        frame = pd.DataFrame({"sex": [1, 2, 3]})
        model = FrameModel(frame, {"sex": {1: "male", 2: "female"}})
        assert [model.index(row, 0).data() for row in range(3)] == ["male", "female", "3"]
        assert model.index(0, 0).data(Qt.ItemDataRole.ToolTipRole) == "1"

    def test_the_model_keeps_qts_rules(self, themed, qtmodeltester):
        frame = pd.DataFrame({"a": [1.5, None], "b": pd.to_datetime(["2025-01-01", None])})
        model = FrameModel(frame)
        qtmodeltester.check(model)
        assert model.rowCount(QModelIndex()) == 2


class TestProfiles:
    def test_each_column_has_a_profile_in_a_line(self, panel, qtbot, clinic):
        load(panel, qtbot, clinic)
        model = panel.loaded.profiles.model()
        assert model.rowCount() == 4
        insight = panel.session.insight()
        assert describe(insight.by_name["age"]).startswith("whole number · all different")
        assert "17 % missing" in describe(insight.by_name["disease"])
        assert "mean" in explain(insight.by_name["age"])
        assert "flu" in explain(insight.by_name["disease"])

    def test_choosing_a_profile_brings_its_column_into_sight(self, panel, qtbot, clinic):
        load(panel, qtbot, clinic)
        profiles = panel.loaded.profiles
        profiles.setCurrentIndex(profiles.model().index(3, 0))
        assert panel.loaded.table.currentIndex().column() == 3

    def test_a_table_from_elsewhere_is_profiled_in_a_job(self, panel, qtbot):
        table = Table(pd.DataFrame({"a": [1, 1, 2]}))
        panel.session.open_table(
            "Open", SurveyedTable.of(in_batches(table)), Document(columns=(ColumnSpec("a"),))
        )
        settle(qtbot, panel.session)
        assert panel.loaded.side.currentWidget() is panel.loaded.profiles

    def test_the_list_draws_every_kind_of_column(self, panel, qtbot):
        frame = pd.DataFrame(
            {
                "number": np.arange(50.0),
                "one": 1,
                "date": pd.date_range("2025-01-01", periods=50),
                "text": ["a", "b"] * 25,
                "nothing": pd.Series([None] * 50, dtype="string"),
                "yes": [True, False] * 25,
            }
        )
        panel.session.open_table("Open", SurveyedTable.of(in_batches(Table(frame))), Document())
        settle(qtbot, panel.session)
        picture = panel.loaded.profiles.grab().toImage()
        assert not picture.isNull()


class Prices(CellsModel):
    """Two columns, of which the second can be typed into."""

    def __init__(self):
        super().__init__([Heading("What"), Heading("Price", "In euros", right=True, editable=True)])
        self.prices = ["1", "2", "x", "4"]
        self.written.connect(self.take)
        self.lay_out(4, names=[Heading(name) for name in "abcd"])

    def cell(self, row, column):
        text = self.prices[row] if column else "abcd"[row]
        wrong = bool(column) and not text.isdigit()
        return Cell(text, "no number" if wrong else "", icon="danger" if wrong else "")

    def take(self, texts):
        for (row, _column), text in texts.items():
            self.prices[row] = text
        self.repaint()


class TestSheet:
    @pytest.fixture
    def sheet(self, qtbot):
        made = SheetView(Prices(), blank="0")
        qtbot.addWidget(made)
        made.show()
        return made

    @staticmethod
    def choose(sheet, first, last):
        sheet.setCurrentIndex(sheet.model().index(*first))
        chosen = QItemSelection(sheet.model().index(*first), sheet.model().index(*last))
        sheet.selectionModel().select(chosen, QItemSelectionModel.SelectionFlag.ClearAndSelect)

    def test_the_model_keeps_qt_s_contract(self, qtmodeltester):
        qtmodeltester.check(Prices())

    def test_cells_say_what_they_are(self, sheet):
        model = sheet.model()
        assert model.index(2, 1).data(Qt.ItemDataRole.ToolTipRole) == "no number"
        assert model.index(2, 1).data(Qt.ItemDataRole.DecorationRole) is not None
        assert model.headerData(1, Qt.Orientation.Horizontal) == "Price"
        assert model.headerData(3, Qt.Orientation.Vertical) == "d"
        assert not model.index(0, 0).flags() & Qt.ItemFlag.ItemIsEditable

    def test_typing_goes_to_every_selected_cell_that_can_be_edited(self, qtbot, sheet):
        self.choose(sheet, (1, 0), (2, 1))
        sheet.edit(sheet.model().index(1, 1))
        qtbot.keyClicks(sheet.findChild(QLineEdit), "7")
        qtbot.keyClick(sheet.findChild(QLineEdit), Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: sheet.model().prices != ["1", "2", "x", "4"])
        assert sheet.model().prices == ["1", "7", "7", "4"]

    def test_the_keys_of_a_spreadsheet_fill_clear_and_paste(self, qtbot, sheet):
        self.choose(sheet, (1, 1), (3, 1))
        qtbot.keyClick(sheet, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
        assert sheet.model().prices == ["1", "2", "2", "2"]
        qtbot.keyClick(sheet, Qt.Key.Key_Delete)
        assert sheet.model().prices == ["1", "0", "0", "0"]
        QGuiApplication.clipboard().setText("5\t6")
        with qtbot.waitSignal(sheet.pasted) as pasted:
            qtbot.keyClick(sheet, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
        assert sheet_rows(pasted.args[0]) == [["5", "6"]]

    @pytest.mark.parametrize(
        ("text", "number"), [("0,5", 0.5), ("40 %", 0.4), ("1\u202f000", 1000.0), ("-2", -2.0)]
    )
    def test_numbers_are_read_as_people_type_them(self, text, number):
        assert typed_number(text) == pytest.approx(number)
        assert np.isnan(typed_number("many"))


def test_rows_of_two_lines_keep_room_above_and_below(qtbot):
    view = TableView()
    qtbot.addWidget(view)
    view.show_frame(pd.DataFrame({"levels": ["one line", "one line\nand another"]}))
    view.wrap_rows()
    view.resize(400, 200)
    view.show()
    view.setColumnWidth(0, 200)
    line = view.fontMetrics().height()
    assert view.rowHeight(0) == Space.FIELD
    assert view.rowHeight(1) >= 2 * line + Space.INSIDE


class Wide(CellsModel):
    """A column for each of very many recipients, which counts what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = set()
        self.lay_out(30, [Heading(f"Office {number}") for number in range(3_000)])

    def cell(self, row, column):
        self.asked.add(column)
        return Cell(f"{row} {column}")


def test_of_thousands_of_columns_the_first_are_measured_for_all(qtbot):
    view = TableView(model=Wide(), name="wide")
    qtbot.addWidget(view)
    view.fit_columns()
    assert max(view.model().asked) < 30, "the others wait for their turns: the window answers"
    turns().finish()
    assert 30 < max(view.model().asked) < 300
    assert view.columnWidth(2_999) >= view.columnWidth(0) > 0


def test_columns_that_wait_to_be_measured_are_dropped_with_their_model(qtbot):
    view = TableView(name="wide")
    qtbot.addWidget(view)
    view.show_frame(pd.DataFrame({f"v{number}": [number] for number in range(100)}))
    assert turns().waits(view)
    narrow = view.show_frame(pd.DataFrame({"a": ["a word that takes some room"], "b": ["b"]}))
    assert not turns().waits(view)
    turns().finish()
    assert view.columnWidth(0) > view.columnWidth(1)
    assert narrow.headerData(1, Qt.Orientation.Horizontal) == "b"
