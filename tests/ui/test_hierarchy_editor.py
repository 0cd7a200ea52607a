"""Hierarchies in the Attributes panel: proposed, built, imported, mended, renamed, kept."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.generalization.hierarchies import (
    Dates,
    DateUnit,
    FourLevels,
    Intervals,
    Masking,
    Mend,
    Orders,
    ProblemKind,
    Side,
    Suppression,
    Taxonomy,
)
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document
from sfumato.ui.panels.attributes.hierarchy.dialog import HierarchyDialog
from sfumato.ui.panels.attributes.hierarchy.preview import RowsModel
from sfumato.ui.panels.attributes.panel import AttributesPanel
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.widgets.tables import CellsModel
from tests.in_batches import in_batches
from tests.ui.hands import choose, click, dialog_of, messages, on_screen, press, settle, type_into

ROWS = 120
TOWNS = ("Bonn", "Lyon", "Nice")


def people():
    rows = np.arange(ROWS)
    return Table(
        pd.DataFrame(
            {
                "age": 20 + rows % 40,
                "town": pd.Categorical(np.array(TOWNS)[rows % 3]),
                "code": 10_000 + rows,
                "visit": pd.date_range("2025-01-01", periods=ROWS, freq="7D"),
                "disease": np.array(["flu", "asthma"])[rows % 2],
            }
        )
    )


def document():
    kinds = {"age": Kind.NUMERIC, "visit": Kind.DATE}
    specs = tuple(
        ColumnSpec(name, Role.QUASI_IDENTIFIER, kinds.get(name, Kind.CATEGORICAL))
        for name in ("age", "town", "code", "visit")
    )
    return Document(title="people", columns=(*specs, ColumnSpec("disease", Role.SENSITIVE)))


@pytest.fixture
def panel(session, qtbot):
    made = on_screen(qtbot, AttributesPanel(session), 900, 700)
    session.open_table("Open people", SurveyedTable.of(in_batches(people())), document())
    settle(qtbot, session)
    return made


def open_editor(panel, qtbot, name):
    panel.choose(name)
    click(panel.detail.hierarchy.edit)
    settle(qtbot, panel.session)
    return dialog_of(panel, HierarchyDialog)


def kept(panel, name):
    return panel.session.document.hierarchies.get(name)


def classes(dialog):
    return [
        dialog.preview.levels.cells.cell(row, 1).text
        for row in range(dialog.preview.levels.cells.rowCount())
    ]


def paste(dialog, qtbot, text):
    QGuiApplication.clipboard().setText(text)
    click(dialog.paste_button)
    settle(qtbot, dialog.session)


def keep(dialog, qtbot):
    click(dialog.keep)
    settle(qtbot, dialog.session)
    assert not dialog.isVisible()


def test_only_a_quasi_identifier_is_offered_a_hierarchy_and_told_what_it_is(panel):
    panel.choose("age")
    section = panel.detail.hierarchy
    assert "level by level" in section.text.text()
    assert not section.remove.isVisible()
    panel.choose("disease")
    assert not section.isVisible()


def test_a_hierarchy_is_proposed_shown_undone_and_removed(panel, qtbot):
    panel.choose("age")
    section = panel.detail.hierarchy
    click(section.propose)
    settle(qtbot, panel.session)
    assert isinstance(kept(panel, "age"), Intervals)
    assert section.levels.cells.rowCount() == 4
    assert section.levels.cells.cell(0, 1).text == "40"
    assert section.levels.cells.cell(3, 2).text == str(ROWS)
    assert panel.session.undo_text == "Hierarchy of “age”"
    panel.session.undo()
    assert kept(panel, "age") is None
    panel.session.redo()
    click(section.remove)
    assert kept(panel, "age") is None
    assert not section.levels.isVisible()


@pytest.mark.slow
@pytest.mark.turns(1)
def test_settings_are_followed_at_once_and_kept_for_the_next_time(panel, qtbot):
    dialog = open_editor(panel, qtbot, "age")
    assert "round edges" in dialog.builder.reason.text()
    form = dialog.builder.forms["intervals"]
    type_into(form.width_.spin, "10")
    QTest.keyClick(form.width_.spin, Qt.Key.Key_Return)
    type_into(form.steps.spin, "2")
    QTest.keyClick(form.steps.spin, Qt.Key.Key_Tab)
    settle(qtbot, panel.session)
    assert classes(dialog) == ["40", "4", "2", "1"]
    keep(dialog, qtbot)
    assert kept(panel, "age") == Intervals(10.0, steps=2)
    again = open_editor(panel, qtbot, "age")
    assert again.builder.forms["intervals"].width_.value == 10.0
    assert classes(again) == ["40", "4", "2", "1"]
    press(again, "Cancel")


@pytest.mark.slow
@pytest.mark.turns(1)
def test_own_edges_are_typed_and_faults_are_said_where_they_are_made(panel, qtbot):
    dialog = open_editor(panel, qtbot, "age")
    form = dialog.builder.forms["intervals"]
    click(form.way.button_for("edges"))
    type_into(form.edges, "30; forty")
    assert "not a number" in messages(dialog.messages)[0]
    assert not dialog.keep.isEnabled()
    type_into(form.edges, "30; 50")
    settle(qtbot, panel.session)
    assert messages(dialog.messages) == []
    keep(dialog, qtbot)
    assert kept(panel, "age").edges == (30.0, 50.0)


@pytest.mark.slow
def test_an_order_is_changed_by_moving_values(panel, qtbot):
    dialog = open_editor(panel, qtbot, "town")
    choose(dialog.builder.kind, Orders.kind)
    settle(qtbot, panel.session)
    form = dialog.builder.forms[Orders.kind]
    type_into(form.sizes, "2")
    form.order.list.setCurrentRow(2)
    click(form.order.up)
    settle(qtbot, panel.session)
    assert dialog.preview.tree_model.height == 3
    keep(dialog, qtbot)
    assert kept(panel, "town") == Orders((2,), ("Bonn", "Nice", "Lyon"))
    again = open_editor(panel, qtbot, "town")
    shown = again.builder.forms[Orders.kind].order
    assert [shown.list.item(i).text() for i in range(3)] == ["Bonn", "Nice", "Lyon"]
    click(shown.natural)
    assert shown.order == ()
    press(again, "Cancel")


@pytest.mark.slow
def test_codes_are_masked_from_either_end(panel, qtbot):
    dialog = open_editor(panel, qtbot, "code")
    choose(dialog.builder.kind, Masking.kind)
    form = dialog.builder.forms[Masking.kind]
    type_into(form.hidden, "2, 1")
    choose(form.side, Side.LEFT)
    click(form.keep_length)
    settle(qtbot, panel.session)
    keep(dialog, qtbot)
    assert kept(panel, "code") == Masking((2, 1), Side.LEFT, keep_length=False)


@pytest.mark.slow
def test_spans_of_the_calendar_are_ticked(panel, qtbot):
    dialog = open_editor(panel, qtbot, "visit")
    form = dialog.builder.forms[Dates.kind]
    for unit, box in form.units.items():
        if box.isChecked() != (unit in (DateUnit.MONTH, DateUnit.YEAR)):
            click(box)
    settle(qtbot, panel.session)
    assert classes(dialog)[2:] == ["3", "1"]
    keep(dialog, qtbot)
    assert kept(panel, "visit") == Dates((DateUnit.MONTH, DateUnit.YEAR))


@pytest.mark.slow
def test_a_kind_that_does_not_fit_says_so(panel, qtbot):
    dialog = open_editor(panel, qtbot, "town")
    choose(dialog.builder.kind, Intervals.kind)
    settle(qtbot, panel.session)
    assert "no finite numbers" in messages(dialog.messages)[0]
    assert not dialog.keep.isEnabled()
    choose(dialog.builder.kind, FourLevels.kind)
    settle(qtbot, panel.session)
    assert messages(dialog.messages) == []
    click(dialog.builder.propose)
    settle(qtbot, panel.session)
    keep(dialog, qtbot)
    assert kept(panel, "town") == Suppression()


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_pasted_table_is_mended_problem_by_problem(panel, qtbot):
    dialog = open_editor(panel, qtbot, "town")
    paste(dialog, qtbot, "town\tland\nBonn\tDE\t*\nbonn\tDE\t*\nLYON\tFR\t*\nLYON\tFR\n")
    view = dialog.problems
    assert view.isVisible()
    assert not dialog.keep.isEnabled()
    seen = []
    while view.isVisible() and view.chosen is not None and view.chosen.blocks:
        seen.append(view.chosen.kind)
        ways = {
            ProblemKind.HEADER: "Remove the row",
            ProblemKind.UNEVEN: "Fill the row up",
            ProblemKind.SPELLING: "Spell it as in the table",
            ProblemKind.REPEATED: "Keep the first row",
            ProblemKind.CONFLICT: "Keep the first row",
            ProblemKind.ABSENT: "Add it, hidden as *",
        }
        press(view, ways[view.chosen.kind])
        settle(qtbot, panel.session)
        assert len(seen) < 12
    assert {ProblemKind.HEADER, ProblemKind.UNEVEN, ProblemKind.SPELLING} <= set(seen)
    assert dialog.keep.isEnabled()
    keep(dialog, qtbot)
    made = kept(panel, "town")
    assert {row[0] for row in made.rows} >= set(TOWNS)


@pytest.mark.slow
def test_problems_name_the_value_and_can_be_mended_all_at_once(panel, qtbot):
    dialog = open_editor(panel, qtbot, "code")
    paste(dialog, qtbot, "10000;a;*\n10001;a;*")
    view = dialog.problems
    assert view.model.rowCount() == ROWS - 2
    assert "“10002”" in view.model.cell(0, 0).text
    click(view.all_alike)
    press(view, "Add it as a class of its own")
    settle(qtbot, panel.session)
    assert not view.isVisible()
    assert classes(dialog) == [str(ROWS), str(ROWS - 1), "1"]
    press(dialog, "Cancel")
    assert kept(panel, "code") is None


@pytest.mark.slow
def test_of_a_long_table_only_what_is_in_sight_is_asked_for(panel, qtbot, monkeypatch):
    asked = Counter()

    def counted(model, name):
        kept_before = getattr(model, name)

        def ask(self, *place):
            asked[name] += 1
            return kept_before(self, *place)

        monkeypatch.setattr(model, name, ask)

    for model in (RowsModel, CellsModel):
        counted(model, "cell")
    counted(RowsModel, "flags")
    dialog = open_editor(panel, qtbot, "code")
    paste(dialog, qtbot, "\n".join(f"x{line};a;b;*" for line in range(5000)))
    assert dialog.problems.model.rowCount() == 5000 + ROWS
    asked.clear()
    dialog.preview.table.setFocus()
    dialog.preview.table.selectAll()
    dialog.grab()
    dialog.problems.view.selectRow(ROWS)
    press(dialog.problems, "Remove the row")
    settle(qtbot, panel.session)
    dialog.grab()
    assert dialog.problems.model.rowCount() == 5000 + ROWS - 1
    assert 0 < asked["flags"] < 2000
    assert 0 < asked["cell"] < 2000
    press(dialog, "Cancel")


@pytest.mark.slow
def test_a_torn_class_is_made_whole(panel, qtbot):
    dialog = open_editor(panel, qtbot, "town")
    paste(dialog, qtbot, "Bonn;x;N;*\nLyon;x;N;*\nNice;x;S;*")
    assert dialog.problems.chosen.kind is ProblemKind.NO_TREE
    press(dialog.problems, "Use “N” for all")
    settle(qtbot, panel.session)
    assert not dialog.problems.isVisible()
    assert classes(dialog) == ["3", "1", "1", "1"]
    press(dialog, "Cancel")


@pytest.mark.slow
def test_labels_of_a_table_are_changed_one_by_one(panel, qtbot):
    dialog = open_editor(panel, qtbot, "town")
    choose(dialog.builder.kind, Taxonomy.kind)
    settle(qtbot, panel.session)
    paste(dialog, qtbot, "Bonn;a;*\nLyon;a;*\nNice;b;*")
    model = dialog.preview.rows_model
    assert dialog.preview.table.isVisible()
    assert model.setData(model.index(1, 1), "b")
    settle(qtbot, panel.session)
    keep(dialog, qtbot)
    assert kept(panel, "town").paths["Lyon"] == ("b", "*")


@pytest.mark.slow
def test_classes_are_renamed_in_the_tree_and_the_settings_stay(panel, qtbot):
    dialog = open_editor(panel, qtbot, "age")
    form = dialog.builder.forms["intervals"]
    type_into(form.width_.spin, "10")
    QTest.keyClick(form.width_.spin, Qt.Key.Key_Return)
    type_into(form.steps.spin, "1")
    QTest.keyClick(form.steps.spin, Qt.Key.Key_Return)
    settle(qtbot, panel.session)
    tree = dialog.preview.tree_model
    top = tree.index(0, 0)
    first = tree.index(0, 0, top)
    assert (first.data(), tree.parent(first)) == ("[20, 30)", top)
    assert tree.flags(first) & Qt.ItemFlag.ItemIsEditable
    assert not tree.flags(tree.index(0, 0, first)) & Qt.ItemFlag.ItemIsEditable
    tree.setData(first, "twenties")
    settle(qtbot, panel.session)
    tree.setData(tree.index(0, 0, tree.index(0, 0)), "young")
    settle(qtbot, panel.session)
    keep(dialog, qtbot)
    made = kept(panel, "age")
    assert [(r.level, r.made, r.shown) for r in made.renames] == [(1, "[20, 30)", "young")]
    assert panel.detail.hierarchy.levels.cells.cell(1, 3).text.startswith("young")


@pytest.mark.slow
def test_the_tree_holds_every_value_once_with_its_records(panel, qtbot):
    dialog = open_editor(panel, qtbot, "age")
    tree = dialog.preview.tree_model

    def values(parent):
        found = []
        for row in range(tree.rowCount(parent)):
            index = tree.index(row, 0, parent)
            inner = values(index)
            assert tree.parent(index) == parent
            found += inner or [index.data()]
        return found

    assert sorted(values(QModelIndex())) == [str(age) for age in range(20, 60)]
    assert tree.index(0, 2).data() == str(ROWS)
    press(dialog, "Cancel")


def test_a_table_is_imported_and_exported(panel, qtbot, answers, tmp_path):
    source, target = tmp_path / "towns.csv", tmp_path / "out"
    source.write_text("Bonn,DE,*\nLyon,FR,*\nNice,FR,*\nOslo,NO,*\n")
    answers.file, answers.saved = source, target
    dialog = open_editor(panel, qtbot, "town")
    click(dialog.import_button)
    settle(qtbot, panel.session)
    assert "remark" in dialog.problems.badge.word.text()
    click(dialog.export_button)
    settle(qtbot, panel.session)
    assert "written" in messages(dialog.messages)[0]
    assert (tmp_path / "out.csv").read_text() == source.read_text().replace(",", ";")
    keep(dialog, qtbot)
    assert len(kept(panel, "town").rows) == 4


@pytest.mark.slow
def test_a_file_that_is_no_table_leaves_the_draft_as_it_is(panel, qtbot, answers, tmp_path):
    answers.file = tmp_path / "empty.csv"
    answers.file.write_text("")
    dialog = open_editor(panel, qtbot, "town")
    click(dialog.import_button)
    settle(qtbot, panel.session)
    assert "empty" in messages(dialog.messages)[0]
    assert dialog.keep.isEnabled()
    paste(dialog, qtbot, "")
    assert "clipboard" in messages(dialog.messages)[-1].lower()
    press(dialog, "Cancel")


@pytest.mark.slow
def test_a_hierarchy_that_does_not_fit_the_next_table_says_so(panel, qtbot):
    rows = (("Bonn", "*"), ("Lyon", "*"))
    changed = panel.session.document.with_hierarchy("town", Taxonomy(rows))
    panel.session.edit("Keep", changed)
    panel.choose("town")
    section = panel.detail.hierarchy
    assert "does not list 1 of its 3 values" in section.problem.text()
    dialog = open_editor(panel, qtbot, "town")
    assert dialog.problems.chosen.text == "Nice"
    dialog.problems.mend_wanted.emit([dialog.problems.chosen], Mend.ADD_HIDDEN)
    settle(qtbot, panel.session)
    keep(dialog, qtbot)
    assert not section.problem.isVisible()


def test_a_large_column_is_looked_at_in_a_job(panel, qtbot, monkeypatch):
    monkeypatch.setattr("sfumato.ui.state.insights.ROWS_AT_ONCE", 10)
    changed = panel.session.document.with_hierarchy("age", Intervals())
    panel.session.edit("Keep", changed)
    panel.choose("age")
    settle(qtbot, panel.session)
    assert panel.detail.hierarchy.levels.cells.rowCount() == 5


@pytest.mark.slow
def test_forty_thousand_values_are_edited_without_a_wait(panel, qtbot):
    table = Table(pd.DataFrame({"code": np.arange(40_000) + 10_000, "x": ["a", "b"] * 20_000}))
    spec = ColumnSpec("code", Role.QUASI_IDENTIFIER)
    panel.session.open_table(
        "Open",
        SurveyedTable.of(in_batches(table)),
        replace(document(), columns=(spec, ColumnSpec("x"))),
    )
    settle(qtbot, panel.session)
    dialog = open_editor(panel, qtbot, "code")
    choose(dialog.builder.kind, Masking.kind)
    settle(qtbot, panel.session)
    assert classes(dialog) == ["40,000", "4,000", "400", "1"]
    choose(dialog.builder.kind, Orders.kind)
    settle(qtbot, panel.session)
    assert dialog.builder.forms[Orders.kind].order.too_many.isVisible()
    paste(dialog, qtbot, "10000;a;*")
    assert dialog.problems.model.rowCount() == 39_999
    click(dialog.problems.all_alike)
    press(dialog.problems, "Add it, hidden as *")
    settle(qtbot, panel.session)
    assert dialog.keep.isEnabled()
    press(dialog, "Cancel")
