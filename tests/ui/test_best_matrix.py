"""The best matrix within per-value limits, through the widgets a person uses."""

from __future__ import annotations

import re

import numpy as np
import pytest
from PySide6.QtCore import Qt

from sfumato.engine.mechanisms.per_value import PrivacyLimits
from sfumato.engine.mechanisms.retention_solver import BreachMode
from sfumato.ui.dialogs.base import ChoiceDialog
from tests.engine.mechanisms.per_value.test_best_matrix import broken
from tests.ui.clinic import wait_for_jobs
from tests.ui.hands import dialog_of, press
from tests.ui.limit_steps import PAPER, open_values, paste

LEFT = Qt.MouseButton.LeftButton
WORDS = "Best matrix within these limits…"


@pytest.fixture
def editor(qtbot, tall_policy_panel):
    open_values(tall_policy_panel.session)
    editor = tall_policy_panel.page.settings
    paste(qtbot, editor, PAPER)
    qtbot.mouseClick(editor.mode.button_for("published"), LEFT)
    qtbot.mouseClick(editor.objective.segments.button_for("values"), LEFT)
    return editor


def asked(qtbot, editor):
    press(editor, WORDS)
    wait_for_jobs(qtbot, editor.session)
    return dialog_of(editor.window(), ChoiceDialog)


def test_both_gains_are_told_and_taking_the_matrix_is_one_step_of_undo(qtbot, editor):
    session = editor.session
    before = session.document
    gammas = PrivacyLimits.from_dict(before.policy[0].settings).gammas(
        session.attribute("disease").attribute.domain, np.full(4, 0.25)
    )
    dialog = asked(qtbot, editor)
    told = dialog.explanation.text().replace("\u202f", " ")
    assert "43.8 % of the records keep their value (worth 8 true records)" in told
    assert "with the best matrix within the limits, 47.2 % do (worth" in told
    assert session.document == before
    press(dialog, "Use this matrix")
    [entry] = session.document.policy
    assert entry.mechanism == "matrix"
    assert not broken(np.array(entry.settings["entries"]), gammas, BreachMode.PUBLISHED)
    assert session.document.recipients[0].statements["disease"] == {"trust_factor": 1.0}
    session.undo()
    assert session.document == before


@pytest.mark.slow
def test_what_the_gain_costs_values_without_a_limit_is_told(qtbot, tall_policy_panel):
    open_values(tall_policy_panel.session)
    editor = tall_policy_panel.page.settings
    paste(qtbot, editor, "SARS\t0.1\t0.3\nHIV\t0.05\t0.2")
    dialog = asked(qtbot, editor)
    told = dialog.explanation.text()
    press(dialog, "Use this matrix")
    [entry] = editor.session.document.policy
    entries = np.array(entry.settings["entries"])
    known = entries if np.allclose(entries.sum(axis=0), 1.0) else entries.T  # column = original
    odds = max((row[:, None] / row[None, :]).max() for row in known)
    stated = float(re.search(r"multiplied by up to ([\d.]*\d)", told)[1])
    before = float(re.search(r"with the retention probabilities, by up to ([\d.]*\d)", told)[1])
    assert before < 0.99 * stated
    assert odds <= stated * 1.0001
    assert stated < 1.02 * odds


@pytest.mark.slow
def test_whoever_cancels_keeps_the_retention_probabilities(qtbot, editor):
    before = editor.session.document
    press(asked(qtbot, editor), "Cancel")
    assert editor.session.document == before


@pytest.mark.slow
def test_why_there_is_none_is_said_below_the_grid(qtbot, tall_policy_panel):
    session = tall_policy_panel.session
    open_values(session, [f"value {place}" for place in range(101)], rows=404)
    editor = tall_policy_panel.page.settings
    press(editor, WORDS)
    wait_for_jobs(qtbot, session)
    assert "up to 100 values; the domain has 101" in editor.problem.words
    assert session.document.policy[0].mechanism == "finegrain"
    qtbot.mouseClick(editor.frequencies.source.button_for("noisy"), LEFT)
    press(editor, WORDS)
    wait_for_jobs(qtbot, session)
    assert "would give away counts of “disease”" in editor.problem.words
