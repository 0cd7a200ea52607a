"""Earlier releases that are adopted: the form of one, and the card of those an entry has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from sfumato.analysis.earlier_release import Opened
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import LevelField
from sfumato.engine.table.table import Attribute
from sfumato.formats.language import grouped
from sfumato.plots.ladders import Rung
from sfumato.project.adoption.adopt import (
    check_not_released,
    entry_called,
    with_new_place,
    without_file,
)
from sfumato.project.document.adopted_files import (
    BY_KEY,
    BY_ROWS,
    AdoptedFile,
    Match,
    adopted_files,
)
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import number, spoken
from sfumato.ui.panels.policy.adoption.dialog import AdoptDialog
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.records import releases_of
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.choosers import table_filters
from sfumato.ui.widgets.fields import ChoiceField, NumberField, Segments, prompt
from sfumato.ui.widgets.layout import (
    Badge,
    Card,
    ElidedLabel,
    boxed,
    button,
    clear_layout,
    column,
    form,
    label,
    row,
    tool,
)
from sfumato.ui.widgets.messages import Message
from sfumato.ui.widgets.responsive import FlowLayout

PLACE_JOB: Final = "adopted place"


def level_field(mechanism_name: str) -> LevelField:
    """Return the field that a mechanism's level itself is stated in: its first term's."""
    return mechanism_called(mechanism_name).terms[0].fields[0]


def records_text(file: AdoptedFile) -> str:
    """Return how many records an adopted release has, where it does not have all of them."""
    covered, records = file.part or (0, 0)
    return tr(
        "{covered} of {records} {records:record|records}",
        covered=grouped(covered),
        records=grouped(records),
    )


class ClaimForm(QWidget):
    """The fields of a claim.

    Parameters
    ----------
    path
        Where the file's path is shown.
    document, entry, attributes
        What the release is of.
    columns
        The table's columns, by which records can be identified.
    """

    changed = Signal()
    file_asked = Signal()
    reading_asked = Signal()
    """The person wants to see or change how the file is read."""

    def __init__(
        self,
        path: ElidedLabel,
        document: Document,
        entry: PolicyEntry,
        attributes: Sequence[Attribute],
        columns: Sequence[str],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._entry, self._attributes = entry, tuple(attributes)
        self.opened: Opened | None = None
        self.path = path
        self.choose = button(tr("Choose &file…"), self.file_asked.emit, icon="folder")
        self.reading = button(tr("How it is &read…"), self.reading_asked.emit, "quiet", "settings")
        self.reading.setEnabled(False)
        self.columns = {
            name: self._choice(tr("Column of {name}", name=name)) for name in entry.attributes
        }
        self.match = Segments(((BY_ROWS, tr("Row by row")), (BY_KEY, tr("By a key column"))), self)
        self.match.setAccessibleName(tr("How rows are matched"))
        self.table_key = self._choice(tr("Key column of the table"))
        self.table_key.set_choices([(name, name) for name in columns])
        self.table_key.set_value(document.record_key or columns[0])
        self._is = label("=", "muted")
        self.file_key = self._choice(tr("Key column of the file"))
        self.how = Segments(((False, tr("Estimate it")), (True, tr("I know it"))), self)
        self.how.setAccessibleName(tr("Where the level comes from"))
        field = level_field(entry.mechanism)
        self.level = NumberField(
            field.minimum, field.maximum, decimals=max(field.decimals, 4), unit=field.unit
        )
        self.level.spin.setAccessibleName(spoken(field.title))
        proposal = mechanism_called(entry.mechanism).default_statements(1)[0]
        self.level.set_value(next(iter(proposal.values())))
        self.holder = QLineEdit(self)
        prompt(self.holder, tr("Who was given it"))
        self.holder.setAccessibleName(tr("Holder"))
        self._lay_out(spoken(field.title))
        choices: list[ChoiceField | Segments] = [*self.columns.values(), self.match, self.how]
        for choice in (*choices, self.table_key, self.file_key):
            choice.chosen.connect(self._tell)
        self.level.value_changed.connect(self._tell)
        self._show_fields()

    def _choice(self, name: str) -> ChoiceField:
        made = ChoiceField(parent=self)
        made.setAccessibleName(name)
        made.setMinimumWidth(scaled(160))
        return made

    def _lay_out(self, level_name: str) -> None:
        several = len(self.columns) > 1
        keys = FlowLayout(self.match, self.table_key, self._is, self.file_key)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addLayout(
            form(
                (tr("File"), row((self.path, 1), self.reading, self.choose)),
                *(
                    (
                        tr("Column of {name}", name=name) if several else tr("Column"),
                        row(field, None),
                    )
                    for name, field in self.columns.items()
                ),
                (tr("Rows are matched"), keys),
                (tr("Level"), FlowLayout(self.how, label(level_name, "muted"), self.level)),
                (tr("Held by"), self.holder),
            )
        )

    def _tell(self, _value: object = None) -> None:
        self._show_fields()
        if self.readable:
            self.changed.emit()

    def _show_fields(self) -> None:
        """Enable what counts; nothing moves."""
        known = self.readable
        for choice in (*self.columns.values(), self.file_key):
            choice.setEnabled(known)
        for widget in (self.table_key, self._is, self.file_key):
            widget.setVisible(self.match.value == BY_KEY)
        self.level.setEnabled(bool(self.how.value))

    def show_file(self, opened: Opened) -> None:
        """Offer a file's columns: of the same file those chosen before, else of the same names."""
        again = self.file == opened.path
        self.opened = opened
        self.path.setText(str(opened.path))
        self.reading.setEnabled(True)
        choices = [(name, name) for name in opened.columns]
        for name, field in (*self.columns.items(), (self.table_key.value, self.file_key)):
            chosen = field.value if again and field.value in opened.columns else name
            field.set_choices(choices)
            field.set_value(chosen)
        self._tell()

    @property
    def readable(self) -> bool:
        """Whether a file was chosen, and can be read as it is said to be."""
        return self.opened is not None and self.opened.problem is None

    @property
    def file(self) -> Path | None:
        """The file that was chosen."""
        return self.opened.path if self.opened is not None else None

    def stated_match(self) -> Match:
        """Return how rows are matched."""
        if self.match.value == BY_ROWS:
            return Match()
        return Match(BY_KEY, str(self.table_key.value), str(self.file_key.value))

    def stated_level(self) -> float | None:
        """Return the level that is stated; None to have it estimated.

        Raises
        ------
        LevelError
            If it can't be met.
        """
        if not self.how.value:
            return None
        entry = self._entry
        statement = {level_field(entry.mechanism).name: self.level.value}
        return mechanism_called(entry.mechanism).level(statement, self._attributes, entry.settings)


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
