"""Another language is spoken at once: a window takes the place of the one before."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from sfumato.engine.core.wording import listed
from sfumato.formats.language import said
from sfumato.ui.look.wording import spoken
from sfumato.ui.pictures import take_down
from sfumato.ui.shell.application import ShownWindow
from sfumato.ui.state.session import Session
from sfumato.ui.state.settings import speak
from tests.ui.clinic import open_clinic, protected, wait_for_jobs
from tests.ui.hands import at_settings


@pytest.fixture
def shown(plain, qtbot):
    made = ShownWindow(Session(store=at_settings()))
    made.window.show()
    open_clinic(made.window.session, protected())
    wait_for_jobs(qtbot, made.window.session)
    yield made
    made.window.session.forget_changes()
    take_down(made.window)
    speak(plain, "en")


def first_menu(shown):
    return shown.window.menuBar().actions()[0].text()


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_language_changes_without_a_restart_and_nothing_is_lost(qtbot, shown):
    session, before = shown.window.session, shown.window
    session.edit("Name it", replace(session.document, title="Named"))
    before.show_panel("policy")
    wait_for_jobs(qtbot, session)
    before.menus.actions["language-de"].trigger()
    qtbot.waitUntil(lambda: shown.window is not before)
    assert first_menu(shown) == "&Datei"
    assert shown.window.isVisible()
    assert shown.window.current.name == "policy"
    assert shown.window.session is session
    wait_for_jobs(qtbot, session)
    session.undo()
    assert session.document.title == "Clinic"
    wait_for_jobs(qtbot, session)
    german = shown.window
    german.menus.actions["language-en"].trigger()
    qtbot.waitUntil(lambda: shown.window is not german)
    assert first_menu(shown) == "&File"


@pytest.mark.slow
def test_running_work_ends_before_the_language_changes(qtbot, shown):
    before, going = shown.window, threading.Event()

    def work(context):
        going.set()
        while True:
            context.report(0.5, "")
            threading.Event().wait(0.01)

    job = before.session.runner.run("Works", work)
    before.menus.actions["language-de"].trigger()
    qtbot.waitUntil(going.is_set)
    assert shown.window is before
    job.cancel()
    qtbot.waitUntil(lambda: shown.window is not before)
    assert first_menu(shown) == "&Datei"


@pytest.mark.parametrize("speak_", [str, spoken, said])
def test_thousands_of_names_are_listed_in_their_order(speak_):
    names = [f"Office {place}" for place in range(5_000)]
    for count in (1, 2, 3, 4, 7, 5_000):
        *others, last = names[:count]
        assert speak_(listed(names[:count])) == (
            f"{', '.join(others)} and {last}" if others else last
        )
