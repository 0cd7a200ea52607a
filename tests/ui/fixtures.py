"""Fixtures for tests that need an application, jobs or a session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

from app.jobs.runner import JobRunner
from app.ui.session import Session
from app.ui.settings import MemoryStore
from app.ui.theme import Appearance, themes


@pytest.fixture
def themed(qapp: QApplication) -> QApplication:
    """The application in its light look, with the bundled font."""
    QSettings.setDefaultFormat(QSettings.Format.IniFormat)
    themes().set_appearance(Appearance.LIGHT)
    return qapp


@pytest.fixture
def runner(qapp: QApplication) -> Iterator[JobRunner]:
    """A job runner that is shut down at the end."""
    made = JobRunner()
    yield made
    made.shutdown()
    made.deleteLater()


@pytest.fixture
def session(themed: QApplication) -> Iterator[Session]:
    """A fresh session that forgets its settings, closed at the end."""
    made = Session(store=MemoryStore())
    yield made
    made.close()
    made.deleteLater()
