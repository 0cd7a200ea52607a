"""Numbers in sentences, as every panel writes them."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QAccessible, QTextDocument
from PySide6.QtWidgets import QLabel

from sfumato.engine.core.wording import Sentence
from sfumato.ui.look.wording import apart, rich_text, typeset
from sfumato.ui.shell.guarantee_card import GuaranteeCard
from sfumato.ui.widgets.layout import label
from tests.ui.hands import explain_first, on_screen
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


def test_a_sign_stays_with_its_number_beside_a_name_in_another_weight(qtbot):
    document = QTextDocument()
    document.setHtml(rich_text(apart(Sentence("{name} within 30 %", name="ward"), {"ward"})))
    assert document.toRawText() == "ward within 30\u00a0%"


def test_the_guarantee_breaks_no_line_between_a_number_and_its_sign(qtbot, session):
    card = on_screen(qtbot, GuaranteeCard(session))
    open_payroll(session, protected())
    explain_first(qtbot, card)

    def promised():
        return [
            label.text() for label in card.findChildren(QLabel) if "In this table" in label.text()
        ]

    qtbot.waitUntil(lambda: bool(promised()))
    assert any("±\u202f" in text for text in promised())
    assert not any("± " in text for text in promised())


def test_a_column_s_name_has_another_weight_and_is_no_markup(qtbot):
    text = Sentence("{column} & {name} tell it.", column="<b>", name="<i>")
    shown = label(apart(text, {"<b>"}), wrap=True)
    qtbot.addWidget(shown)
    assert shown.text() == "<b> & <i> tell it."
    assert QAccessible.queryAccessibleInterface(shown).text(QAccessible.Text.Name) == shown.text()
    document = QTextDocument()
    document.setHtml(QLabel.text(shown))
    fragment = document.begin().begin()
    assert fragment.fragment().text() == "<b>"
    assert fragment.fragment().charFormat().fontWeight() == 600
    shown.setText("Nothing else")
    assert QLabel.text(shown) == "Nothing else"
