"""The Attributes panel: roles, kinds, domains, bins, and what records are known by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractScrollArea, QApplication

from sfumato.engine.core.columns import Domain, Kind, MissingRule, Role, names_of
from sfumato.engine.table.profile import BinWidths
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.ui.panels.attributes.columns import KIND, ROLE
from sfumato.ui.panels.attributes.domain import RECORDS, SHOWN, VALUE
from sfumato.ui.panels.attributes.panel import AttributesPanel
from sfumato.ui.panels.base import PanelState
from sfumato.ui.state import insights as attribute_cache
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.widgets.fields import ChoiceField
from tests.in_batches import in_batches
from tests.proposed import proposed_columns
from tests.ui.hands import choose, click, messages, on_screen, settle, type_into

ROWS = 60


def people():
    rows = np.arange(ROWS)
    disease = np.array(["flu", "asthma", "diabetes"])[rows % 3]
    disease = pd.Series(pd.Categorical(disease))
    disease[ROWS - 1] = np.nan
    return Table(
        pd.DataFrame(
            {
                "patient": [f"p{row}" for row in rows],
                "age": 20 + rows % 40,
                "disease": disease,
                "visits": rows % 4,
                "admitted": pd.date_range("2025-01-01", periods=ROWS),
            }
        )
    )


@pytest.fixture
def panel(session, qtbot):
    return on_screen(qtbot, AttributesPanel(session), 900, 700)


@pytest.fixture
def open_people(panel, qtbot):
    table = people()
    document = Document(title="people", columns=proposed_columns(table))
    panel.session.open_table("Open people", SurveyedTable.of(in_batches(table)), document)
    settle(qtbot, panel.session)
    return panel


def spec(panel, name):
    return panel.session.document.column(name)


def mark(panel, name, role):
    panel.choose(name)
    choose(panel.detail.role, role)


def values(panel):
    model = panel.detail.domain.model
    return [model.index(row, VALUE).data() for row in range(model.rowCount())]


def records(panel):
    model = panel.detail.domain.model
    return [model.index(row, RECORDS).data() for row in range(model.rowCount())]


def in_bins(panel, qtbot):
    """Divide the ages into the bins that are proposed, and return their editor."""
    panel.choose("age")
    click(panel.detail.bins.use)
    settle(qtbot, panel.session)
    return panel.detail.bins


class TestRoles:
    def test_without_a_table_the_panel_says_what_comes_first(self, panel, qtbot):
        assert panel.state() is PanelState.EMPTY
        assert panel.pages.currentWidget() is panel.empty
        with qtbot.waitSignal(panel.session.panel_requested) as heard:
            click(panel.empty.findChild(type(panel.next)))
        assert heard.args == ["data"]

    def test_every_column_is_listed_with_its_proposal_and_the_reason_is_told(self, open_people):
        assert open_people.chosen == ["disease"], "what may be sensitive comes into sight first"
        model = open_people.model
        names = [model.index(row, 0).data() for row in range(model.rowCount())]
        assert names == ["patient", "age", "disease", "visits", "admitted"]
        assert model.index(0, ROLE).data() == "Identifying"
        assert model.index(4, KIND).data() == "Dates"
        assert open_people.state() is PanelState.IN_PROGRESS
        assert "keep private" in open_people.detail.reason.text()
        open_people.choose("patient")
        assert open_people.detail.reason.text().startswith("Proposed: ")

    def test_a_number_that_nearly_every_row_has_for_itself_is_marked(self, panel, qtbot):
        score = np.random.default_rng(1).normal(50.0, 10.0, ROWS)
        table = Table(pd.DataFrame({"score": score, "sex": ["f", "m"] * (ROWS // 2)}))
        panel.session.open_table(
            "Open", SurveyedTable.of(in_batches(table)), Document(columns=proposed_columns(table))
        )
        settle(qtbot, panel.session)
        score_row = panel.model.row_of("score")
        assert "whoever knows it finds the record" in panel.model.hint(score_row)
        panel.choose("score")
        assert panel.detail.reason.text().startswith("Nearly every row has a value of its own")
        mark(panel, "score", Role.IDENTIFYING)
        assert not panel.model.hint(score_row)

    def test_a_role_is_given_to_all_columns_proposed_for_the_same_reason(self, panel, qtbot):
        amounts = np.random.default_rng(1).lognormal(9, 1, (3, ROWS)).round()
        frame = pd.DataFrame(dict(zip(["turnover", "profit", "assets"], amounts, strict=True)))
        table = Table(frame.assign(sex=["f", "m"] * (ROWS // 2)))
        panel.session.open_table(
            "Open", SurveyedTable.of(in_batches(table)), Document(columns=proposed_columns(table))
        )
        settle(qtbot, panel.session)
        mark(panel, "profit", Role.SENSITIVE)
        assert panel.detail.alike.text() == "Mark 2 more as sensitive: same reason"
        click(panel.detail.alike)
        assert names_of(panel.session.document.columns, Role.SENSITIVE) == tuple(frame)
        assert not panel.detail.alike.isVisible()
        panel.session.undo()
        assert names_of(panel.session.document.columns, Role.SENSITIVE) == ("profit",)

    def test_the_offer_of_the_same_role_is_no_wider_than_the_page(self, panel, qtbot):
        amounts = np.random.default_rng(1).lognormal(9, 1, (2, ROWS)).round()
        names = [
            "turnover",
            "profit before taxes, interest, depreciation and amortization of goodwill",
        ]
        frame = pd.DataFrame(dict(zip(names, amounts, strict=True)))
        table = Table(frame.assign(sex=["f", "m"] * (ROWS // 2)))
        panel.session.open_table(
            "Open", SurveyedTable.of(in_batches(table)), Document(columns=proposed_columns(table))
        )
        settle(qtbot, panel.session)
        mark(panel, "turnover", Role.SENSITIVE)
        QApplication.processEvents()
        alike = panel.detail.alike
        assert "…" in alike.text()
        assert names[1] in alike.toolTip()
        assert names[1] in alike.accessibleName()
        card = alike.parentWidget()
        assert alike.geometry().right() <= card.width()
        bars = [area.horizontalScrollBar() for area in panel.findChildren(QAbstractScrollArea)]
        sideways = [bar for bar in bars if bar.isVisible() and bar.maximum()]
        assert not any(bar.parent().parent().isAncestorOf(alike) for bar in sideways)

    def test_a_role_is_given_beside_the_list_and_the_primary_button_leads_on(
        self, open_people, qtbot
    ):
        mark(open_people, "disease", Role.SENSITIVE)
        session = open_people.session
        assert spec(open_people, "disease").role is Role.SENSITIVE
        assert session.undo_text == "Mark “disease” as sensitive"
        assert open_people.state() is PanelState.DONE
        with qtbot.waitSignal(session.panel_requested) as heard:
            click(open_people.next)
        assert heard.args == ["policy"]
        session.undo()
        assert open_people.state() is PanelState.IN_PROGRESS
        assert open_people.detail.role.value is Role.QUASI_IDENTIFIER

    def test_a_role_is_given_in_the_list_by_the_keyboard(self, open_people, qtbot):
        table = open_people.table
        open_people.choose("disease")
        table.setFocus()
        QTest.keyClick(table, Qt.Key.Key_F2)
        editor = table.viewport().findChild(ChoiceField)
        popup = editor.view()
        qtbot.waitUntil(popup.isVisible)
        QTest.keyClick(popup, Qt.Key.Key_Down)
        QTest.keyClick(popup, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: not popup.isVisible())
        assert spec(open_people, "disease").role is Role.SENSITIVE

    def test_a_role_chosen_in_a_list_that_was_put_away_changes_nothing(
        self, open_people, qtbot, qtlog
    ):
        table = open_people.table
        open_people.choose("disease")
        table.setFocus()
        QTest.keyClick(table, Qt.Key.Key_F2)
        editor = table.viewport().findChild(ChoiceField)
        qtbot.waitUntil(editor.view().isVisible)
        before = spec(open_people, "disease")
        open_people.model.beginResetModel()
        open_people.model.endResetModel()
        editor.chosen.emit(Role.SENSITIVE)
        assert spec(open_people, "disease") == before
        assert not any("does not belong" in record.message for record in qtlog.records)

    def test_a_click_on_a_kind_offers_the_kinds_that_fit(self, open_people, qtbot):
        table = open_people.table
        index = open_people.model.index(open_people.model.row_of("age"), KIND)
        QTest.mouseClick(
            table.viewport(), Qt.MouseButton.LeftButton, pos=table.visualRect(index).center()
        )
        editor = table.viewport().findChild(ChoiceField)
        assert [editor.itemText(i) for i in range(editor.count())] == ["Categories", "Numbers"]
        editor.hidePopup()

    def test_several_columns_get_a_role_together(self, open_people):
        flags = QItemSelectionModel.SelectionFlag
        selection = open_people.table.selectionModel()
        for row in (1, 3):
            selection.select(open_people.model.index(row, 0), flags.Select | flags.Rows)
        assert open_people.detail.title.text() == "3 columns"
        choose(open_people.detail.role, Role.INSENSITIVE)
        roles = {name: spec(open_people, name).role for name in ("age", "disease", "visits")}
        assert set(roles.values()) == {Role.INSENSITIVE}
        assert open_people.session.undo_text == "Mark 3 columns as insensitive"

    def test_a_policy_goes_with_the_role_it_was_for(self, open_people):
        mark(open_people, "disease", Role.SENSITIVE)
        session = open_people.session
        entry = PolicyEntry(("disease",), "uniform")
        person = Recipient("A", {"disease": {"retention_probability": 0.3}})
        session.edit("Policy", replace(session.document, policy=(entry,), recipients=(person,)))
        mark(open_people, "disease", Role.INSENSITIVE)
        assert session.document.policy == ()
        assert session.document.recipients == (Recipient("A"),)


class TestDomains:
    def test_values_that_occur_are_fixed_and_others_are_added_and_removed(self, open_people):
        mark(open_people, "disease", Role.SENSITIVE)
        assert spec(open_people, "disease").domain == Domain(("asthma", "diabetes", "flu", None))
        assert values(open_people) == ["asthma", "diabetes", "flu", "(missing)"]
        assert records(open_people) == ["20", "19", "20", "1"]
        editor = open_people.detail.domain
        type_into(editor.new_value, "measles")
        QTest.keyClick(editor.new_value, Qt.Key.Key_Return)
        assert values(open_people) == ["asthma", "diabetes", "flu", "measles", "(missing)"]
        assert records(open_people)[3] == "none"
        assert editor.new_value.text() == ""
        editor.view.selectRow(3)
        click(editor.remove)
        assert values(open_people) == ["asthma", "diabetes", "flu", "(missing)"]
        editor.view.selectRow(0)
        assert not editor.remove.isEnabled()
        assert "records have" in editor.remove.toolTip()
        before = spec(open_people, "disease")
        type_into(editor.new_value, "flu")
        click(editor.add_button)
        assert editor.problem.isVisible()
        assert spec(open_people, "disease") == before
        type_into(editor.new_value, "measles")
        click(editor.add_button)
        assert not editor.problem.isVisible()

    def test_values_are_put_in_order_and_shown_by_other_names(self, open_people):
        mark(open_people, "disease", Role.SENSITIVE)
        editor = open_people.detail.domain
        editor.view.selectRow(2)
        click(editor.up)
        assert values(open_people)[:3] == ["asthma", "flu", "diabetes"]
        QTest.keyClick(editor.view, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
        assert values(open_people)[:3] == ["asthma", "diabetes", "flu"]
        click(editor.sort)
        assert values(open_people) == ["asthma", "diabetes", "flu", "(missing)"]
        model = open_people.detail.domain.model
        model.setData(model.index(2, SHOWN), "Influenza")
        assert spec(open_people, "disease").domain.names[2] == "Influenza"
        assert model.index(2, VALUE).data() == "flu"
        model.setData(model.index(2, SHOWN), "")
        assert spec(open_people, "disease").domain.labels == {}

    def test_values_taken_from_the_rows_are_said_to_be_until_confirmed(self, open_people):
        mark(open_people, "disease", Role.SENSITIVE)
        editor = open_people.detail.domain
        assert spec(open_people, "disease").from_rows
        assert editor.confirm.isVisible()
        editor.view.selectRow(2)
        click(editor.up)
        assert editor.confirm.isVisible()
        click(editor.confirm)
        assert not spec(open_people, "disease").from_rows
        assert not editor.confirm.isVisible()
        open_people.session.undo()
        assert editor.confirm.isVisible()
        type_into(editor.new_value, "measles")
        click(editor.add_button)
        assert not spec(open_people, "disease").from_rows

    def test_a_missing_value_can_stop_a_release(self, open_people):
        mark(open_people, "disease", Role.SENSITIVE)
        choose(open_people.detail.missing, MissingRule.REFUSED)
        assert None not in spec(open_people, "disease").domain.values
        assert open_people.state() is PanelState.ATTENTION
        assert "missing in 1 row" in open_people.detail.problem.text().replace("rows", "row")
        choose(open_people.detail.missing, MissingRule.VALUE)
        assert open_people.state() is PanelState.DONE

    def test_rows_outside_the_domain_are_named_without_their_values(self, open_people):
        mark(open_people, "disease", Role.SENSITIVE)
        narrower = replace(spec(open_people, "disease"), domain=Domain(("asthma", "flu", None)))
        session = open_people.session
        session.edit("Narrow", session.document.with_column(narrower))
        text = open_people.detail.problem.text()
        assert "19" in text
        assert "diabetes" not in text
        assert open_people.state() is PanelState.ATTENTION

    @pytest.mark.slow
    def test_numbers_are_added_as_numbers(self, open_people):
        mark(open_people, "visits", Role.SENSITIVE)
        editor = open_people.detail.domain
        type_into(editor.new_value, "seven")
        click(editor.add_button)
        assert editor.problem.isVisible()
        type_into(editor.new_value, "7")
        click(editor.add_button)
        assert spec(open_people, "visits").domain.values == (0, 1, 2, 3, 7)

    @pytest.mark.slow
    def test_the_domain_of_a_large_table_is_fixed_in_a_job(self, panel, qtbot, monkeypatch):
        monkeypatch.setattr(attribute_cache, "ROWS_AT_ONCE", 10)
        table = people()
        panel.session.open_table(
            "Open", SurveyedTable.of(in_batches(table)), Document(columns=proposed_columns(table))
        )
        settle(qtbot, panel.session)
        mark(panel, "disease", Role.SENSITIVE)
        settle(qtbot, panel.session)
        assert spec(panel, "disease").domain.size == 4
        assert records(panel) == ["20", "19", "20", "1"]
        mark(panel, "visits", Role.SENSITIVE)
        session = panel.session
        session.edit("Name it", replace(session.document, title="Another name"))
        settle(qtbot, session)
        assert session.document.title == "Another name"
        assert spec(panel, "visits").role is not Role.SENSITIVE


class TestKindsAndBins:
    @pytest.mark.slow
    def test_another_kind_begins_anew(self, open_people):
        mark(open_people, "visits", Role.SENSITIVE)
        choose(open_people.detail.kind, Kind.NUMERIC)
        assert spec(open_people, "visits").kind is Kind.NUMERIC
        assert spec(open_people, "visits").domain is None
        assert open_people.detail.bins.isVisible()

    def test_bins_are_proposed_with_round_edges_and_divided_otherwise_or_given_up(
        self, open_people, qtbot
    ):
        bins = in_bins(open_people, qtbot)
        binning = spec(open_people, "age").binning
        assert binning.edges[0] <= 20
        assert binning.edges[-1] >= 59
        assert bins.histogram.edges == binning.edges
        assert sum(int(count) for count in records(open_people)) == ROWS
        bins.count.spin.setFocus()
        QTest.keyClick(bins.count.spin, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClicks(bins.count.spin, "3")
        QTest.keyClick(bins.count.spin, Qt.Key.Key_Return)
        settle(qtbot, open_people.session)
        assert len(spec(open_people, "age").binning.edges) == 4
        choose(bins.widths, BinWidths.EQUAL)
        settle(qtbot, open_people.session)
        widths = np.diff(spec(open_people, "age").binning.edges)
        assert np.allclose(widths, widths[0])
        click(bins.use)
        assert spec(open_people, "age").binning is None
        assert not bins.edges.isVisible()

    def test_edges_are_drawn_while_they_are_typed_and_their_bins_are_named(
        self, open_people, qtbot
    ):
        bins = in_bins(open_people, qtbot)
        type_into(bins.edges, "0; 40; 100")
        assert bins.histogram.edges == (0.0, 40.0, 100.0)
        before = open_people.session.undo_text
        assert before == "Bins of “age”"
        QTest.keyClick(bins.edges, Qt.Key.Key_Return)
        assert spec(open_people, "age").binning.edges == (0.0, 40.0, 100.0)
        assert values(open_people) == ["[0, 40)", "[40, 100]"]
        assert records(open_people) == ["40", "20"]
        model = open_people.detail.domain.model
        model.setData(model.index(0, SHOWN), "young")
        assert spec(open_people, "age").binning.labels == ("young", "[40, 100]")
        model.setData(model.index(1, SHOWN), "young")
        assert open_people.detail.domain.problem.isVisible()
        assert not open_people.detail.domain.add_button.isVisible()

    def test_edges_that_make_no_bins_are_not_taken_and_numbers_outside_are_told(
        self, open_people, qtbot
    ):
        bins = in_bins(open_people, qtbot)
        before = spec(open_people, "age").binning
        for text in ("0; forty; 100", "40; 0; 100", "0; 100"):
            type_into(bins.edges, text)
            assert bins.problem.isVisible()
            QTest.keyClick(bins.edges, Qt.Key.Key_Return)
            assert spec(open_people, "age").binning == before
        type_into(bins.edges, "30; 40; 50")
        QTest.keyClick(bins.edges, Qt.Key.Key_Return)
        assert "outside the bins" in open_people.detail.problem.text()

    def test_a_column_of_one_number_can_not_be_divided(self, panel, qtbot):
        table = Table(pd.DataFrame({"a": np.full(30, 5.0), "b": range(30)}))
        document = Document(columns=proposed_columns(table))
        panel.session.open_table("Open", SurveyedTable.of(in_batches(table)), document)
        settle(qtbot, panel.session)
        panel.choose("a")
        choose(panel.detail.kind, Kind.NUMERIC)
        click(panel.detail.bins.use)
        settle(qtbot, panel.session)
        assert "two different numbers" in messages(panel.messages)[0]
        assert not panel.detail.bins.use.isChecked()


class TestRecordKey:
    def test_columns_that_number_the_records_can_be_the_key(self, open_people):
        field = open_people.record_key
        assert field.candidates() == ("patient", "admitted")
        choose(field.field, "patient")
        assert open_people.session.document.record_key == "patient"
        assert "sorted, added and removed" in field.note.text()
        open_people.session.undo()
        assert field.field.value == ""

    def test_without_such_a_column_the_position_is_explained(self, panel, qtbot):
        table = Table(pd.DataFrame({"a": [1, 1, 2]}))
        panel.session.open_table(
            "Open", SurveyedTable.of(in_batches(table)), Document(columns=proposed_columns(table))
        )
        settle(qtbot, panel.session)
        assert panel.record_key.candidates() == ()
        assert "no column numbers" in panel.record_key.note.text()

    def test_a_key_that_is_not_unique_any_more_stays_in_sight(self, open_people):
        session = open_people.session
        session.edit("Key", replace(session.document, record_key="visits"))
        assert open_people.record_key.field.value == "visits"


def test_without_a_chosen_column_there_is_nothing_to_edit(panel, open_people):
    panel.choose("disease")
    assert panel.detail.kind.isEnabled()
    panel.table.clearSelection()
    assert not panel.chosen
    assert not panel.detail.kind.isEnabled()
    assert not panel.detail.bins.isEnabled()
    assert not panel.detail.domain.isEnabled()
    panel.choose("age")
    assert panel.detail.kind.isEnabled()


def test_columns_that_follow_from_each_other_are_told_where_roles_are_chosen(qtbot, panel):
    rng = np.random.default_rng(4)
    revenue, costs = rng.lognormal(11, 1, (2, 200)).round()
    table = Table(pd.DataFrame({"revenue": revenue, "costs": costs, "result": revenue - costs}))
    document = Document(title="books", columns=proposed_columns(table))
    panel.session.open_table("Open books", SurveyedTable.of(in_batches(table)), document)
    settle(qtbot, panel.session)
    mark(panel, "result", Role.INSENSITIVE)
    assert "“revenue” = “result” + “costs” in every row" in panel.detail.relations.text()
    assert "in every row" not in panel.model.hint(panel.model.row_of("costs"))
    mark(panel, "result", Role.SENSITIVE)
    settle(qtbot, panel.session)
    assert "protect all 3 together" in panel.detail.relations.text()
    assert panel.detail.relations.isVisible()
    assert "in every row" in panel.model.hint(panel.model.row_of("costs"))
    mark(panel, "costs", Role.IDENTIFYING)
    settle(qtbot, panel.session)
    assert not panel.detail.relations.isVisible(), "what is left out tells nothing"


@pytest.mark.slow
@pytest.mark.parametrize("deed", ["bins", "value"])
def test_what_needs_a_column_that_the_table_lacks_says_so(qtbot, open_people, deed):
    panel, detail = open_people, open_people.detail
    panel.choose("age" if deed == "bins" else "visits")
    if deed == "bins":
        click(detail.bins.use)
        settle(qtbot, panel.session)
    panel.session.attach_table(
        SurveyedTable.of(in_batches(Table(people().frame[["patient", "disease"]])))
    )
    settle(qtbot, panel.session)
    before = panel.session.document
    if deed == "bins":
        detail.bins.count.spin.stepUp()
    else:
        type_into(detail.domain.new_value, "7")
        QTest.keyClick(detail.domain.new_value, Qt.Key.Key_Return)
    settle(qtbot, panel.session)
    assert any("The table has no column" in each for each in messages(panel.messages))
    assert panel.session.document == before
