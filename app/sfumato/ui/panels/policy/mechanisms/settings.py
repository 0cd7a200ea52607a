"""What a mechanism's settings are stated with: they belong to the entry, to no recipient."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from sfumato.engine.mechanisms.base import Settings, Statement
from sfumato.engine.table.table import Attribute
from sfumato.ui.state.session import Session


class SettingsEditor(QWidget):
    """States the settings of one policy entry.

    What is not right yet stays here, marked where it is wrong; the document only ever gets
    settings that hold. A mechanism's `LevelEditor` names its subclass in `settings_editor`.

    Parameters
    ----------
    session
        Runs jobs and asks for files; the document is edited through the signals alone.
    """

    settings_stated = Signal(object)
    """The person changed the settings: `Settings` that hold for the attributes in sight."""
    finished = Signal()
    """The next change is another step of undo."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session

    def show_settings(self, attributes: Sequence[Attribute], settings: Settings) -> None:
        """Show an entry's settings."""
        del attributes, settings

    def fitted(self, statement: Statement, settings: Settings) -> Statement:
        """Return what becomes of a recipient's statement under new settings.

        Itself, unless the settings leave no room for it and the nearest one that they allow is
        clear; what is not sound for another reason stays, for the person to put right.
        """
        del settings
        return statement

    def leave(self) -> None:
        """Stop what is being worked out: another entry comes into sight."""
