"""Per-value limits in the Policy panel: the grid, through the widgets a person uses."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from sfumato.ui.panels.policy.mechanisms.per_value.grid import (
    GAMMA,
    HIGH,
    KEPT,
    LOW,
    SHARE,
    VALUE,
)
from tests.ui.limit_steps import (
    CONTROL,
    PAPER,
    cell,
    open_values,
    paste,
    select,
    stated,
    type_cells,
)

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(tall_policy_panel):
    return tall_policy_panel


@pytest.fixture
def editor(panel):
    open_values(panel.session)
    return panel.page.settings


# ----- the paper's example


def test_the_paper_s_example_is_pasted_by_name_and_solved_both_ways(qtbot, editor):
    paste(qtbot, editor, "disease\trho1\trho2\n" + PAPER)
    assert len(stated(editor)) == 4
    assert min(editor.session.document.policy[0].settings["profile"]) > 0.09
    counts = editor.result.sentence.text()
    qtbot.mouseClick(editor.objective.segments.button_for("values"), LEFT)
    assert editor.session.document.policy[0].settings["objective"] == "values"
    assert "Counts may get far worse" in editor.objective.words.text()
    assert "Shares are told as exactly as by" in counts != editor.result.sentence.text()
    assert [cell(editor, row, GAMMA) for row in range(4)] == ["1.5", "3", "9.5", "18"]
    assert [cell(editor, row, KEPT) for row in range(4)] == ["0", "0.167", "0.167", "0.167"]
    assert "34.4\u202f% of the records" in editor.result.sentence.text()
    assert "33.3\u202f% if all values" in editor.result.sentence.text()
    said = editor.result.binding.text()
    assert "is the limit of “SARS” (γ = 1.5): beside it, 3 other values" in said
    qtbot.mouseClick(editor.mode.button_for("published"), LEFT)
    assert "43.8\u202f% of the records" in editor.result.sentence.text()
    assert "half of its theorem fails" in editor.mode_words.text()
    assert "every limit holds" in editor.result.note.text()


def test_values_that_can_t_be_told_apart_are_named(qtbot, editor):
    tight = "SARS\t0.1\t0.12\nHIV\t0.1\t0.12\nH1N1\t0.1\t0.95\ncancer\t0.1\t0.95"
    qtbot.mouseClick(editor.mode.button_for("published"), LEFT)
    qtbot.mouseClick(editor.objective.segments.button_for("values"), LEFT)
    paste(qtbot, editor, tight)
    kept = np.array(editor.session.document.policy[0].settings["profile"])
    assert "can't tell them apart: SARS, HIV" in editor.result.note.text()
    assert kept[2] > kept[0]


def test_values_that_are_hardly_ever_kept_are_named_like_those_that_never_are(panel):
    limits = {"mode": "strict", "theta": 3.0, "limits": [], "frequencies": "equal"}
    open_values(panel.session, settings={**limits, "profile": [1e-9, 1e-9, 0.2, 0.2]})
    assert "can't tell them apart: SARS, HIV" in panel.page.settings.result.note.text()


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
    assert "2 values of the domain are not in the list" in editor.problem.words


def test_a_block_is_pasted_where_the_cursor_is_and_copied_again(qtbot, editor):
    paste(qtbot, editor, "0.1\t0.2\n0.1\t0.3", row=1)
    assert stated(editor) == {("HIV", 0.1, 0.2), ("H1N1", 0.1, 0.3)}
    select(editor, [1, 2], (VALUE, SHARE, LOW, HIGH))
    qtbot.keyClick(editor.grid, Qt.Key.Key_C, CONTROL)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].split("\t")[2:] == ["0.1", "0.2"]


# ----- what is wrong stays, marked at its cell


@pytest.mark.few(1)
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
    assert f"SARS: {said}" in editor.problem.words or said in editor.problem.words
    assert said in editor.model.index(0, column).data(Qt.ItemDataRole.ToolTipRole)
    assert (cell(editor, 0, LOW), cell(editor, 0, HIGH)) == (low, high)
    assert cell(editor, 1, HIGH) == "0.25"
    qtbot.mouseClick(editor.show_cell, LEFT)
    assert editor.grid.currentIndex().column() == column
    paste(qtbot, editor, "0.1\t0.2")
    assert stated(editor) == {("SARS", 0.1, 0.2), ("HIV", 0.1, 0.25)}
    assert editor.problem.words.endswith("pasted.")


def test_unknown_values_in_a_list_are_named_and_can_be_removed(qtbot, editor):
    paste(qtbot, editor, "SARS\t0.1\t0.2\nplague\t0.1\t0.2")
    assert "Not in the domain: plague." in editor.problem.words
    assert stated(editor) == set()
    qtbot.mouseClick(editor.remove_strays, LEFT)
    assert stated(editor) == {("SARS", 0.1, 0.2)}
    assert editor.problem.words == ""


def test_a_missing_half_is_named(qtbot, editor):
    paste(qtbot, editor, PAPER)
    type_cells(qtbot, editor, [0], LOW, "")
    assert "SARS: ρ1 is missing." in editor.problem.words
    qtbot.mouseClick(editor.take_back, LEFT)
    assert cell(editor, 0, LOW) == "0.1"
    assert editor.problem.words == ""


def test_an_unfinished_grid_survives_another_edit(qtbot, panel, editor):
    paste(qtbot, editor, "SARS\tx\t0.2")
    qtbot.keyClicks(panel.page.note, "contract")
    qtbot.keyClick(panel.page.note, Qt.Key.Key_Return)
    assert cell(editor, 0, LOW) == "x"
