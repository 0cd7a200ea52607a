"""A real window in a process of its own, which does what a person does, as it is told by lines.

Run as ``python -m tests.e2e.window_driver``; each line of standard input is JSON with what to
``do`` (`open`, `mark`, `save`, `release` or `close`) and its details. The answer is a line of JSON
with the ``messages`` in sight, the columns that are ``insensitive``, whether a project is ``open``,
and how many ``releases`` its ledger has.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from sfumato.engine.core.columns import Role
from sfumato.ui.dialogs.base import OpenPassphraseDialog
from sfumato.ui.pictures import settle
from sfumato.ui.shell.application import make_application
from sfumato.ui.shell.main_window import MainWindow
from sfumato.ui.state.session import Session
from tests.project.making import PASSPHRASE
from tests.ui.hands import at_settings, choose, click, messages, type_into


class Person:
    """Somebody at one of the windows."""

    def __init__(self) -> None:
        self.window = MainWindow(Session(store=at_settings()))
        self.window.show()
        self.waits()

    def waits(self) -> None:
        settle(self.window.session)

    def goes_to(self, name: str) -> Any:
        QTest.mouseClick(self.window.rail.step(name), Qt.MouseButton.LeftButton)
        self.waits()
        return self.window.panels[name]

    def open(self, path: str) -> None:
        self.window.open_file(Path(path))
        for dialog in self.window.findChildren(OpenPassphraseDialog):
            if dialog.isVisible():
                type_into(dialog.first, PASSPHRASE)
                click(dialog.submit)
                self.waits()

    def mark(self, column: str) -> None:
        panel = self.goes_to("attributes")
        panel.choose(column)
        choose(panel.detail.role, Role.INSENSITIVE)
        self.waits()

    def save(self) -> None:
        self.window.menus.actions["save"].trigger()
        self.waits()

    def release(self, folder: str) -> None:
        panel = self.goes_to("releases")
        type_into(panel.form.folder, folder)
        self.waits()
        if panel.readiness.ask.isVisible():
            type_into(panel.readiness.reason, "Nobody is in it")
        click(panel.primary)
        self.waits()

    def close(self) -> None:
        self.window.menus.actions["new"].trigger()
        self.waits()

    def tells(self) -> dict[str, Any]:
        session = self.window.session
        told = {
            "messages": messages(self.window.current.messages),
            "insensitive": [c.name for c in session.document.columns if c.role is Role.INSENSITIVE],
            "open": session.project is not None,
            "releases": 0 if session.project is None else len(session.project.releases),
        }
        self.window.current.messages.clear()
        return told


def main() -> None:
    """Do what is told until nothing more is."""
    make_application(["sfumato"])
    person = Person()
    for line in sys.stdin:
        asked = json.loads(line)
        getattr(person, asked.pop("do"))(**asked)
        sys.stdout.write(json.dumps(person.tells()) + "\n")
        sys.stdout.flush()
    person.window.session.runner.shutdown()
    person.window.session.close()


if __name__ == "__main__":
    main()
