"""The help beside the work: its page follows the theme, folds, and is found by a search."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication, Qt, QUrl
from PySide6.QtTest import QTest

from sfumato.ui.dialogs import help as help_module
from sfumato.ui.dialogs.help import HelpDialog
from sfumato.ui.look.theme import Appearance, current_theme, themes
from tests.ui.hands import on_screen, type_into


@pytest.fixture
def written(monkeypatch):
    """The themes in whose colours pages were written, in order."""
    seen = []
    real = help_module.set_prose

    def write(document, markdown, style):
        seen.append("dark" if style.dark else "light")
        real(document, markdown, style)

    monkeypatch.setattr(help_module, "set_prose", write)
    return seen


@pytest.fixture
def dialog(themed, qtbot, written):
    made = on_screen(qtbot, HelpDialog())
    made.show_page("policy")
    written.clear()
    yield made
    themes().set_appearance(Appearance.LIGHT)


def test_a_page_is_written_anew_once_the_switch_is_over(dialog, written):
    themes().set_appearance(Appearance.DARK)
    assert written == []  # Qt is still handing the new colours round
    QCoreApplication.processEvents()
    assert written == ["dark"]
    assert current_theme().style.accent in dialog.text.document().defaultStyleSheet()


def test_switches_in_a_row_write_a_page_once(dialog, written):
    for look in (Appearance.DARK, Appearance.LIGHT, Appearance.DARK):
        themes().set_appearance(look)
    QCoreApplication.processEvents()
    assert written == ["dark"]


def test_a_page_stays_where_it_was_read(dialog):
    dialog.unfold.click()
    bar = dialog.text.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    before = bar.value()
    assert before > 0
    themes().set_appearance(Appearance.DARK)
    QCoreApplication.processEvents()
    assert bar.value() == before


def test_a_closed_help_is_written_anew_when_it_is_opened(dialog, written):
    dialog.close()
    themes().set_appearance(Appearance.DARK)
    QCoreApplication.processEvents()
    assert written == []
    dialog.show()
    assert written == ["dark"]


def shown(dialog) -> str:
    return dialog.text.toPlainText()


def test_a_page_shows_its_answer_and_the_headings_of_the_rest(dialog):
    dialog.show_page("policy")
    assert "drag a cell" in shown(dialog)
    assert "▸ Recipients" in shown(dialog)
    assert "typical case" not in shown(dialog)


def test_a_heading_opens_and_closes_its_section_where_it_stands(dialog):
    dialog.show_page("policy")
    dialog.text.anchorClicked.emit(QUrl("fold:recipients"))
    assert "▾ Recipients" in shown(dialog)
    assert "typical case" in shown(dialog)
    assert dialog.text.textCursor().selectedText() == "▾ Recipients"
    dialog.text.setFocus()
    QTest.keyClick(dialog.text, Qt.Key.Key_Return)  # the heading has the keyboard
    assert "typical case" not in shown(dialog)


def test_a_whole_page_can_be_shown_and_folded(dialog):
    dialog.show_page("policy")
    folded = len(shown(dialog))
    dialog.unfold.click()
    assert len(shown(dialog)) > 5 * folded
    dialog.unfold.click()
    assert len(shown(dialog)) == folded


def test_ctrl_f_searches_all_pages_and_marks_what_was_found(qtbot, dialog):
    dialog.activateWindow()
    dialog.text.setFocus()
    QTest.keyClick(dialog.text, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert dialog.search.hasFocus()
    QTest.keyClicks(dialog.search, "verify a file")
    assert dialog.list.item(0).text().startswith("Releases ▸ Verifying a file\n")
    assert "verify" in dialog.list.item(0).text().casefold()
    qtbot.waitUntil(lambda: "identifies the release" in shown(dialog))
    marked = {mark.cursor.selectedText().casefold() for mark in dialog.text.extraSelections()}
    assert "verify" in marked
    assert dialog.told.text() == f"{dialog.list.count()} places found"


def test_arrow_keys_choose_what_was_found_and_enter_leads_into_it(dialog):
    type_into(dialog.search, "passphrase")
    first = shown(dialog)
    QTest.keyClick(dialog.search, Qt.Key.Key_Down)
    assert dialog.list.currentRow() == 1
    assert shown(dialog) != first
    QTest.keyClick(dialog.search, Qt.Key.Key_Return)
    assert dialog.text.hasFocus()


def test_a_search_without_result_says_what_to_do_and_leaves_the_page(dialog):
    before = shown(dialog)
    dialog.search.setText("xyzzyq")  # pasted: each letter typed would find something first
    assert dialog.told.text().startswith("Nothing found for “xyzzyq”. Try one word")
    assert shown(dialog) == before
    assert dialog.list.count() == len(dialog.pages)
    dialog.search.setFocus()
    QTest.keyClick(dialog.search, Qt.Key.Key_Escape)
    assert dialog.isVisible()
    assert not dialog.told.isVisible()
    assert dialog.list.currentItem().text() == "Policy"


def test_a_link_leads_to_a_section(dialog):
    dialog.text.anchorClicked.emit(QUrl("releases.md#the-ledger"))
    assert dialog.list.currentItem().text() == "Releases"
    assert "▾ The ledger" in shown(dialog)


def test_pictures_are_those_of_the_look(dialog):
    def named() -> list[str]:
        found, block = [], dialog.text.document().begin()
        while block.isValid():
            parts = block.begin()
            while not parts.atEnd():
                shape = parts.fragment().charFormat()
                if shape.isImageFormat():
                    found.append(shape.toImageFormat().name())
                parts += 1
            block = block.next()
        return found

    dialog.show_page("policy")
    assert named() == ["pictures/board-light.png"]
    themes().set_appearance(Appearance.DARK)
    QCoreApplication.processEvents()
    assert named() == ["pictures/board-dark.png"]
