"""The help beside the work: its page follows the theme, after Qt has told every widget."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication

from sfumato.ui.dialogs import help as help_module
from sfumato.ui.dialogs.help import HelpDialog
from sfumato.ui.look.theme import Appearance, current_theme, themes
from tests.ui.hands import on_screen


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
