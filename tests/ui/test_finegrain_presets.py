"""Per-value limits in the Policy panel: presets, large domains and what comes of them."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.ui.panels.policy.mechanisms.per_value.grid import (
    GAMMA,
    HIGH,
    LOW,
    VALUE,
)
from sfumato.ui.panels.policy.mechanisms.per_value.utility import EXAMPLE_RECORDS, zipf_counts
from sfumato.ui.state.insights import SurveyedTable
from tests.ui.clinic import wait_for_jobs
from tests.ui.hands import type_into
from tests.ui.limit_steps import (
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


# ----- presets


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


# ----- what comes of it


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
        SurveyedTable.of(Table(frame)),
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


# ----- where frequencies come from


def in_force(editor):
    return editor.session.document.policy[0].settings


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


def test_a_profile_from_exact_counts_is_solved_again_by_one_click(qtbot, panel):
    settings = {"mode": "strict", "theta": 3.0, "limits": [], "profile": [0.1, 0.1, 0.2, 0.2]}
    open_values(panel.session, settings=settings)
    editor = panel.page.settings
    assert "exact counts" in editor.problem.words
    assert in_force(editor) == settings
    qtbot.mouseClick(editor.solve_again, LEFT)
    assert in_force(editor)["frequencies"] == "noisy"
    assert editor.problem.words == ""
