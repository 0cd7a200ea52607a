"""Saving a document's rules as a file of their own, and applying such a file to the table."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.formats.files import write_whole
from sfumato.project.document.model import Document
from sfumato.project.rules.rules import apply_rules, rules_of
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.messages import Action, Message, MessageKind

TOPIC: Final = "rules"
SUFFIX: Final = ".toml"


class Rules(QObject):
    """What the File menu does with rules files.

    Parameters
    ----------
    session
        What is open.
    parent
        The owner.
    """

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session

    def choose_and_save(self) -> None:
        """Ask where to save the rules, and save them."""
        name = self._session.document.title or self.tr("rules")
        path = self._session.chooser.save_file(
            self.tr("Save rules"), self._filters(), Path.home() / f"{name}{SUFFIX}"
        )
        if path is not None:
            self.save(path if path.suffix else path.with_suffix(SUFFIX))

    def save(self, path: Path) -> None:
        """Write the document's rules."""
        text = rules_of(self._session.document, path.parent)

        def work(_context: Context) -> None:
            write_whole(path, text.encode())

        def saved(_result: None) -> None:
            self._say(
                MessageKind.GOOD,
                self.tr("The rules are saved at {path}.").format(path=path),
                self.tr("They hold no secret; the values a column can take are listed in them."),
            )

        self._session.runner.run(self.tr("Saving rules"), work, saved)

    def choose_and_apply(self) -> None:
        """Ask which rules to apply."""
        path = self._session.chooser.open_file(self.tr("Apply rules"), self._filters())
        if path is not None:
            self.apply(path)

    def apply(self, path: Path) -> None:
        """Apply a rules file to the open table, as one step that can be undone."""
        session = self._session
        long, document, noise = session.long, session.document, session.noise
        table, edit = session.table if long is None else long.survey, self.tr("Apply rules")
        if table is None:
            self._say(
                MessageKind.INFO,
                self.tr("Rules are applied to a table, and none is open yet."),
                self.tr("Open the table first, then apply the rules."),
            )
            return

        def work(_context: Context) -> Document:
            try:
                text = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                raise SfumatoError(
                    "{path} is not a text file in UTF-8.", "Choose a rules file.", path=path
                ) from None
            return apply_rules(text, table, document, path.parent, noise)

        def applied(changed: Document) -> None:
            session.edit(edit, changed)
            undo = Action(self.tr("Undo"), session.undo)
            self._say(
                MessageKind.GOOD,
                self.tr("The rules of {name} are applied.").format(name=path.name),
                "",
                undo,
            )

        taken = session.unless_changed(edit, applied)
        session.runner.run(self.tr("Applying rules"), work, taken, key=TOPIC)

    def _say(self, kind: MessageKind, text: str, remedy: str = "", *actions: Action) -> None:
        self._session.message.emit(Message(kind, text, remedy, actions, TOPIC))

    def _filters(self) -> str:
        return self.tr("Rules (*{suffix})").format(suffix=SUFFIX)
