"""What the dialogs share that ask about a file: choosing it, waiting, problems, unknown values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Final, Generic, TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.files import table_filters
from sfumato.ui.widgets.layout import Card, ElidedLabel, ScrollPage, form
from sfumato.ui.widgets.messages import Message

Found = TypeVar("Found")
Key = TypeVar("Key", bound=Hashable)
OPEN: Final = -1


class Meanings(Card, Generic[Key]):
    """For each value of a file that the domain does not have, a choice of the domain's values."""

    changed = Signal()
    """A value was given its meaning."""

    def __init__(self, note: str, parent: QWidget) -> None:
        super().__init__(tr("What do these values mean?"), note, parent)
        self._form = form()
        self._form.setVerticalSpacing(Space.TIGHT)
        self.body.addLayout(self._form)
        self.fields: dict[Key, ChoiceField] = {}
        self.hide()

    @property
    def codes(self) -> dict[Key, int]:
        """The places in the domain that were given so far."""
        chosen = {key: field.value for key, field in self.fields.items()}
        return {key: v for key, v in chosen.items() if isinstance(v, int) and v != OPEN}

    def forget(self) -> None:
        """Ask for nothing any more: another file or column was chosen."""
        while self._form.rowCount():
            self._form.removeRow(0)
        self.fields.clear()
        self.hide()

    def ask(self, key: Key, shown: str, names: Sequence[str]) -> None:
        """Ask what a value means, unless it is asked already."""
        if key not in self.fields:
            field = ChoiceField([(OPEN, tr("choose…")), *enumerate(names)], self)
            field.setAccessibleName(tr("Meaning of {value}", value=shown))
            field.chosen.connect(lambda _code: self.changed.emit())
            self.fields[key] = field
            self._form.addRow(shown, field)
        self.show()


class FileDialog(Dialog):
    """Asks about a file, reads it in a job at every change, and hands over what came of it.

    Parameters
    ----------
    session
        What is open.
    job
        The key of its jobs; one supersedes the other.
    texts
        The title, an explanation, and what the button says.
    size
        Its width and height to begin with.
    """

    def __init__(
        self,
        session: Session,
        job: str,
        texts: tuple[str, str, str],
        size: tuple[int, int],
        parent: QWidget | None,
    ) -> None:
        super().__init__(*texts[:2], parent)
        self._session, self._job = session, job
        self.path = ElidedLabel(tr("No file is chosen yet."), "muted", Qt.TextElideMode.ElideMiddle)
        page = ScrollPage(self)
        page.column.setContentsMargins(0, 0, Space.INSIDE, 0)
        self.column = page.column
        self.body.addWidget(page, 1)
        self.add_cancel()
        self.submit = self.add_primary(texts[2])
        self.submit.setEnabled(False)
        self.resize(*map(scaled, size))
        self.finished.connect(lambda _result: session.runner.cancel(job))

    def ask_for_file(self, title: str, more: str = "", beside: Path | None = None) -> Path | None:
        """Ask for a table, beside another file or else beside the source."""
        source = self._session.document.source
        folder = beside.parent if beside is not None else None
        if beside is None and source is not None:
            folder = source.folder
        return self._session.chooser.open_file(title, table_filters() + more, folder)

    def work(
        self, title: str, work: Callable[[Context], Found], then: Callable[[Found], None]
    ) -> None:
        """Say what is done, and do it in a job; nothing can be handed over meanwhile."""
        self.wait(title)
        self._session.runner.run(title, work, then, self.show_problem, key=self._job)

    def wait(self, text: str) -> None:
        """Forget what was found, and say what is going on."""
        self.submit.setEnabled(False)
        self.say(text)

    def say(self, text: str) -> None:
        """Show a sentence where the findings will be."""

    def show_problem(self, problem: SfumatoError) -> None:
        """Show why there is nothing to hand over."""
        self.wait("")
        self.messages.clear()
        self.messages.show_message(Message.of_error(problem, topic=self._job))
