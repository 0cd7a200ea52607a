"""What a custodian says of an earlier release: file, column, matching, level, holder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFormLayout, QLineEdit, QWidget

from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Attribute
from sfumato.project.document.adopted_files import BY_KEY, BY_ROWS, Match
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken
from sfumato.ui.panels.policy.adoption.looking import Opened
from sfumato.ui.panels.policy.adoption.wording import level_field, tr
from sfumato.ui.widgets.fields import ChoiceField, NumberField, Segments
from sfumato.ui.widgets.layout import ElidedLabel, button, label, row


class ClaimForm(QWidget):
    """The fields of a claim.

    Parameters
    ----------
    document, entry, attributes
        What the release is of.
    columns
        The table's columns, which records can be told apart by.
    """

    changed = Signal()
    file_asked = Signal()
    reading_asked = Signal()
    """The person wants to see or change how the file is read."""

    def __init__(
        self,
        document: Document,
        entry: PolicyEntry,
        attributes: Sequence[Attribute],
        columns: Sequence[str],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._entry, self._attributes = entry, tuple(attributes)
        self.opened: Opened | None = None
        self.path = ElidedLabel(tr("No file is chosen yet."), "muted", Qt.TextElideMode.ElideMiddle)
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
        self.file_key = self._choice(tr("Key column of the file"))
        self.how = Segments(((False, tr("Estimate it")), (True, tr("I know it"))), self)
        self.how.setAccessibleName(tr("Where the level comes from"))
        field = level_field(entry.mechanism)
        self.level = NumberField(
            field.minimum, field.maximum, decimals=max(field.decimals, 4), unit=field.unit
        )
        self.level.spin.setAccessibleName(spoken(field.title))
        self.level.set_value(next(iter(self._proposal().values())))
        self.holder = QLineEdit(self)
        self.holder.setPlaceholderText(tr("Who was given it"))
        self.holder.setAccessibleName(tr("Holder"))
        self._lay_out(spoken(field.title))
        self._connect()
        self._show_fields()

    def _proposal(self) -> dict[str, float]:
        return dict(mechanism_called(self._entry.mechanism).default_statements(1)[0])

    def _choice(self, name: str) -> ChoiceField:
        made = ChoiceField(parent=self)
        made.setAccessibleName(name)
        made.setMinimumWidth(160)
        return made

    def _lay_out(self, level_name: str) -> None:
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(Space.BETWEEN)
        form.setVerticalSpacing(Space.INSIDE)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        file_line = row(self.path, self.reading, self.choose)
        file_line.setStretch(0, 1)
        form.addRow(label(tr("File")), file_line)
        several = len(self.columns) > 1
        for name, field in self.columns.items():
            text = tr("Column of {name}", name=name) if several else tr("Column")
            form.addRow(label(text), row(field, None))
        self._is = label("=", "muted")
        form.addRow(
            label(tr("Rows are matched")),
            row(self.match, self.table_key, self._is, self.file_key, None),
        )
        form.addRow(label(tr("Level")), row(self.how, label(level_name, "muted"), self.level, None))
        form.addRow(label(tr("Held by")), self.holder)

    def _connect(self) -> None:
        for choice in (*self.columns.values(), self.table_key, self.file_key):
            choice.chosen.connect(self._tell)
        for segments in (self.match, self.how):
            segments.chosen.connect(self._tell)
        self.level.value_changed.connect(self._tell)

    def _tell(self, _value: object = None) -> None:
        self._show_fields()
        if self.readable:
            self.changed.emit()

    def _show_fields(self) -> None:
        """Enable what counts; nothing moves."""
        known = self.readable
        for choice in self.columns.values():
            choice.setEnabled(known)
        by_key = self.match.value == BY_KEY
        for widget in (self.table_key, self._is, self.file_key):
            widget.setVisible(by_key)
        self.file_key.setEnabled(known)
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
