"""Fixtures for tests that need an application, jobs, a session or the whole window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from sfumato.jobs import JobRunner
from sfumato.project import project_file as project_store
from sfumato.project.store.secret import ScryptCost
from sfumato.ui.look.theme import Appearance, current_theme, themes
from sfumato.ui.panels.audit.panel import AuditPanel
from sfumato.ui.panels.data.panel import DataPanel
from sfumato.ui.panels.policy.panel import PolicyPanel
from sfumato.ui.pictures import take_down
from sfumato.ui.shell.main_window import MainWindow
from sfumato.ui.state.session import Session
from sfumato.ui.widgets import messages
from sfumato.ui.widgets.painted import tell_roles
from tests.ui.hands import at_settings, on_screen

CLINIC = """\
patient,age,ward,disease
p1,34,north,flu
p2,51,north,asthma
p3,29,south,flu
p4,62,south,diabetes
p5,45,east,
p6,38,east,asthma
"""


class Answers:
    """Answers the questions for files that a person would answer."""

    def __init__(self) -> None:
        self.file: Path | None = None
        self.saved: Path | None = None
        self.chosen_folder: Path | None = None
        self.asked: list[str] = []
        self.proposed: list[Path] = []

    def open_file(self, title: str, filters: str, folder: Path | None = None) -> Path | None:
        self.asked.append(title)
        return self.file

    def save_file(self, title: str, filters: str, proposal: Path) -> Path | None:
        self.asked.append(title)
        self.proposed.append(proposal)
        return self.saved

    def folder(self, title: str, folder: Path | None = None) -> Path | None:
        self.asked.append(title)
        return self.chosen_folder


PATIENCE_MILLISECONDS = 180_000
"""How long a test waits for what has to come: a loaded machine takes its time."""


@pytest.fixture(autouse=True, scope="session")
def patience() -> Iterator[None]:
    """Let no test fail since the machine is slow: pytest-qt would wait 5 seconds."""
    with pytest.MonkeyPatch.context() as patch:
        for waits in (QtBot.waitUntil, QtBot.waitSignal, QtBot.waitSignals, QtBot.waitCallback):
            patch.setitem(waits.__kwdefaults__, "timeout", PATIENCE_MILLISECONDS)
        yield


@pytest.fixture
def plain(qapp: QApplication, request: pytest.FixtureRequest) -> QApplication:
    """The application in light colours, with the bundled font and without its style sheet.

    The sheet takes much of a widget's time to build; a test about how things look asks for
    `themed`, and gets it at once: windows that stay from test to test are styled anew each time.
    """
    QSettings.setDefaultFormat(QSettings.Format.IniFormat)
    themes().set_appearance(Appearance.LIGHT)
    sheet = current_theme().stylesheet() if "themed" in request.fixturenames else ""
    if qapp.styleSheet() != sheet:
        qapp.setStyleSheet(sheet)
    return qapp


@pytest.fixture
def themed(plain: QApplication) -> QApplication:
    """The application in its light look, with the bundled font."""
    return plain


@pytest.fixture
def told() -> Iterator[None]:
    """A screen reader at work."""
    tell_roles()
    QAccessible.setActive(True)
    yield
    QAccessible.setActive(False)


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """What a screen reader is given to say, and whether it may interrupt."""
    told: list[tuple[str, bool]] = []
    urgent = QAccessible.AnnouncementPoliteness.Assertive

    class Listening(QAccessible):
        @staticmethod
        def updateAccessibility(event: QAccessibleAnnouncementEvent) -> None:
            told.append((event.message(), event.politeness() == urgent))

    monkeypatch.setattr(messages, "QAccessible", Listening)
    return told


@pytest.fixture
def runner(qapp: QApplication) -> Iterator[JobRunner]:
    """A job runner that is shut down at the end."""
    made = JobRunner()
    yield made
    made.shutdown()
    made.deleteLater()


@pytest.fixture
def answers() -> Answers:
    """What the person answers when asked for files."""
    return Answers()


@pytest.fixture
def session(plain: QApplication, answers: Answers) -> Iterator[Session]:
    """A fresh session that forgets its settings, closed at the end."""
    made = Session(store=at_settings(), chooser=answers)
    yield made
    made.forget_changes()
    made.close()
    made.deleteLater()


@pytest.fixture
def quick_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Projects whose passphrases cost no time to try."""
    defaults = project_store.ProjectFile.create.__func__.__kwdefaults__  # type: ignore[attr-defined]
    monkeypatch.setitem(defaults, "cost", ScryptCost(2**4))


@pytest.fixture
def window(plain: QApplication, answers: Answers, quick_secrets: None) -> Iterator[MainWindow]:
    """The whole window, shown offscreen, with all jobs ended at the end."""
    made = MainWindow(Session(store=at_settings(), chooser=answers))
    made.show()
    yield made
    made.session.forget_changes()
    made.session.runner.shutdown()
    made.session.close()
    take_down(made)


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """A small table about patients."""
    path = tmp_path / "clinic.csv"
    path.write_text(CLINIC, encoding="utf-8")
    return path


@pytest.fixture
def audit_panel(qtbot: QtBot, session: Session) -> AuditPanel:
    """The Audit panel in sight, with nothing open yet."""
    return on_screen(qtbot, AuditPanel(session), 900, 800)


@pytest.fixture
def data_panel(qtbot: QtBot, session: Session) -> DataPanel:
    """The Data panel in sight, with nothing open yet."""
    return on_screen(qtbot, DataPanel(session), 900, 640)


@pytest.fixture
def tall_policy_panel(qtbot: QtBot, session: Session) -> PolicyPanel:
    """The Policy panel, high enough to have a mechanism's settings in sight."""
    return on_screen(qtbot, PolicyPanel(session), 900, 1200)
