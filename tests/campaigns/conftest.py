"""Fixtures for campaigns in the window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from sfumato.ui.look.theme import Appearance, current_theme, themes
from sfumato.ui.shell.main_window import MainWindow


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which everything happens, whatever is typed as a path."""
    made = tmp_path / "place"
    made.mkdir()
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def dressed(plain: QApplication, window: MainWindow) -> Iterator[MainWindow]:
    """The window in its style sheet, as a person sees it."""
    plain.setStyleSheet(current_theme().stylesheet())
    yield window
    themes().set_appearance(Appearance.LIGHT)
