"""Numbers in sentences, as every panel writes them."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel

from sfumato.ui.look.wording import typeset
from sfumato.ui.shell.guarantee_card import GuaranteeCard
from tests.ui.hands import on_screen
from tests.ui.payroll import open_payroll, protected


@pytest.mark.parametrize(
    ("told", "written"),
    [
        ("16,044 of 1,030,162 records", "16,044 of 1,030,162 records"),
        ("with 90 % confidence", "with 90\u202f% confidence"),
        ("it is ± 21.6 and ± 19,700.", "it is ±\u202f21.6 and ±\u202f19,700."),
        ("levels 0.2, 0.5 and 1,2", "levels 0.2, 0.5 and 1,2"),
    ],
)
def test_signs_stay_with_their_numbers(told, written):
    assert typeset(told) == written


def test_the_guarantee_breaks_no_line_between_a_number_and_its_sign(qtbot, session):
    card = on_screen(qtbot, GuaranteeCard(session))
    open_payroll(session, protected())

    def promised():
        return [
            label.text() for label in card.findChildren(QLabel) if "In this table" in label.text()
        ]

    qtbot.waitUntil(lambda: bool(promised()), timeout=20_000)
    assert any("±\u202f" in text for text in promised())
    assert not any("± " in text for text in promised())
