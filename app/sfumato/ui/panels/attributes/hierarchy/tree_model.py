"""A hierarchy as a tree: the top class, its parts, and so on down to the values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QAbstractItemModel, QModelIndex, QPersistentModelIndex, QSize, Qt, Signal

from sfumato.ui.panels.attributes.hierarchy.draft import Outcome
from sfumato.ui.panels.attributes.hierarchy.wording import grouped

Index = QModelIndex | QPersistentModelIndex

CLASS, LEVEL, RECORDS = range(3)
_HEIGHT: Final = 26
_CODES: Final = 1 << 32
"""A node's number is its level times this, plus its class."""


@dataclass(frozen=True)
class _Parts:
    """The classes of a level, sorted by the class above, and where each of those begins."""

    order: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]

    def of(self, above: int) -> npt.NDArray[np.intp]:
        return self.order[self.starts[above] : self.starts[above + 1]]


class TreeModel(QAbstractItemModel):
    """The classes of a hierarchy; a new name is told, not given."""

    name_given = Signal(int, str, str)
    """A level, the class's present name, and another."""

    def __init__(self) -> None:
        super().__init__()
        self._outcome = Outcome()
        self._children: list[_Parts] = []
        self._places: list[npt.NDArray[np.intp]] = []

    def show_outcome(self, outcome: Outcome) -> None:
        """Show another hierarchy, or none."""
        self.beginResetModel()
        self._outcome = outcome
        self._children, self._places = [], []
        hierarchy = outcome.hierarchy
        for level in range(hierarchy.height if hierarchy is not None else 0):
            assert hierarchy is not None
            top = level == hierarchy.height - 1
            count = hierarchy.classes(level)
            parents = np.zeros(count, dtype=np.int32) if top else hierarchy.parents(level)
            order = np.argsort(parents, kind="stable")
            starts = np.searchsorted(parents[order], np.arange(parents.max() + 2))
            places = np.empty(count, dtype=np.intp)
            places[order] = np.arange(count) - starts[parents[order]]
            self._children.append(_Parts(order, starts))
            self._places.append(places)
        self.endResetModel()

    @property
    def height(self) -> int:
        """The number of levels that are shown."""
        return len(self._children)

    def node(self, index: Index) -> tuple[int, int]:
        """Return an index's level and class."""
        return divmod(int(index.internalId()), _CODES)

    def name(self, level: int, code: int) -> str:
        """Return a class's name."""
        hierarchy = self._outcome.hierarchy
        return hierarchy.names(level)[code] if hierarchy is not None else ""

    def index(self, row: int, column: int, parent: Index | None = None) -> QModelIndex:
        """Return a node's index."""
        if not self._children:
            return QModelIndex()
        if parent is None or not parent.isValid():
            level, members = self.height - 1, self._children[-1].of(0)
        else:
            above, code = self.node(parent)
            level, members = above - 1, self._children[above - 1].of(code)
        if level < 0 or not 0 <= row < len(members):
            return QModelIndex()
        return self.createIndex(row, column, level * _CODES + int(members[row]))

    def parent(self, index: Index | None = None) -> Any:
        """Return the node above."""
        if index is None or not index.isValid() or self._outcome.hierarchy is None:
            return QModelIndex()
        level, code = self.node(index)
        if level >= self.height - 1:
            return QModelIndex()
        above = int(self._outcome.hierarchy.parents(level)[code])
        place = int(self._places[level + 1][above])
        return self.createIndex(place, 0, (level + 1) * _CODES + above)

    def rowCount(self, parent: Index | None = None) -> int:
        """Return how many parts a node has."""
        if not self._children:
            return 0
        if parent is None or not parent.isValid():
            return len(self._children[-1].of(0))
        if parent.column() != CLASS:
            return 0
        level, code = self.node(parent)
        return len(self._children[level - 1].of(code)) if level > 0 else 0

    def columnCount(self, parent: Index | None = None) -> int:
        """Return three: the class, its level and its records."""
        del parent
        return 3

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return the headings."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return (self.tr("Class"), self.tr("Level"), self.tr("Records"))[section]
        if role == Qt.ItemDataRole.TextAlignmentRole and section != CLASS:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what is shown of a class."""
        level, code = self.node(index)
        column = index.column()
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignLeft if column == CLASS else Qt.AlignmentFlag.AlignRight
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.SizeHintRole:
            return QSize(0, _HEIGHT)
        if role in (Qt.ItemDataRole.EditRole, Qt.ItemDataRole.DisplayRole):
            return self._text(level, code, column)
        return None

    def _text(self, level: int, code: int, column: int) -> str:
        if column == CLASS:
            return self.name(level, code)
        if column == LEVEL:
            return str(level)
        return grouped(int(self._outcome.records[level][code]))

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return that the names of classes above the values can be edited."""
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        hierarchy = self._outcome.hierarchy
        if not index.isValid() or hierarchy is None:
            return flags
        level, code = self.node(index)
        first = int(np.argmax(hierarchy.codes(level) == code)) if level else 0
        missing = hierarchy.labels[level][first] is None
        named = index.column() == CLASS and level > 0 and not missing
        return flags | Qt.ItemFlag.ItemIsEditable if named else flags

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Tell a new name."""
        if role != Qt.ItemDataRole.EditRole:
            return False
        level, code = self.node(index)
        text = str(value).strip()
        if text and text != self.name(level, code):
            self.name_given.emit(level, self.name(level, code), text)
        return True
