"""Levels that hide nothing are a danger wherever they are seen, and nothing about them is calm."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt

from sfumato.analysis.readiness.verdicts import Standing
from sfumato.engine.mechanisms import mechanism_called
from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.ui.panels.base import PanelState
from sfumato.ui.panels.policy import PANEL
from sfumato.ui.panels.policy.lists import FIGURE
from sfumato.ui.shell.guarantee_card import GuaranteeCard
from tests.ui.clinic import (
    DISEASES,
    clinic_document,
    disease,
    open_clinic,
    protected,
    wait_for_jobs,
)
from tests.ui.hands import on_screen
from tests.ui.policy_steps import state_once_checked


@pytest.fixture
def panel(qtbot, session):
    return on_screen(qtbot, PANEL(session), 1000, 1200)


def by_matrix(entries):
    """The clinic with a matrix of one's own at full trust in it."""
    settings = mechanism_called("matrix").default_settings((disease(),))
    entry = PolicyEntry(("disease",), "matrix", {**settings, "entries": entries.tolist()})
    people = (Recipient("Clinic A", {"disease": {"trust_factor": 1.0}}),)
    return clinic_document(policy=(entry,), recipients=people)


def one_zero():
    entries = np.full((len(DISEASES),) * 2, 0.25)
    entries[0, 1], entries[1, 1] = 0.0, 0.5
    return entries


def icons(panel):
    """The icons in the list of entries."""
    role = Qt.ItemDataRole.UserRole
    return [panel.list.item(row).data(role).icon for row in range(panel.list.count())]


@pytest.mark.few(1)
@pytest.mark.parametrize("entries", [np.eye(len(DISEASES)), one_zero()])
def test_a_matrix_without_a_limit_on_the_odds_is_a_danger_at_its_level(panel, entries):
    open_clinic(panel.session, by_matrix(entries))
    assert panel.page.empty.isVisible()
    assert panel.page.empty.words.startswith("Danger: ")
    assert panel.state() is PanelState.ATTENTION
    assert panel.page.recipients.model.cell(0, FIGURE).icon == "danger"


@pytest.mark.slow
def test_a_matrix_that_hides_is_no_danger_as_it_stands(panel):
    open_clinic(panel.session, by_matrix(0.5 * np.eye(4) + 0.125))
    assert not panel.page.empty.isVisible()
    assert icons(panel) == ["step-done"]


@pytest.mark.slow
def test_full_trust_is_a_danger_until_the_level_is_lowered(qtbot, panel):
    open_clinic(panel.session, protected({"Clinic A": 1.0, "Public": 0.1}))
    assert "released with its true values: nothing hides them" in panel.page.empty.words
    assert icons(panel) == ["danger"]
    panel.page.recipients.table.selectRow(1)
    assert not panel.page.empty.isVisible(), "the other recipient's level hides the disease"
    panel.session.edit("Lower", protected({"Clinic A": 0.6, "Public": 0.1}))
    wait_for_jobs(qtbot, panel.session)
    assert state_once_checked(qtbot, panel) is PanelState.DONE
    assert icons(panel) == ["step-done"]


def test_the_guarantee_says_that_nothing_is_promised(qtbot, session):
    open_clinic(session, protected({"Clinic A": 1.0, "Public": 0.1}))
    card = on_screen(qtbot, GuaranteeCard(session))
    wait_for_jobs(qtbot, session)
    summaries = card._summaries
    assert summaries["Clinic A"].standing is Standing.DANGER
    assert summaries["Public"].standing is not Standing.DANGER
    assert "A promise is empty" in summaries["Clinic A"].sentence.text()
    qtbot.mouseClick(summaries["Clinic A"].why, Qt.MouseButton.LeftButton)
    assert "Danger: disease is released with its true values" in card.text()
    qtbot.mouseClick(summaries["Public"].why, Qt.MouseButton.LeftButton)
    assert "true values" not in card.text()
