"""Per-value limits in the Policy panel: the grid, presets, large domains and what comes of them."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.ui.panels.policy.mechanisms.per_value.grid import (
    GAMMA,
    HIGH,
    KEPT,
    LOW,
    SHARE,
    VALUE,
)
from sfumato.ui.panels.policy.mechanisms.per_value.utility import EXAMPLE_RECORDS, zipf_counts
from sfumato.ui.state.insights import SurveyedTable
from tests.in_batches import in_batches
from tests.ui.clinic import wait_for_jobs
from tests.ui.hands import type_into
from tests.ui.limit_steps import (
    CONTROL,
    DISEASES,
    PAPER,
    cell,
    limits,
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


@pytest.mark.slow
def test_values_that_are_never_or_hardly_ever_kept_can_t_be_told_apart(qtbot, panel, editor):
    tight = "SARS\t0.1\t0.12\nHIV\t0.1\t0.12\nH1N1\t0.1\t0.95\ncancer\t0.1\t0.95"
    qtbot.mouseClick(editor.mode.button_for("published"), LEFT)
    qtbot.mouseClick(editor.objective.segments.button_for("values"), LEFT)
    paste(qtbot, editor, tight)
    kept = np.array(editor.session.document.policy[0].settings["profile"])
    assert "can't tell them apart: SARS, HIV" in editor.result.note.text()
    assert kept[2] > kept[0]
    limits = {"mode": "strict", "theta": 3.0, "limits": [], "frequencies": "equal"}
    open_values(panel.session, settings={**limits, "profile": [1e-9, 1e-9, 0.2, 0.2]})
    assert "can't tell them apart: SARS, HIV" in panel.page.settings.result.note.text()


# ----- editing


@pytest.mark.slow
@pytest.mark.turns(1)
def test_selected_cells_are_typed_into_filled_down_and_cleared_each_in_one_edit(qtbot, editor):
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
    select(editor, [1, 2, 3], (LOW, HIGH))
    qtbot.keyClick(editor.grid, Qt.Key.Key_D, CONTROL)
    assert {row[1:] for row in stated(editor) if row[0] != "SARS"} == {(0.1, 0.25)}
    editor.session.undo()
    select(editor, [0, 1], (HIGH,))
    qtbot.keyClick(editor.grid, Qt.Key.Key_Delete)
    assert {row[0] for row in stated(editor)} == {"H1N1", "cancer"}
    assert cell(editor, 0, HIGH) == "0.75"  # θ = 3 times its share of 1/4
    assert cell(editor, 0, LOW) == "0.25"
    editor.session.undo()
    editor.session.undo()
    assert stated(editor) == set()
    type_cells(qtbot, editor, [2], HIGH, "40 %")
    assert stated(editor) == {("H1N1", 0.25, 0.4)}, "the rule completes the other half"


@pytest.mark.slow
def test_a_value_can_have_several_limits_and_the_tightest_counts(qtbot, editor):
    paste(qtbot, editor, "SARS\t0.1\t0.5\nSARS\t0.2\t0.3\nHIV\t0.1\t0.5")
    assert {row for row in stated(editor) if row[0] == "SARS"} == {
        ("SARS", 0.1, 0.5),
        ("SARS", 0.2, 0.3),
    }
    assert cell(editor, 0, LOW) == "0.1; 0.2"
    assert cell(editor, 0, GAMMA) == "1.71"
    assert "2 values of the domain are not in the list" in editor.problem.words


@pytest.mark.slow
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


@pytest.mark.slow
def test_unknown_values_and_missing_halves_are_named_and_can_be_taken_back(qtbot, editor):
    paste(qtbot, editor, "SARS\t0.1\t0.2\nplague\t0.1\t0.2")
    assert "Not in the domain: plague." in editor.problem.words
    assert stated(editor) == set()
    qtbot.mouseClick(editor.remove_strays, LEFT)
    assert stated(editor) == {("SARS", 0.1, 0.2)}
    assert editor.problem.words == ""
    type_cells(qtbot, editor, [0], LOW, "")
    assert "SARS: ρ1 is missing." in editor.problem.words
    qtbot.mouseClick(editor.take_back, LEFT)
    assert cell(editor, 0, LOW) == "0.1"
    assert editor.problem.words == ""


@pytest.mark.slow
def test_an_unfinished_grid_survives_another_edit(qtbot, panel, editor):
    paste(qtbot, editor, "SARS\tx\t0.2")
    qtbot.keyClicks(panel.page.note, "contract")
    qtbot.keyClick(panel.page.note, Qt.Key.Key_Return)
    assert cell(editor, 0, LOW) == "x"


@pytest.mark.slow
def test_a_class_is_painted_on_the_selected_values(qtbot, editor):
    qtbot.mouseClick(editor.presets.cards[0], LEFT)
    assert "Select values" in editor.problem.words
    select(editor, [0, 2], (VALUE,))
    qtbot.mouseClick(editor.presets.cards[0], LEFT)
    assert stated(editor) == {("SARS", 0.1, 0.15), ("H1N1", 0.1, 0.15)}
    select(editor, [0], (VALUE,))
    qtbot.mouseClick(editor.presets.cards[-1], LEFT)
    assert stated(editor) == {("H1N1", 0.1, 0.15)}


@pytest.mark.slow
def test_the_tolerance_is_a_rule_for_all_other_values_and_rarity_sets_every_one(qtbot, editor):
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
    qtbot.mouseClick(editor.presets.way.button_for("rarity"), LEFT)
    editor.presets.uncommon.spin.setValue(30)
    qtbot.mouseClick(editor.presets.apply_rarity, LEFT)
    assert {row[1:] for row in stated(editor)} == {(0.1, 0.3)}
    assert len(stated(editor)) == 4


@pytest.mark.slow
def test_the_grid_is_searched_and_sorted(qtbot, editor):
    paste(qtbot, editor, PAPER)
    editor.grid.sortByColumn(GAMMA, Qt.SortOrder.DescendingOrder)
    assert [cell(editor, row, VALUE) for row in range(4)] == ["cancer", "H1N1", "HIV", "SARS"]
    type_into(editor.search, "h")
    assert [cell(editor, row, VALUE) for row in range(2)] == ["H1N1", "HIV"]
    assert editor.model.rowCount() == 2
    type_cells(qtbot, editor, [0], HIGH, "0.2")
    assert ("H1N1", 0.1, 0.2) in stated(editor)


@pytest.mark.slow
def test_a_large_domain_is_solved_in_a_job_that_newer_edits_supersede(qtbot, panel):
    names = tuple(f"code {place:04}" for place in range(3000))
    open_values(panel.session, names, rows=6000)
    editor = panel.page.settings
    assert editor.model.rowCount() == 3000
    paste(qtbot, editor, "0.01", row=5, column=HIGH)
    assert "Solving the limits of 3,000 values" in editor.problem.words
    paste(qtbot, editor, "0.02", row=6, column=HIGH)
    wait_for_jobs(qtbot, panel.session)
    assert {row[0] for row in stated(editor)} == {"code 0005", "code 0006"}
    assert editor.problem.words == ""
    panel.session.undo()
    assert stated(editor) == set()
    qtbot.waitUntil(lambda: "24 groups" in editor.result.values.figure.subtitle)


@pytest.mark.slow
def test_a_profile_for_another_domain_is_solved_again(qtbot, panel):
    settings = {"mode": "strict", "theta": 3.0, "limits": [], "profile": [0.5, 0.5]}
    open_values(panel.session, settings=settings)
    editor = panel.page.settings
    assert "solved for other values" in editor.problem.words
    assert not editor.result.isVisible()
    qtbot.mouseClick(editor.solve_again, LEFT)
    assert len(panel.session.document.policy[0].settings["profile"]) == 4
    assert editor.problem.words == ""
    assert editor.result.isVisible()


@pytest.mark.slow
def test_the_pictures_follow_the_limits(qtbot, editor):
    qtbot.mouseClick(editor.objective.segments.button_for("values"), LEFT)
    paste(qtbot, editor, PAPER)
    values = editor.result.values
    qtbot.waitUntil(lambda: "of 4 values are kept" in values.figure.headline)
    qtbot.mouseClick(editor.result.view.button_for("matrices"), LEFT)
    qtbot.waitUntil(lambda: "34.4\u202f%" in editor.result.matrices.figure.headline)
    assert not editor.result.values.isVisible()


@pytest.mark.slow
def test_the_comparison_over_the_tolerance_runs_in_a_job(qtbot, editor):
    qtbot.mouseClick(editor.result.view.button_for("curve"), LEFT)
    page = editor.result.curve
    qtbot.mouseClick(page.start, LEFT)
    assert page.stop.isVisible()
    wait_for_jobs(qtbot, editor.session)
    assert not page.stop.isVisible()
    assert page.plot.isVisible()
    assert list(page.plot.figure.data["theta"]) == [2, 3, 5, 8, 12, 20]
    assert "expected" in page.words.text()


@pytest.mark.slow
def test_the_comparison_can_be_cancelled(qtbot, editor):
    qtbot.mouseClick(editor.result.view.button_for("curve"), LEFT)
    page = editor.result.curve
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


@pytest.mark.slow
def test_recipients_are_stated_by_trust_factor_and_can_be_dragged(qtbot, panel, editor):
    cards = panel.page.editor.choices.cards
    qtbot.mouseClick(cards[1], LEFT)
    statement = panel.session.document.recipient("Clinic A").statements["disease"]
    assert statement == {"trust_factor": 0.5}
    dragged = panel.page.editor.statement_at(0.1, statement)
    assert set(dragged) == {"trust_factor"}


@pytest.mark.slow
def test_an_unfinished_grid_waits_while_another_attribute_is_in_sight(qtbot, panel, editor):
    paste(qtbot, editor, "SARS\tx\t0.2")
    table, document = panel.session.table, panel.session.document
    frame = table.frame.assign(ward=table.frame["disease"])
    other = ColumnSpec("ward", Role.SENSITIVE, Kind.CATEGORICAL, Domain(DISEASES))
    entry = PolicyEntry(("ward",), "finegrain", document.policy[0].settings)
    panel.session.open_table(
        "Add a column",
        SurveyedTable.of(in_batches(Table(frame))),
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
    assert "SARS" in editor.problem.words


def in_force(editor):
    return editor.session.document.policy[0].settings


@pytest.mark.slow
@pytest.mark.turns(1)
def test_frequencies_are_chosen_and_drawn_counts_stay(qtbot, editor):
    assert "not used" in editor.frequencies.words.text()
    qtbot.mouseClick(editor.frequencies.source.button_for("noisy"), LEFT)
    drawn = in_force(editor)["noisy_counts"]
    assert drawn != [100, 100, 100, 100]
    assert in_force(editor)["frequencies_epsilon"] == 0.1
    paste(qtbot, editor, PAPER)
    assert len(stated(editor)) == 4
    assert in_force(editor)["noisy_counts"] == drawn
    editor.frequencies.epsilon.spin.setValue(0.2)
    assert in_force(editor)["frequencies_epsilon"] == 0.2
    assert in_force(editor)["noisy_counts"] != drawn
    editor.session.undo()
    assert in_force(editor)["noisy_counts"] == drawn
    editor.frequencies.epsilon.spin.setValue(2.0)
    assert "limit of SARS" in editor.problem.words
    assert in_force(editor)["noisy_counts"] == drawn


@pytest.mark.slow
def test_shares_are_stated_in_the_domains_order(qtbot, editor):
    qtbot.mouseClick(editor.frequencies.source.button_for("stated"), LEFT)
    for text, said in (
        ("1; 2", "2 shares for 4"),
        ("a; b; c; d", "must be numbers"),
        ("0;0;0;0", "0"),
    ):
        type_into(editor.frequencies.shares, text)
        qtbot.keyClick(editor.frequencies.shares, Qt.Key.Key_Return)
        assert said in editor.frequencies.words.text()
    type_into(editor.frequencies.shares, "50; 30; 15; 5")
    qtbot.keyClick(editor.frequencies.shares, Qt.Key.Key_Return)
    assert in_force(editor)["shares"] == [50, 30, 15, 5]
    assert cell(editor, 0, 1).startswith("50")


@pytest.mark.slow
def test_a_profile_from_exact_counts_is_solved_again_by_one_click(qtbot, panel):
    settings = {"mode": "strict", "theta": 3.0, "limits": [], "profile": [0.1, 0.1, 0.2, 0.2]}
    open_values(panel.session, settings=settings)
    editor = panel.page.settings
    assert "exact counts" in editor.problem.words
    assert in_force(editor) == settings
    qtbot.mouseClick(editor.solve_again, LEFT)
    assert in_force(editor)["frequencies"] == "noisy"
    assert editor.problem.words == ""
