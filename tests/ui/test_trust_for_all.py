"""Trust that is stated once for all attributes, and rungs that lie on each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Table, encode_column
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.panels.policy import PANEL
from sfumato.ui.shell.guarantee_card import GuaranteeCard
from tests.ui.clinic import clinic_table, open_clinic, protected
from tests.ui.hands import click, explain_first, on_screen
from tests.ui.policy_steps import statement

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(qtbot, session):
    return on_screen(qtbot, PANEL(session), 900, 900)


def several(noise):
    """The clinic's table and document with three protected attributes, one of them of numbers."""
    table = clinic_table()
    frame = table.frame.assign(cost=np.arange(table.rows) * 1.5)
    document = protected()
    columns = (
        *(c for c in document.columns if c.name != "ward"),
        ColumnSpec("ward", Role.SENSITIVE, Kind.CATEGORICAL),
        ColumnSpec("cost", Role.SENSITIVE, Kind.NUMERIC),
    )
    gaussian = mechanism_called("gaussian")
    cost = encode_column(Table(frame), columns[-1]).attribute
    policy = (
        *document.policy,
        PolicyEntry(("ward",), "uniform"),
        PolicyEntry(("cost",), "gaussian", gaussian.first_settings((cost,), noise)),
    )
    recipients = tuple(
        replace(
            r, statements={**r.statements, "ward": {"epsilon": 0.5}, "cost": {"sigma_squared": 9.0}}
        )
        for r in document.recipients
    )
    changed = replace(document, columns=columns, policy=policy, recipients=recipients)
    return Table(frame), changed


def test_one_click_gives_a_recipient_the_same_trust_for_every_attribute(panel):
    table, document = several(panel.session.noise)
    open_clinic(panel.session, document, table)
    click(panel.page.for_all)
    assert statement(panel, key="ward") == {"retention_probability": 0.6}
    # Numbers get the level of the same trust: 1/(1 + σ²) = 0.6.
    assert statement(panel, key="cost")["sigma_squared"] == pytest.approx(0.4 / 0.6, rel=0.01)
    assert statement(panel, "Public", "ward") == {"epsilon": 0.5}
    panel.session.undo()
    assert statement(panel, key="ward") == {"epsilon": 0.5}


def test_a_single_attribute_can_be_changed_after(panel, qtbot):
    table, document = several(panel.session.noise)
    open_clinic(panel.session, document, table)
    click(panel.page.for_all)
    panel.choose("ward")
    panel.page.ladder.setFocus()
    qtbot.keyClick(panel.page.ladder, Qt.Key.Key_Minus)
    assert statement(panel, key="ward")["retention_probability"] < 0.6
    assert statement(panel) == {"retention_probability": 0.6}


def test_with_one_attribute_there_is_nothing_to_state_for_all(panel):
    open_clinic(panel.session, protected())
    assert not panel.page.for_all.isVisible()


@pytest.mark.few(1)
@pytest.mark.parametrize("chosen", ["Clinic A", "Institute"])
def test_of_two_rungs_at_one_level_the_chosen_recipients_moves(panel, qtbot, chosen):
    open_clinic(panel.session, protected({"Clinic A": 0.4, "Institute": 0.4, "Public": 0.1}))
    names = [recipient.name for recipient in panel.session.document.recipients]
    panel.page.recipients.table.selectRow(names.index(chosen))
    ladder = panel.page.ladder
    qtbot.mousePress(ladder, LEFT, pos=QPoint(60, round(ladder.y_of(0.4))))
    for trust in (0.5, 0.6, 0.7):
        qtbot.mouseMove(ladder, QPoint(60, round(ladder.y_of(trust))))
    qtbot.mouseRelease(ladder, LEFT, pos=QPoint(60, round(ladder.y_of(0.7))))
    levels = {name: statement(panel, name)["retention_probability"] for name in names}
    assert levels.pop(chosen) == pytest.approx(0.7, abs=0.01)
    assert sorted(levels.values()) == [0.1, 0.4]


def test_the_guarantee_adds_up_what_all_attributes_tell_the_recipient_chosen(session, qtbot):
    card = GuaranteeCard(session)
    qtbot.addWidget(card)
    table, document = several(session.noise)
    open_clinic(session, document, table)
    explain_first(qtbot, card)
    qtbot.waitUntil(lambda: "All attributes" in card.text())
    # Four diseases at p = 0.6, two wards at ε = 0.5; the cost is protected by noise.
    total = np.log(1 + 4 * 0.6 / 0.4) + 0.5
    told = next(line for line in card.text().splitlines() if "disease and ward together" in line)
    assert f"ε = {np.ceil(10 * total) / 10:g}" in told
    assert "Not counted, as noise bounds no odds: cost." in told
    card.explain("Public")
    assert told not in card.text()
    assert "disease and ward together" in card.text()
