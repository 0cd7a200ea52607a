"""What the ledger tells of, the newest first: a line for each event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from sfumato.project.ledger.records import LedgerEvent, Subject
from sfumato.ui.look.theme import current_theme, font
from sfumato.ui.panels.releases.ledger_wording import Line, contradictions, line_of
from sfumato.ui.widgets.icons import themed_icon

Index = QModelIndex | QPersistentModelIndex
STATE, WHEN, RECIPIENT, LEVELS, BUNDLE, DIGEST = range(6)
DIGEST_SHOWN: Final = 8


class LedgerModel(QAbstractTableModel):
    """A line for each event that is asked for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._all: list[Line] = []
        self._lines: list[Line] = []
        self._order = (WHEN, Qt.SortOrder.DescendingOrder)
        self._subject: Subject | None = None
        self._words: tuple[str, ...] = ()

    def show_events(self, events: Sequence[LedgerEvent]) -> None:
        """Show events, in the order chosen last."""
        self.beginResetModel()
        self._all = [line_of(event) for event in events]
        self._arrange()
        self.endResetModel()

    def narrow(self, subject: Subject | None, text: str) -> None:
        """Show events about one subject only (None for all), in which every word occurs."""
        self.beginResetModel()
        self._subject, self._words = subject, tuple(text.casefold().split())
        self._arrange()
        self.endResetModel()

    def line(self, row: int) -> Line:
        """Return what a line shows."""
        return self._lines[row]

    def count(self, subject: Subject | None = None) -> int:
        """Return how many events there are, about a subject or about anything."""
        return sum(subject in (None, line.event.subject) for line in self._all)

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
        keys: dict[int, Callable[[Line], Any]] = {WHEN: lambda line: line.event.number}
        key = keys.get(column, lambda line: _text(line, column).casefold())
        self._lines = [line for line in self._all if self._is_asked_for(line)]
        self._lines.sort(key=key, reverse=order == Qt.SortOrder.DescendingOrder)

    def _is_asked_for(self, line: Line) -> bool:
        if self._subject not in (None, line.event.subject):
            return False
        text = " ".join([*(_text(line, column) for column in range(6)), line.digest]).casefold()
        return all(word in text for word in self._words)

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of lines."""
        return 0 if parent is not None and parent.isValid() else len(self._lines)

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of columns."""
        return 0 if parent is not None and parent.isValid() else 6

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what is shown of a cell."""
        line, column = self._lines[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return _text(line, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(line, column)
        if role == Qt.ItemDataRole.DecorationRole and column == STATE:
            icon, token, _ = line.look
            return themed_icon(icon, token)
        if role == Qt.ItemDataRole.ForegroundRole and column in (STATE, LEVELS):
            danger = line.look[1] == "danger"
            return QColor(current_theme().style.danger) if danger else None
        if role == Qt.ItemDataRole.FontRole and column in (WHEN, LEVELS, DIGEST):
            return font(tabular=True)
        return None

    def _tip(self, line: Line, column: int) -> str:
        numbers = [entry.number for entry in (line.event.entry, line.event.ending) if entry]
        entries = self.tr("Entry {number}") if len(numbers) == 1 else self.tr("Entries {number}")
        whole = {
            STATE: entries.format(number=", ".join(str(number) for number in numbers)),
            BUNDLE: str(line.path or ""),
            DIGEST: line.digest,
        }
        if column == LEVELS and (against := contradictions(line.event)):
            return f"{line.what}\n{against}"
        return whole.get(column, _text(line, column))

    def copied_header(self) -> list[str]:
        """Return the names of what `copied` returns."""
        names = [str(self.headerData(section, Qt.Orientation.Horizontal)) for section in range(6)]
        return [self.tr("Entry"), *names]

    def copied(self, row: int) -> list[str]:
        """Return a line as it is copied: its entry, and all it shows in full."""
        line = self._lines[row]
        path = str(line.path) if line.path is not None else ""
        whole = [line.look[2], line.event.entry.recorded_at, line.who, line.what, path, line.digest]
        return [str(line.event.number), *(text.replace("\t", " ") for text in whole)]

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
            self.tr("Event"),
            self.tr("When"),
            self.tr("Who"),
            self.tr("Levels or reason"),
            self.tr("File"),
            self.tr("Digest"),
        )[section]


def _text(line: Line, column: int) -> str:
    return (
        line.look[2],
        line.when,
        line.who,
        line.what,
        line.path.name if line.path is not None else "",
        line.digest[:DIGEST_SHOWN],
    )[column]
