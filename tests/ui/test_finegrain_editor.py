"""Per-value limits in the Policy panel, through the widgets a person uses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import QCoreApplication, QItemSelection, QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit

from app.engine.columns import ColumnSpec, Domain, Kind, Role
from app.engine.mechanisms import mechanism_called
from app.engine.mechanisms.base import Settings
from app.engine.privacy_limits import PrivacyLimits
from app.engine.table import Table
from app.project.model import Document, PolicyEntry, Recipient
from app.ui.panels.policy import PANEL
from app.ui.panels.policy.editors.finegrain_parts.curve import EXAMPLE_RECORDS, zipf_counts
from app.ui.panels.policy.editors.finegrain_parts.model import (
    GAMMA,
    HIGH,
    KEPT,
    LOW,
    SHARE,
    VALUE,
)
from tests.ui.clinic import wait_for_jobs
from tests.ui.hands import type_into

LEFT = Qt.MouseButton.LeftButton
CONTROL = Qt.KeyboardModifier.ControlModifier
DISEASES = ("SARS", "HIV", "H1N1", "cancer")
"""Example 1 of the paper: γ = 1.5, 3, 9.5 and 18 at these limits, shares 1/4 each."""
PAPER = (
    "SARS\t0.1\t0.142857142857143\nHIV\t0.1\t0.25\n"
    "H1N1\t0.1\t0.513513513513513\ncancer\t0.1\t0.666666666666667"
)


def open_values(session, names=DISEASES, rows=400, settings: Settings | None = None):
    """Open a table about evenly frequent values, protected by per-value limits."""
    values = np.array(names)[np.arange(rows) % len(names)]
    frame = pd.DataFrame({"disease": pd.Categorical(values, categories=list(names))})
    column = ColumnSpec("disease", Role.SENSITIVE, Kind.CATEGORICAL, Domain(tuple(names)))
    document = Document(title="Values", columns=(column,))
    session.open_table("Open", Table(frame), document)
    attribute = session.attribute("disease").attribute
    mechanism = mechanism_called("finegrain")
    stated = settings or mechanism.default_settings((attribute,))
    stated = mechanism.complete_settings((attribute,), stated)
    session.edit(
        "Protect",
        Document(
            title="Values",
            columns=(column,),
            policy=(PolicyEntry(("disease",), "finegrain", stated),),
            recipients=(Recipient("Clinic A", {"disease": {"trust_factor": 1.0}}),),
        ),
    )


@pytest.fixture
def panel(qtbot, session):
    made = PANEL(session)
    qtbot.addWidget(made)
    made.resize(900, 1200)
    made.show()
    return made


@pytest.fixture
def editor(panel):
    open_values(panel.session)
    return panel.page.settings


def limits(editor) -> PrivacyLimits:
    return PrivacyLimits.from_dict(editor.session.document.policy[0].settings)


def stated(editor):
    return {(limit.value, limit.rho1, limit.rho2) for limit in limits(editor).stated}


def cell(editor, row, column):
    return editor.model.index(row, column).data()


def select(editor, rows, columns=(LOW,)):
    chosen = QItemSelection()
    for row in rows:
        for column in columns:
            index = editor.model.index(row, column)
            chosen.select(index, index)
    editor.grid.setFocus()
    editor.grid.selectionModel().setCurrentIndex(
        editor.model.index(rows[0], columns[0]), QItemSelectionModel.SelectionFlag.NoUpdate
    )
    editor.grid.selectionModel().select(chosen, QItemSelectionModel.SelectionFlag.ClearAndSelect)


def type_cells(qtbot, editor, rows, column, text):
    """Select cells of a column and type into the current one."""
    select(editor, rows, (column,))
    editor.grid.edit(editor.model.index(rows[0], column))
    field = editor.grid.findChild(QLineEdit)
    field.selectAll()
    qtbot.keyClick(field, Qt.Key.Key_Delete)
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)
    for _ in range(3):  # the grid closes its editor, then writes
        QCoreApplication.processEvents()


def paste(qtbot, editor, text, row=0, column=LOW):
    QGuiApplication.clipboard().setText(text)
    select(editor, [row], (column,))
    qtbot.keyClick(editor.grid, Qt.Key.Key_V, CONTROL)


# ----- the paper's example


def test_the_paper_s_example_is_pasted_by_name_and_solved_both_ways(qtbot, editor):
    paste(qtbot, editor, "disease\trho1\trho2\n" + PAPER)
    assert len(stated(editor)) == 4
    assert [cell(editor, row, GAMMA) for row in range(4)] == ["1.5", "3", "9.5", "18"]
    assert [cell(editor, row, KEPT) for row in range(4)] == ["0", "0.167", "0.167", "0.167"]
    assert "34.4\u202f% of the records" in editor.outcome.sentence.text()
    assert "33.3\u202f% if all values" in editor.outcome.sentence.text()
    qtbot.mouseClick(editor.mode.button_for("published"), LEFT)
    assert "43.8\u202f% of the records" in editor.outcome.sentence.text()
    assert "half of its theorem fails" in editor.mode_words.text()
    assert "every limit holds" in editor.outcome.note.text()


def test_values_that_can_t_be_told_apart_are_named(qtbot, editor):
    tight = "SARS\t0.1\t0.12\nHIV\t0.1\t0.12\nH1N1\t0.1\t0.95\ncancer\t0.1\t0.95"
    qtbot.mouseClick(editor.mode.button_for("published"), LEFT)
    paste(qtbot, editor, tight)
    kept = np.array(editor.session.document.policy[0].settings["profile"])
    if (kept == 0).sum() > 1:
        assert "can't tell them apart: SARS, HIV" in editor.outcome.note.text()
    assert kept[2] > kept[0]


# ----- editing


def test_typing_into_several_cells_is_one_edit(qtbot, editor):
    paste(qtbot, editor, PAPER)
    type_cells(qtbot, editor, [0, 1, 3], HIGH, "0,3")
    assert {row for row in stated(editor) if row[2] == 0.3} == {
        ("SARS", 0.1, 0.3),
        ("HIV", 0.1, 0.3),
        ("cancer", 0.1, 0.3),
    }
    editor.session.undo()
    assert ("HIV", 0.1, 0.25) in stated(editor)
    assert cell(editor, 1, HIGH) == "0.25"
    editor.session.undo()
    assert stated(editor) == set()


def test_filling_down_copies_the_top_cell(qtbot, editor):
    paste(qtbot, editor, PAPER)
    select(editor, [1, 2, 3], (LOW, HIGH))
    qtbot.keyClick(editor.grid, Qt.Key.Key_D, CONTROL)
    assert {row[1:] for row in stated(editor) if row[0] != "SARS"} == {(0.1, 0.25)}


def test_clearing_returns_a_value_to_the_rule(qtbot, editor):
    paste(qtbot, editor, PAPER)
    select(editor, [0, 1], (HIGH,))
    qtbot.keyClick(editor.grid, Qt.Key.Key_Delete)
    assert {row[0] for row in stated(editor)} == {"H1N1", "cancer"}
    assert cell(editor, 0, HIGH) == "0.75"  # θ = 3 times its share of 1/4
    assert cell(editor, 0, LOW) == "0.25"


def test_one_half_of_a_pair_is_completed_by_the_rule(qtbot, editor):
    type_cells(qtbot, editor, [2], HIGH, "40 %")
    assert stated(editor) == {("H1N1", 0.25, 0.4)}


def test_a_value_can_have_several_limits_and_the_tightest_counts(qtbot, editor):
    paste(qtbot, editor, "SARS\t0.1\t0.5\nSARS\t0.2\t0.3\nHIV\t0.1\t0.5")
    assert {row for row in stated(editor) if row[0] == "SARS"} == {
        ("SARS", 0.1, 0.5),
        ("SARS", 0.2, 0.3),
    }
    assert cell(editor, 0, LOW) == "0.1; 0.2"
    assert cell(editor, 0, GAMMA) == "1.71"
    assert "2 values of the domain are not in the list" in editor.status.words


def test_a_block_is_pasted_where_the_cursor_is_and_copied_again(qtbot, editor):
    paste(qtbot, editor, "0.1\t0.2\n0.1\t0.3", row=1)
    assert stated(editor) == {("HIV", 0.1, 0.2), ("H1N1", 0.1, 0.3)}
    select(editor, [1, 2], (VALUE, SHARE, LOW, HIGH))
    qtbot.keyClick(editor.grid, Qt.Key.Key_C, CONTROL)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].split("\t")[2:] == ["0.1", "0.2"]


# ----- what is wrong stays, marked at its cell


@pytest.mark.parametrize(
    ("low", "high", "column", "said"),
    [
        ("0.5", "0.2", HIGH, "ρ2 must be above ρ1"),
        ("0.1", "1", HIGH, "above 0 and below 1"),
        ("-0.1", "0.2", LOW, "above 0 and below 1"),
        ("many", "0.2", LOW, "is not a number"),
        ("0.1; 0.2", "0.3", HIGH, "As many numbers"),
        ("0.1", "nan", HIGH, "is not a number"),
    ],
)
def test_a_problem_is_named_at_its_cell_and_nothing_is_lost(qtbot, editor, low, high, column, said):
    before = editor.session.document
    paste(qtbot, editor, f"SARS\t{low}\t{high}\nHIV\t0.1\t0.25")
    assert editor.session.document == before
    assert f"SARS: {said}" in editor.status.words or said in editor.status.words
    assert said in editor.model.index(0, column).data(Qt.ItemDataRole.ToolTipRole)
    assert (cell(editor, 0, LOW), cell(editor, 0, HIGH)) == (low, high)
    assert cell(editor, 1, HIGH) == "0.25"
    qtbot.mouseClick(editor.status.show_cell, LEFT)
    assert editor.grid.currentIndex().column() == column
    paste(qtbot, editor, "0.1\t0.2")
    assert stated(editor) == {("SARS", 0.1, 0.2), ("HIV", 0.1, 0.25)}
    assert editor.status.words.endswith("pasted.")


def test_unknown_values_in_a_list_are_named_and_can_be_removed(qtbot, editor):
    paste(qtbot, editor, "SARS\t0.1\t0.2\nplague\t0.1\t0.2")
    assert "Not in the domain: plague." in editor.status.words
    assert stated(editor) == set()
    qtbot.mouseClick(editor.status.remove_strays, LEFT)
    assert stated(editor) == {("SARS", 0.1, 0.2)}
    assert editor.status.words == ""


def test_a_missing_half_is_named(qtbot, editor):
    paste(qtbot, editor, PAPER)
    type_cells(qtbot, editor, [0], LOW, "")
    assert "SARS: ρ1 is missing." in editor.status.words
    qtbot.mouseClick(editor.status.take_back, LEFT)
    assert cell(editor, 0, LOW) == "0.1"
    assert editor.status.words == ""


def test_an_unfinished_grid_survives_another_edit(qtbot, panel, editor):
    paste(qtbot, editor, "SARS\tx\t0.2")
    qtbot.keyClicks(panel.page.note, "contract")
    qtbot.keyClick(panel.page.note, Qt.Key.Key_Return)
    assert cell(editor, 0, LOW) == "x"


# ----- presets


def test_a_class_is_painted_on_the_selected_values(qtbot, editor):
    qtbot.mouseClick(editor.presets.cards[0], LEFT)
    assert "Select values" in editor.status.words
    select(editor, [0, 2], (VALUE,))
    qtbot.mouseClick(editor.presets.cards[0], LEFT)
    assert stated(editor) == {("SARS", 0.1, 0.15), ("H1N1", 0.1, 0.15)}
    select(editor, [0], (VALUE,))
    qtbot.mouseClick(editor.presets.cards[-1], LEFT)
    assert stated(editor) == {("H1N1", 0.1, 0.15)}


def test_the_tolerance_is_a_rule_for_all_other_values(qtbot, editor):
    qtbot.mouseClick(editor.presets.way.button_for("tolerance"), LEFT)
    type_into(editor.presets.theta.field.spin, "2")
    qtbot.keyClick(editor.presets.theta.field.spin, Qt.Key.Key_Return)
    assert limits(editor).theta == 2
    assert cell(editor, 0, HIGH) == "0.5"
    editor.session.undo()
    assert limits(editor).theta == 3
    assert editor.presets.theta.value == 3
    editor.presets.rule.click()
    assert limits(editor).theta is None
    assert cell(editor, 0, HIGH) == ""


def test_rarity_sets_every_value(qtbot, editor):
    qtbot.mouseClick(editor.presets.way.button_for("rarity"), LEFT)
    editor.presets.uncommon.spin.setValue(30)
    qtbot.mouseClick(editor.presets.apply_rarity, LEFT)
    assert {row[1:] for row in stated(editor)} == {(0.1, 0.3)}
    assert len(stated(editor)) == 4


# ----- order, search, large domains


def test_the_grid_is_searched_and_sorted(qtbot, editor):
    paste(qtbot, editor, PAPER)
    editor.grid.sortByColumn(GAMMA, Qt.SortOrder.DescendingOrder)
    assert [cell(editor, row, VALUE) for row in range(4)] == ["cancer", "H1N1", "HIV", "SARS"]
    type_into(editor.search, "h")
    assert [cell(editor, row, VALUE) for row in range(2)] == ["H1N1", "HIV"]
    assert editor.model.rowCount() == 2
    type_cells(qtbot, editor, [0], HIGH, "0.2")
    assert ("H1N1", 0.1, 0.2) in stated(editor)


def test_a_large_domain_is_solved_in_a_job_that_newer_edits_supersede(qtbot, panel):
    names = tuple(f"code {place:04}" for place in range(3000))
    open_values(panel.session, names, rows=6000)
    editor = panel.page.settings
    assert editor.model.rowCount() == 3000
    paste(qtbot, editor, "0.01", row=5, column=HIGH)
    assert "Solving the limits of 3\u202f000 values" in editor.status.words
    paste(qtbot, editor, "0.02", row=6, column=HIGH)
    wait_for_jobs(qtbot, panel.session)
    assert {row[0] for row in stated(editor)} == {"code 0005", "code 0006"}
    assert editor.status.words == ""
    panel.session.undo()
    assert stated(editor) == set()
    qtbot.waitUntil(lambda: "24 groups" in editor.outcome.values.figure.subtitle)


def test_a_profile_for_another_domain_is_solved_again(qtbot, panel):
    settings = {"mode": "strict", "theta": 3.0, "limits": [], "profile": [0.5, 0.5]}
    open_values(panel.session, settings=settings)
    editor = panel.page.settings
    assert "solved for other values" in editor.status.words
    assert not editor.outcome.isVisible()
    qtbot.mouseClick(editor.status.solve_again, LEFT)
    assert len(panel.session.document.policy[0].settings["profile"]) == 4
    assert editor.status.words == ""
    assert editor.outcome.isVisible()


# ----- what comes of it


def test_the_pictures_follow_the_limits(qtbot, editor):
    paste(qtbot, editor, PAPER)
    values = editor.outcome.values
    qtbot.waitUntil(lambda: "of 4 values are kept" in values.figure.headline)
    qtbot.mouseClick(editor.outcome.view.button_for("matrices"), LEFT)
    qtbot.waitUntil(lambda: "34.4\u202f%" in editor.outcome.matrices.figure.headline)
    assert not editor.outcome.values.isVisible()


def test_the_comparison_over_the_tolerance_runs_in_a_job(qtbot, editor):
    qtbot.mouseClick(editor.outcome.view.button_for("curve"), LEFT)
    page = editor.outcome.curve
    qtbot.mouseClick(page.start, LEFT)
    assert page.stop.isVisible()
    wait_for_jobs(qtbot, editor.session)
    assert not page.stop.isVisible()
    assert page.plot.isVisible()
    assert list(page.plot.figure.data["theta"]) == [2, 3, 5, 8, 12, 20]
    assert "expected" in page.words.text()


def test_the_comparison_can_be_cancelled(qtbot, editor):
    qtbot.mouseClick(editor.outcome.view.button_for("curve"), LEFT)
    page = editor.outcome.curve
    qtbot.mouseClick(page.source.button_for("example"), LEFT)
    qtbot.mouseClick(page.start, LEFT)
    qtbot.mouseClick(page.stop, LEFT)
    wait_for_jobs(qtbot, editor.session)
    assert page.start.isEnabled()
    assert not page.plot.isVisible()


def test_the_example_has_the_paper_s_size():
    counts = zipf_counts()
    assert counts.sum() == EXAMPLE_RECORDS
    assert len(counts) == 40
    assert abs(counts[0] / counts[1] - 2) < 1e-3


def test_recipients_are_stated_by_trust_factor_and_can_be_dragged(qtbot, panel, editor):
    cards = panel.page.editor._presets.cards
    qtbot.mouseClick(cards[1], LEFT)
    statement = panel.session.document.recipient("Clinic A").statements["disease"]
    assert statement == {"trust_factor": 0.5}
    dragged = panel.page.editor.statement_at(0.1, statement)
    assert set(dragged) == {"trust_factor"}


def test_an_unfinished_grid_waits_while_another_attribute_is_in_sight(qtbot, panel, editor):
    paste(qtbot, editor, "SARS\tx\t0.2")
    table, document = panel.session.table, panel.session.document
    frame = table.frame.assign(ward=table.frame["disease"])
    other = ColumnSpec("ward", Role.SENSITIVE, Kind.CATEGORICAL, Domain(DISEASES))
    entry = PolicyEntry(("ward",), "finegrain", document.policy[0].settings)
    panel.session.open_table(
        "Add a column",
        Table(frame),
        Document(columns=(*document.columns, other), policy=(*document.policy, entry)),
    )
    assert cell(editor, 0, LOW) == "x"
    panel.list.setCurrentRow(1)
    assert cell(editor, 0, LOW) == "0.25"
    paste(qtbot, editor, "HIV\t0.1\t0.2")
    first, second = panel.session.document.policy
    assert (len(first.settings["limits"]), len(second.settings["limits"])) == (0, 1)
    panel.list.setCurrentRow(0)
    assert cell(editor, 0, LOW) == "x"
    assert "SARS" in editor.status.words
