"""The guarantee card says what pooling the rows of a household restores."""

from __future__ import annotations

import pytest

from sfumato.engine.table.table import Table
from sfumato.ui.shell.guarantee_card import GuaranteeCard
from sfumato.ui.state.insights import SurveyedTable
from tests.in_batches import in_batches
from tests.project.test_pooled_rows import a_document
from tests.samples.make_households import households
from tests.ui.hands import explain_first


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_card_tells_what_pooled_rows_give_away(session, qtbot):
    card = GuaranteeCard(session)
    qtbot.addWidget(card)
    session.open_table("Open", SurveyedTable.of(in_batches(Table(households(120)))), a_document())
    explain_first(qtbot, card)
    qtbot.waitUntil(lambda: "Rows with the same household show the same true water" in card.text())
    assert "Pooled, they give away the true value of" in card.text()
