"""A published distribution in the Policy panel, through the widgets a person uses."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from sfumato.engine.mechanisms import mechanism_called
from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.ui.panels.policy import PANEL
from tests.ui.clinic import clinic_document, disease, open_clinic, wait_for_jobs
from tests.ui.hands import enter, on_screen

LEFT = Qt.MouseButton.LeftButton
DISTRIBUTION = mechanism_called("distribution")


@pytest.fixture
def panel(qtbot, session):
    return on_screen(qtbot, PANEL(session), 900, 1400)


@pytest.fixture
def editor(qtbot, panel):
    session = panel.session
    recipient = Recipient("Clinic A", {"disease": {"retention_probability": 0.4}})
    settings = DISTRIBUTION.first_settings((disease(),), session.noise)
    entry = PolicyEntry(("disease",), "distribution", settings)
    open_clinic(session, clinic_document(policy=(entry,), recipients=(recipient,)))
    wait_for_jobs(qtbot, session)
    panel.choose("disease")
    return panel.page.settings


def in_force(editor):
    return editor.session.document.policy[0].settings


def shown(editor, column):
    return editor.values.texts(range(editor.values.rowCount()), column)


def test_each_value_stands_beside_how_often_it_replaces_another_and_so_does_an_even_share(
    qtbot, editor
):
    assert shown(editor, 0) == ["asthma", "cancer", "flu", "none"]
    drawn = [float(text.split("\u202f")[0].replace(",", ".")) for text in shown(editor, 2)]
    assert sum(drawn) == pytest.approx(100, abs=0.1)
    assert "rarest replacement" in editor.outcome.text()
    assert in_force(editor)["frequencies"] == "noisy"
    enter(editor.even.spin, "100")
    assert in_force(editor)["even_share"] == 1.0
    assert set(shown(editor, 2)) == {"25.00\u202f%"}
    editor.session.undo()
    assert in_force(editor)["even_share"] == 0.1


@pytest.mark.slow
def test_stated_shares_take_the_place_of_the_table_s_once_there_are_enough(qtbot, editor):
    before = in_force(editor)
    qtbot.mouseClick(editor.frequencies.source.button_for("stated"), LEFT)
    enter(editor.frequencies.shares, "40; 30")
    assert "2 shares for 4 values" in editor.frequencies.words.text()
    assert in_force(editor) == before
    enter(editor.frequencies.shares, "40; 30; 20; 10")
    assert in_force(editor) == {
        "frequencies": "stated",
        "shares": [40.0, 30.0, 20.0, 10.0],
        "even_share": 0.1,
    }
    assert "discloses nothing" in editor.frequencies.words.text()


@pytest.mark.slow
def test_another_epsilon_draws_other_counts(qtbot, editor):
    before = in_force(editor)
    enter(editor.frequencies.epsilon.spin, "0.5")
    assert in_force(editor)["frequencies_epsilon"] == 0.5
    assert in_force(editor)["noisy_counts"] != before["noisy_counts"]
