"""The rows of a table and the profiles of its columns, however many there are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QItemSelectionModel, QModelIndex, QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document
from sfumato.ui.panels.data import loaded_page
from sfumato.ui.panels.data.profiles import describe, explain
from sfumato.ui.widgets.tables import FrameModel, TableView
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

    def test_ten_million_rows_are_on_screen_at_once(self, themed, qtbot):
        frame = pd.DataFrame({"a": np.broadcast_to(np.int8(7), 10_000_000)})
        view = TableView()
        qtbot.addWidget(view)
        view.setModel(FrameModel(frame))
        view.resize(300, 300)
        view.show()
        view.scrollToBottom()
        assert view.rowAt(view.viewport().height() - 20) == 9_999_999
        assert view.model().headerData(9_999_999, Qt.Orientation.Vertical) == "10\u202f000\u202f000"

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
        panel.session.open_table("Open", table, Document(columns=(ColumnSpec("a"),)))
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
        panel.session.open_table("Open", Table(frame), Document())
        settle(qtbot, panel.session)
        picture = panel.loaded.profiles.grab().toImage()
        assert not picture.isNull()
