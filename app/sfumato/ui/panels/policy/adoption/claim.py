"""What a custodian says of an earlier release: file, columns, matching, level, holder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from sfumato.analysis.earlier_release import Opened
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import LevelField
from sfumato.engine.table.table import Attribute
from sfumato.formats.language import grouped
from sfumato.project.document.adopted_files import BY_KEY, BY_ROWS, AdoptedFile, Match
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.ui.look.theme import scaled
from sfumato.ui.look.wording import spoken
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.fields import ChoiceField, NumberField, Segments, prompt
from sfumato.ui.widgets.layout import ElidedLabel, button, form, label, row
from sfumato.ui.widgets.responsive import FlowLayout


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
