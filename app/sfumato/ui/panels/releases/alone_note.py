"""How many records are alone in what every recipient sees as it is, before anything goes out."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.project.release.attacker import public_names
from sfumato.project.release.uniqueness import (
    RELEASE_ADVICE,
    AloneInRelease,
    alone_in_release,
    release_sentence,
)
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken, typeset
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.icons import IconLabel
from sfumato.ui.widgets.layout import label, row, set_look

ALONE_JOB: Final = "releases-alone"


class AloneNote(QWidget):
    """Counts, while it is in sight, the records that a recipient finds by unperturbed columns.

    Parameters
    ----------
    session
        What is open.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._asked: tuple[object, ...] | None = None
        self.text = label("", "muted", wrap=True)
        self._icon = IconLabel("danger", "danger", 18)
        line = row(self._icon, self.text, spacing=Space.INSIDE)
        line.setAlignment(self._icon, Qt.AlignmentFlag.AlignTop)
        line.setStretch(1, 1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addLayout(line)
        self._say("", danger=False)
        session.table_changed.connect(self._refresh)
        session.document_changed.connect(self._refresh)

    def showEvent(self, event: QShowEvent) -> None:
        """Count what has changed while nobody looked."""
        super().showEvent(event)
        self._refresh()

    def _refresh(self) -> None:
        document, table = self._session.document, self._session.table
        if not self.isVisible():
            return
        names = () if table is None else public_names(document)
        columns = tuple(document.column(name) for name in names)
        if self._asked is not None and table is self._asked[0] and columns == self._asked[1:]:
            return
        asked = self._asked = (table, *columns)
        if table is None or not names:
            self._session.runner.cancel(ALONE_JOB)
            self._say("", danger=False)
            return
        self._say(
            self.tr("Counting the records that are unique on the columns released unchanged…"),
            danger=False,
        )
        self._session.runner.run(
            self.tr("Counting unique records"),
            lambda context: alone_in_release(document, table, context),
            partial(self._take, asked),
            partial(self._refuse, asked),
            key=ALONE_JOB,
        )

    def _take(self, asked: tuple[object, ...], found: AloneInRelease | None) -> None:
        if asked is not self._asked or found is None:
            return
        advice = f" {spoken(RELEASE_ADVICE)}" if found.alone else ""
        self._say(typeset(release_sentence(found)) + advice, danger=bool(found.alone))

    def _refuse(self, asked: tuple[object, ...], _problem: SfumatoError) -> None:
        """Say nothing: a column that can't be counted keeps every release from being made."""
        if asked is self._asked:
            self._say("", danger=False)

    def _say(self, text: str, *, danger: bool) -> None:
        self.text.setText(text)
        set_look(self.text, "danger" if danger else "muted")
        self._icon.setVisible(danger)
