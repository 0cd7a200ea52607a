"""Turns what the card of adopted releases asks for into dialogs, jobs and edits."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms import mechanism_called
from sfumato.project.adoption.adopt import (
    check_not_released,
    entry_called,
    with_new_place,
    without_file,
)
from sfumato.project.document.adopted_files import AdoptedFile, adopted_files
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.ui.panels.policy.adoption.card import AdoptedCard
from sfumato.ui.panels.policy.adoption.dialog import AdoptDialog
from sfumato.ui.panels.policy.adoption.wording import tr
from sfumato.ui.shell.choosers import table_filters
from sfumato.ui.shell.messages import Message
from sfumato.ui.state.records import releases_of
from sfumato.ui.state.session import Session

PLACE_JOB: Final = "adopted place"


class AdoptionDesk(QObject):
    """Serves the card of one entry's page.

    Parameters
    ----------
    session
        What is open.
    card
        The card; the desk belongs to it.
    """

    def __init__(self, session: Session, card: AdoptedCard) -> None:
        super().__init__(card)
        self._session, self._card = session, card
        self._key = ""
        self.dialog: AdoptDialog | None = None
        card.adopt_asked.connect(self._ask)
        card.removal_asked.connect(self._remove)
        card.place_asked.connect(self._show_place)

    def show_entry(self, entry: PolicyEntry) -> tuple[AdoptedFile, ...]:
        """Show an entry's adopted releases; return them."""
        self._key = entry.key
        self._card.setVisible(mechanism_called(entry.mechanism).adopts)
        try:
            files = adopted_files(entry.settings)
        except SfumatoError:
            files = ()  # the guarantee says what is wrong with them
        self._card.show_files(entry, files)
        return files

    def _ask(self) -> None:
        session, table = self._session, self._session.table
        entry = entry_called(session.document, self._key)
        columns = [session.attribute(name) for name in entry.attributes]
        known = [column for column in columns if column is not None]
        if table is None or len(known) < len(columns):
            return
        self.dialog = AdoptDialog(session, entry, known, table, self._card.window())
        self.dialog.adopted.connect(self._adopt)
        self.dialog.finished.connect(self._forget)
        self.dialog.open()

    def _forget(self, _result: int) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None

    def _adopt(self, document: Document) -> None:
        self._session.edit(tr("Adopt an earlier release of {name}", name=self._key), document)

    def _remove(self, digest: str) -> None:
        session = self._session
        changed = without_file(session.document, self._key, digest)
        before, after = (entry_called(d, self._key) for d in (session.document, changed))
        try:
            check_not_released(before, after, releases_of(session))
        except SfumatoError as error:
            session.message.emit(Message.of_error(error, topic="adoption"))
            return
        session.edit(tr("Adopt a release of {name} no more", name=self._key), changed)

    def _show_place(self, digest: str) -> None:
        session = self._session
        path = session.chooser.open_file(tr("Show where the file is now"), table_filters())
        if path is None:
            return
        session.runner.run(
            tr("Reading {name}", name=Path(path).name),
            partial(with_new_place, session.document, self._key, digest, path),
            partial(self._take_place, session.document),
            lambda error: session.message.emit(Message.of_error(error, topic="adoption")),
            key=PLACE_JOB,
        )

    def _take_place(self, before: Document, changed: Document) -> None:
        if self._session.document == before:
            self._session.edit(tr("Show where an adopted release is"), changed)
