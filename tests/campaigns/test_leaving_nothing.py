"""What is done again and again in the window leaves no more behind than doing it a few times."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QObject
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from sfumato.engine.mechanisms import count_solver
from sfumato.ui.look.theme import Appearance
from sfumato.ui.shell.main_window import MainWindow
from sfumato.ui.widgets.paint_queue import turns
from tests.campaigns.walk import make_tables, put_away
from tests.ui.hands import settle

WARM, MORE = 3, 3
"""Pages, menus and figures are made when they are first needed."""


class Person:
    """Does what a person does in a day's work, each time in the same way."""

    def __init__(self, window: MainWindow, folder: Path, qtbot: QtBot) -> None:
        self.window, self._folder, self._qtbot = window, folder, qtbot
        make_tables(folder / "tables", 1)

    def open(self, name: str) -> None:
        self.window.open_file(self._folder / "tables" / name)
        self._settle()
        self.window.panels["data"].load_button.click()
        self._settle()

    def open_tables(self) -> None:
        for name in ("numbers.csv", "wide.csv", "people.csv"):
            self.open(name)

    def decide(self) -> None:
        self.open("clinic.csv")
        self.window.rules.apply(self._folder / "tables" / "clinic.toml")
        self._settle()
        # What is found of the decisions is kept: found each time, it is there whenever it counts.
        self.window.session.steps.check_policy()
        self._settle()

    def look_around(self) -> None:
        self.decide()
        for name in self.window.panels:
            self.window.show_panel(name)
            self._settle()

    def change_the_look(self) -> None:
        self.decide()
        for look in (Appearance.DARK, Appearance.LIGHT):
            self.window.set_appearance(look)
            self._settle()

    def undo_and_redo(self) -> None:
        self.decide()
        self.window.show_panel("policy")
        page = self.window.panels["policy"].page
        for place in range(8):
            page.stated.emit({"retention_probability": 0.1 + place / 100})
            page.finished.emit()
        for _ in range(5):
            self.window.session.undo()
        for _ in range(3):
            self.window.session.redo()

    def open_dialogs(self) -> None:
        self.window.show_about()
        self.window.show_help()
        self._settle()

    def _settle(self) -> None:
        settle(self._qtbot, self.window.session)
        turns().finish()
        QCoreApplication.processEvents()


def living(window: MainWindow) -> Counter[str]:
    """Count Qt's objects in all windows, and Python's that are Sfumato's own or figures."""
    put_away(window)
    count_solver._solved.cache_clear()  # the last profiles are kept on purpose, and bounded
    gc.collect()
    found: Counter[str] = Counter()
    for top in QApplication.topLevelWidgets():
        found.update(f"Qt {type(each).__name__}" for each in (top, *top.findChildren(QObject)))
    for each in gc.get_objects():
        kind = type(each)
        # Figures count; how much is in one depends on what was drawn when it was put away.
        module = str(kind.__module__)
        own = module.startswith("sfumato.") and not module.startswith("sfumato.plots.")
        if own or module.startswith(("matplotlib.figure", "pandas.core.frame")):
            found[f"{kind.__module__}.{kind.__qualname__}"] += 1
    return found


@pytest.mark.turns(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    "deed",
    [
        Person.open_tables,
        Person.look_around,
        Person.change_the_look,
        Person.undo_and_redo,
        Person.open_dialogs,
    ],
    ids=lambda deed: deed.__name__,
)
def test_what_is_done_again_leaves_no_more(
    dressed: MainWindow, place: Path, qtbot: QtBot, deed: Callable[[Person], None]
):
    person = Person(dressed, place, qtbot)
    for _ in range(WARM):
        deed(person)
        put_away(dressed)
    before = living(dressed)
    for _ in range(MORE):
        deed(person)
        put_away(dressed)
    after = living(dressed)
    # Something that each time leaves one behind has left as many as there were times.
    grown = {kind: after[kind] - before[kind] for kind in after}
    assert {kind: more for kind, more in grown.items() if more >= MORE} == {}
