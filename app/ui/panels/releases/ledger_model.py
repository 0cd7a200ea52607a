"""The releases that the ledger tells of, newest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from PySide6.QtCore import (
    QT_TRANSLATE_NOOP,
    QAbstractTableModel,
    QCoreApplication,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
)
from PySide6.QtWidgets import QWidget

from app.engine.errors import SfumatoError
from app.engine.mechanisms import mechanism_called
from app.project.records import ReleaseRecord, ReleaseState
from app.ui.theme import font
from app.ui.widgets.icons import themed_icon
from app.ui.wording import local_time, statement_text

Index = QModelIndex | QPersistentModelIndex
STATE, WHEN, RECIPIENT, LEVELS, BUNDLE, DIGEST = range(6)
DIGEST_SHOWN: Final = 8

STATES: Final = {
    ReleaseState.COMPLETED: ("good", "good", str(QT_TRANSLATE_NOOP("Ledger", "Released"))),
    ReleaseState.PREPARED: ("clock", "caution", str(QT_TRANSLATE_NOOP("Ledger", "Unfinished"))),
    ReleaseState.ABANDONED: ("remove", "muted", str(QT_TRANSLATE_NOOP("Ledger", "Taken back"))),
    ReleaseState.UNTRACED: ("caution", "caution", str(QT_TRANSLATE_NOOP("Ledger", "Untraced"))),
}
"""For each state its drawing, its colour and its word."""


def levels_of(record: ReleaseRecord) -> str:
    """Return a release's levels as they were stated, or a generalized table's levels."""
    facts = record.details.get("generalization")
    if facts is not None:
        levels = zip(facts["quasi_identifiers"], facts["levels"], strict=True)
        return ";  ".join(f"{name}: {level}" for name, level in levels)
    parts = []
    for plan in record.plans:
        try:
            text = statement_text(mechanism_called(plan.mechanism), plan.statement)
        except SfumatoError:  # a mechanism of another version
            text = plan.mechanism
        parts.append(f"{plan.key}: {text}")
    return ";  ".join(parts)


class LedgerModel(QAbstractTableModel):
    """A line for each release."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._records: list[ReleaseRecord] = []
        self._order = (WHEN, Qt.SortOrder.DescendingOrder)

    def show_records(self, records: Sequence[ReleaseRecord]) -> None:
        """Show releases, in the order chosen last."""
        self.beginResetModel()
        self._records = list(records)
        self._arrange()
        self.endResetModel()

    def record(self, row: int) -> ReleaseRecord:
        """Return the release of a line."""
        return self._records[row]

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column."""
        if column < 0:
            return
        self.layoutAboutToBeChanged.emit()
        self._order = (column, order)
        self._arrange()
        self.layoutChanged.emit()

    def _arrange(self) -> None:
        column, order = self._order
        keys: dict[int, Callable[[ReleaseRecord], Any]] = {
            WHEN: lambda record: record.number,
            BUNDLE: lambda record: record.target.name,
        }
        key = keys.get(column, lambda record: self._text(record, column))
        self._records.sort(key=key, reverse=order == Qt.SortOrder.DescendingOrder)

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of releases."""
        return 0 if parent is not None and parent.isValid() else len(self._records)

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of columns."""
        return 0 if parent is not None and parent.isValid() else 6

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what is shown of a cell."""
        record, column = self._records[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(record, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            whole = {BUNDLE: str(record.target), DIGEST: record.digest}
            return whole.get(column, self._text(record, column))
        if role == Qt.ItemDataRole.DecorationRole and column == STATE:
            icon, token, _ = STATES[record.state]
            return themed_icon(icon, token)
        if role == Qt.ItemDataRole.FontRole and column in (WHEN, LEVELS, DIGEST):
            return font(tabular=True)
        return None

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """Return a column's name."""
        if orientation != Qt.Orientation.Horizontal or role != Qt.ItemDataRole.DisplayRole:
            return None
        return (
            self.tr("State"),
            self.tr("When"),
            self.tr("To"),
            self.tr("Levels"),
            self.tr("Bundle"),
            self.tr("Digest"),
        )[section]

    def _text(self, record: ReleaseRecord, column: int) -> str:
        return (
            QCoreApplication.translate("Ledger", STATES[record.state][2]),
            local_time(record.recorded_at),
            record.recipient,
            levels_of(record),
            record.target.name,
            record.digest[:DIGEST_SHOWN],
        )[column]
