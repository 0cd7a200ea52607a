"""Laplace noise in the Policy panel, through the widgets a person uses."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt

from sfumato.engine.mechanisms import mechanism_called
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.panels.policy import PANEL
from tests.ui.clinic import wait_for_jobs
from tests.ui.hands import enter, on_screen
from tests.ui.payroll import open_payroll, payroll_table, protected

LEFT = Qt.MouseButton.LeftButton
STATED = {"lowest": 0, "highest": 100, "step": 1, "bounds": "stated"}
LAPLACE = mechanism_called("laplace")


@pytest.fixture
def panel(qtbot, session):
    made = on_screen(qtbot, PANEL(session), 900, 1400)
    document = protected((("age",), ("income",)))
    recipients = tuple(
        replace(each, statements={**each.statements, "age": {"epsilon": 2.0}})
        for each in document.recipients
    )
    policy = (PolicyEntry(("age",), "laplace", STATED), document.policy[1])
    open_payroll(session, replace(document, policy=policy, recipients=recipients))
    wait_for_jobs(qtbot, session)
    made.choose("age")
    return made


def in_force(panel):
    return panel.session.document.policy[0].settings


def test_bounds_and_what_they_mean_are_shown_and_one_is_stated_as_typed_and_undone(qtbot, panel):
    editor = panel.page.settings
    assert editor.fields["highest"].value == 100
    assert "Bounds 0 and 100, 100 steps" in editor.outcome.text()
    assert "disclose nothing" in editor.source.words.text()
    assert "between any two numbers by at most 7.4" in panel.page.editor.meaning.texts[0]
    enter(editor.fields["highest"].spin, "120")
    assert in_force(panel) == {**STATED, "highest": 120}
    panel.session.undo()
    assert in_force(panel) == STATED


def test_a_step_that_does_not_divide_the_range_is_refused_where_it_stands(qtbot, panel):
    editor = panel.page.settings
    enter(editor.fields["step"].spin, "7")
    assert "whole number" in editor.problem.words
    assert in_force(panel) == STATED
    enter(editor.fields["highest"].spin, "140")
    assert in_force(panel) == {**STATED, "highest": 140, "step": 7}
    assert editor.problem.words == ""


def test_bounds_are_measured_with_noise_that_the_card_tells(qtbot, panel):
    editor = panel.page.settings
    qtbot.mouseClick(editor.source.source.button_for("noisy"), LEFT)
    wait_for_jobs(qtbot, panel.session)
    assert in_force(panel)["bounds"] == "noisy"
    assert "measured in the table, with noise" in editor.source.words.text()
    assert LAPLACE.byproduct_epsilon(in_force(panel)) > 0


def two_alike(qtbot, panel):
    """Give income an entry of the same kind as age."""
    session = panel.session
    age, income = session.document.policy
    policy = (age, replace(income, mechanism="laplace", settings=STATED))
    session.edit("Two alike", replace(session.document, policy=policy))
    wait_for_jobs(qtbot, session)


@pytest.mark.slow
def test_a_step_that_is_not_right_yet_is_there_again_and_can_be_taken_back(qtbot, panel):
    two_alike(qtbot, panel)
    editor = panel.page.settings
    enter(editor.fields["step"].spin, "7")
    panel.choose("income")
    wait_for_jobs(qtbot, panel.session)
    assert editor.fields["step"].value == 1
    assert editor.problem.words == ""
    panel.choose("age")
    wait_for_jobs(qtbot, panel.session)
    assert editor.fields["step"].value == 7
    assert "whole number" in editor.problem.words
    assert "the previous settings stay in force" in editor.problem.words
    qtbot.mouseClick(editor.take_back, LEFT)
    assert editor.fields["step"].value == 1
    assert editor.problem.words == ""
    panel.choose("income")
    panel.choose("age")
    wait_for_jobs(qtbot, panel.session)
    assert editor.fields["step"].value == 1
    assert in_force(panel) == STATED


def begin_to_measure(qtbot, panel):
    """Have bounds of age measured, beside an entry of the same kind."""
    two_alike(qtbot, panel)
    session = panel.session
    qtbot.mouseClick(panel.page.settings.source.source.button_for("noisy"), LEFT)
    assert session.runner.jobs


@pytest.mark.slow
def test_bounds_that_are_being_measured_never_become_another_attribute_s(qtbot, panel):
    begin_to_measure(qtbot, panel)
    panel.choose("income")
    wait_for_jobs(qtbot, panel.session)
    assert [entry.settings for entry in panel.session.document.policy] == [STATED, STATED]


@pytest.mark.slow
def test_bounds_measured_in_a_table_that_is_closed_by_then_are_dropped(qtbot, panel):
    begin_to_measure(qtbot, panel)
    panel.hide()
    open_payroll(panel.session, panel.session.document, payroll_table(90))
    wait_for_jobs(qtbot, panel.session)
    panel.show()
    wait_for_jobs(qtbot, panel.session)
    assert in_force(panel) == STATED


@pytest.mark.slow
def test_a_level_is_stated_by_the_size_of_the_noise(qtbot, panel):
    editor = panel.page.editor
    qtbot.mouseClick(editor.terms.cards["spread"], LEFT)
    enter(editor.fields["noise_spread"].spin, "50")
    recipient = panel.session.document.recipients[0]
    assert recipient.statements["age"] == {"noise_spread": 50.0}
    assert "age ±\u202f50" in editor.meaning.texts[1]


@pytest.mark.slow
def test_how_well_the_mean_is_known_counts_what_the_bounds_cut_off(qtbot, panel):
    editor, ages = panel.page.editor, payroll_table().frame["age"]

    def within():
        return float(re.search(r"to within ±\s?([\d.]+)", editor.meaning.texts[2])[1])

    before = within()
    enter(panel.page.settings.fields["highest"].spin, "30")
    wait_for_jobs(qtbot, panel.session)
    moved = ages.mean() - ages.clip(0, 30).mean()
    assert before < moved
    assert moved <= within() < moved + before
