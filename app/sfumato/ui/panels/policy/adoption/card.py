"""The adopted releases of an entry, and the way to adopt another, drop one, or find its file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtWidgets import QVBoxLayout, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms import mechanism_called
from sfumato.plots.ladders import Rung
from sfumato.project.adoption.adopt import (
    check_not_released,
    entry_called,
    with_new_place,
    without_file,
)
from sfumato.project.document.adopted_files import BY_KEY, AdoptedFile, adopted_files
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import number, spoken
from sfumato.ui.panels.policy.adoption.claim import level_field, records_text
from sfumato.ui.panels.policy.adoption.dialog import AdoptDialog
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.records import releases_of
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.files import table_filters
from sfumato.ui.widgets.layout import (
    Badge,
    Card,
    ElidedLabel,
    boxed,
    button,
    clear_layout,
    column,
    label,
    row,
    tool,
)
from sfumato.ui.widgets.messages import Message
from sfumato.ui.widgets.responsive import FlowLayout

PLACE_JOB: Final = "adopted place"


def short_level(entry: PolicyEntry, file: AdoptedFile) -> str:
    """Return an adopted release's level, e.g. ``p = 0.4``."""
    return f"{spoken(level_field(entry.mechanism).title)} = {number(file.level, 4)}"


def fixed_rungs(entry: PolicyEntry, files: tuple[AdoptedFile, ...]) -> tuple[Rung, ...]:
    """Return the adopted releases that are rungs as the ladder shows them."""
    mechanism = mechanism_called(entry.mechanism)
    return tuple(
        Rung(
            file.called,
            mechanism.trust(file.level),
            tr("{level}, adopted", level=short_level(entry, file)),
            tr("An earlier release. Further levels are fitted to it."),
        )
        for file in files
        if file.rung
    )


def _match_text(file: AdoptedFile) -> str:
    """Return how an adopted release's rows are matched."""
    if file.match.by != BY_KEY:
        return tr("matched row by row")
    matched = tr("matched by {column}", column=file.match.table_column)
    return f"{matched}, {records_text(file)}" if file.part is not None else matched


class AdoptedCard(Card):
    """A line for each adopted release of the entry in sight.

    Parameters
    ----------
    session
        What is open.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._session, self._key = session, ""
        self.dialog: AdoptDialog | None = None
        self.adopt = button(tr("Adopt an earlier release…"), self._ask, icon="open")
        self._about = label(
            tr(
                "Was a version of this table given out before, made with another tool? Adopt it,"
                " and the levels released from here form one ladder with it."
            ),
            "muted",
            wrap=True,
        )
        self._lines = QVBoxLayout()
        self._lines.setSpacing(Space.INSIDE)
        self.body.addLayout(
            FlowLayout(label(tr("Earlier releases"), "heading"), self.adopt, apart=1)
        )
        self.body.addWidget(self._about)
        self.body.addLayout(self._lines)
        self._shown: tuple[AdoptedFile, ...] = ()
        self.lines: dict[str, QWidget] = {}

    # ----- what is shown

    def show_entry(self, entry: PolicyEntry) -> tuple[AdoptedFile, ...]:
        """Show an entry's adopted releases; return them."""
        self._key = entry.key
        self.setVisible(mechanism_called(entry.mechanism).adopts)
        try:
            files = adopted_files(entry.settings)
        except SfumatoError:
            files = ()  # the guarantee says what is wrong with them
        self._about.setVisible(not files)
        if files != self._shown:
            self._shown = files
            clear_layout(self._lines)
            self.lines = {file.digest: self._line(entry, file) for file in files}
            for line in self.lines.values():
                self._lines.addWidget(line)
        return files

    def _line(self, entry: PolicyEntry, file: AdoptedFile) -> QWidget:
        state = ("ladder", "good", tr("On the ladder"))
        if not file.rung:
            state = ("caution", "caution", tr("Beside the ladder"))
        level = short_level(entry, file)
        if file.estimated:
            level = tr("{level}, estimated", level=level)
        about = f"{level} · {file.path.name}, {_match_text(file)}"
        texts = column(ElidedLabel(file.called, "strong"), ElidedLabel(about, "small"), spacing=0)
        place = partial(self._show_place, file.digest)
        remove = partial(self._remove, file.digest)
        return boxed(
            row(
                (texts, 1),
                Badge(*state),
                tool("folder", tr("Show where it is now…"), place),
                tool("remove", tr("Stop adopting it"), remove),
            ),
            self,
        )

    # ----- what the person does

    def _ask(self) -> None:
        session, table = self._session, self._session.table
        entry = entry_called(session.document, self._key)
        columns = [session.attribute(name) for name in entry.attributes]
        known = [column for column in columns if column is not None]
        if table is None or len(known) < len(columns):
            return
        self.dialog = AdoptDialog(session, entry, known, table, self.window())
        self.dialog.adopted.connect(self._adopt)
        self.dialog.finished.connect(self._forget)
        self.dialog.open()

    def _forget(self, _result: int) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None

    def _adopt(self, document: Document) -> None:
        self._session.edit(tr("Adopt an earlier release of {name}", name=self._key), document)

    def _refuse(self, error: SfumatoError) -> None:
        self._session.message.emit(Message.of_error(error, topic="adoption"))

    def _remove(self, digest: str) -> None:
        session = self._session
        changed = without_file(session.document, self._key, digest)
        before, after = (entry_called(d, self._key) for d in (session.document, changed))
        try:
            check_not_released(before, after, releases_of(session))
        except SfumatoError as error:
            self._refuse(error)
            return
        session.edit(tr("Stop adopting a release of {name}", name=self._key), changed)

    def _show_place(self, digest: str) -> None:
        session = self._session
        path = session.chooser.open_file(tr("Show where the file is now"), table_filters())
        if path is None:
            return
        session.runner.run(
            tr("Reading {name}", name=Path(path).name),
            partial(with_new_place, session.document, self._key, digest, path),
            partial(self._take_place, session.document),
            self._refuse,
            key=PLACE_JOB,
        )

    def _take_place(self, before: Document, changed: Document) -> None:
        if self._session.document == before:
            self._session.edit(tr("Show where an adopted release is"), changed)
