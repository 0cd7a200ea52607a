"""Asking for files: the platform's own dialogs, replaceable where nobody can answer them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QApplication, QFileDialog

from sfumato.formats.reading import readable_extensions


class FileChooser(Protocol):
    """Asks for a file or a folder; None when the person thought better of it."""

    def open_file(self, title: str, filters: str, folder: Path | None = None) -> Path | None:
        """Ask for a file that is there."""

    def save_file(self, title: str, filters: str, proposal: Path) -> Path | None:
        """Ask for the name of a file to be written."""

    def folder(self, title: str, folder: Path | None = None) -> Path | None:
        """Ask for a folder."""


class PlatformChooser:
    """The platform's file dialogs, in front of the active window."""

    def open_file(self, title: str, filters: str, folder: Path | None = None) -> Path | None:
        """Ask for a file that is there."""
        chosen, _ = QFileDialog.getOpenFileName(
            QApplication.activeWindow(), title, str(folder or ""), filters
        )
        return Path(chosen) if chosen else None

    def save_file(self, title: str, filters: str, proposal: Path) -> Path | None:
        """Ask for the name of a file to be written."""
        chosen, _ = QFileDialog.getSaveFileName(
            QApplication.activeWindow(), title, str(proposal), filters
        )
        return Path(chosen) if chosen else None

    def folder(self, title: str, folder: Path | None = None) -> Path | None:
        """Ask for a folder."""
        chosen = QFileDialog.getExistingDirectory(
            QApplication.activeWindow(), title, str(folder or "")
        )
        return Path(chosen) if chosen else None


def table_filters() -> str:
    """Return the file dialog's filters for all formats that can be read."""
    tr = QCoreApplication.translate
    found = readable_extensions()
    every = " ".join(f"*{ending}" for endings in found.values() for ending in endings)
    each = [
        f"{title} ({' '.join(f'*{ending}' for ending in endings)})"
        for title, endings in found.items()
    ]
    everything = tr("Files", "All files (*)")
    return ";;".join([tr("Files", "Tables ({endings})").format(endings=every), *each, everything])
