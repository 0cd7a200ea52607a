"""A hierarchy that is being edited: the draft, what comes of it, and how both are shown.

It is shown in short by its levels, and as a tree or a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from PySide6.QtCore import QAbstractItemModel, QModelIndex, QSize, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeView, QWidget

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.core.errors import HierarchyError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Value
from sfumato.engine.generalization.hierarchies import (
    Hierarchy,
    HierarchyProblem,
    Recipe,
    Rename,
    Rows,
    Suppression,
    Taxonomy,
    find_problems,
    ground_series,
    ground_values,
    refuse_problems,
)
from sfumato.formats.hierarchies import rows_of
from sfumato.formats.language import grouped
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.widgets.fields import Segments
from sfumato.ui.widgets.layout import EmptyState, column, label
from sfumato.ui.widgets.painted import LEFT, RIGHT
from sfumato.ui.widgets.responsive import FlowLayout, Pages
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading, Index, TableView

Draft = Recipe | Rows
"""A recipe, or a table that may still have to be mended."""


@dataclass(frozen=True)
class Ground:
    """A column as the editor sees it: each value once, and how many records have it.

    Parameters
    ----------
    spec
        The column's specification.
    values
        Its ground values.
    records
        How many records have each, shape (m,).
    """

    spec: ColumnSpec
    values: tuple[Value, ...] = field(repr=False)
    records: npt.NDArray[np.int64] = field(repr=False)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.spec.name


@dataclass(frozen=True)
class DraftOutcome:
    """What comes of a draft.

    Parameters
    ----------
    hierarchy
        The hierarchy; None where the draft gives none.
    records
        For each level, how many records each class has.
    recipe
        What would be kept; None where the draft gives no hierarchy.
    rows
        The draft as a table.
    problems
        What is wrong with a table.
    error
        Why there is no hierarchy.
    """

    hierarchy: Hierarchy | None = None
    records: tuple[npt.NDArray[np.int64], ...] = field(default=(), repr=False)
    recipe: Recipe | None = None
    rows: Rows = field(default=(), repr=False)
    problems: tuple[HierarchyProblem, ...] = ()
    error: SfumatoError | None = None


def ground_of(spec: ColumnSpec, series: pd.Series) -> Ground:
    """Return a column's values with the records that have them.

    Raises
    ------
    SfumatoError
        If the column mixes types, or its bins don't fit it.
    """
    values = ground_values(spec, series)
    codes = Suppression().build(spec.name, values).encode(ground_series(spec, series))
    return Ground(spec, values, np.bincount(codes, minlength=len(values)))


def outcome_of(ground: Ground, draft: Draft) -> DraftOutcome:
    """Return what comes of a draft; what is wrong with it is part of that."""
    if isinstance(draft, Recipe):
        return _built(ground, draft)
    problems = find_problems(draft, ground.values, ground.name)
    try:
        refuse_problems(problems)
        outcome = _built(ground, Taxonomy(draft))
    except HierarchyError as error:
        return DraftOutcome(rows=draft, problems=problems, error=error)
    return replace(outcome, problems=problems)


def _built(ground: Ground, recipe: Recipe) -> DraftOutcome:
    table = recipe.rows if isinstance(recipe, Taxonomy) else ()
    try:
        hierarchy = recipe.build(ground.name, ground.values)
    except SfumatoError as error:
        problems = find_problems(table, ground.values, ground.name) if table else ()
        return DraftOutcome(rows=table, problems=problems, error=error)
    records = tuple(
        np.bincount(
            hierarchy.codes(level), weights=ground.records, minlength=hierarchy.classes(level)
        ).astype(np.int64)
        for level in range(hierarchy.height)
    )
    return DraftOutcome(hierarchy, records, recipe, rows_of(recipe, hierarchy))


def as_draft(recipe: Recipe) -> Draft:
    """Return what is edited of a recipe: its table, where it is one, with the new names."""
    return rows_of(recipe, None) if isinstance(recipe, Taxonomy) else recipe


def renamed(draft: Draft, level: int, shown: str, name: str) -> Draft:
    """Return a draft in which the class `shown` of a level has another name."""
    if not isinstance(draft, Recipe):
        return tuple(
            (*row[:level], name, *row[level + 1 :])
            if len(row) > level and row[level] == shown
            else row
            for row in draft
        )
    made = {r.made for r in draft.renames if r.level == level and r.shown == shown} or {shown}
    others = [r for r in draft.renames if r.level != level or r.made not in made]
    new = [Rename(level, old, name) for old in sorted(made) if name not in ("", old)]
    return replace(draft, renames=(*others, *new))


def relabelled(draft: Rows, row: int, level: int, text: str) -> Rows:
    """Return a table in which one cell is another."""
    changed = (*draft[row][:level], text, *draft[row][level + 1 :])
    return (*draft[:row], changed, *draft[row + 1 :])


def examples(names: Sequence[str], most: int = 3) -> str:
    """Return the first few names of a level's classes, for a line of text."""
    shown = names[: most + 1]
    return ", ".join(shown[:most]) + (", …" if len(shown) > most else "")


CLASS, LEVEL, RECORDS = range(3)
_HEIGHT: Final = 26
_HEAD: Final = 40
_OPENED: Final = 40
"""A class with no more parts than these is opened at first."""
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
        self._outcome = DraftOutcome()
        self._children: list[_Parts] = []
        self._places: list[npt.NDArray[np.intp]] = []
        self._missing: list[int] = []
        """For each level the class of missing values alone; -1 where there is none."""

    def show_outcome(self, outcome: DraftOutcome) -> None:
        """Show another hierarchy, or none."""
        self.beginResetModel()
        self._outcome = outcome
        self._children, self._places, self._missing = [], [], []
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
            labels = hierarchy.labels[level]
            nameless = labels.index(None) if None in labels else None
            self._missing.append(-1 if nameless is None else int(hierarchy.codes(level)[nameless]))
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
            return RIGHT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what is shown of a class."""
        level, code = self.node(index)
        column = index.column()
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return LEFT if column == CLASS else RIGHT
        if role == Qt.ItemDataRole.SizeHintRole:
            return QSize(0, scaled(_HEIGHT))
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
        named = index.column() == CLASS and level > 0 and code != self._missing[level]
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


class RowsModel(CellsModel):
    """A hierarchy's table; a changed label is told, not made."""

    def __init__(self) -> None:
        super().__init__()
        self._table: Rows = ()

    def show_rows(self, rows: Rows) -> None:
        """Show another table."""
        self._table = rows
        width = max((len(row) for row in rows[:5000]), default=0)
        titles = [self.tr("Level {level}").format(level=level) for level in range(1, width)]
        levels = [Heading(title, editable=True) for title in titles]
        self.lay_out(len(rows), [Heading(self.tr("Value")), *levels] if width else [])

    def cell(self, row: int, column: int) -> Cell:
        """Return a label; a missing value as such."""
        cells = self._table[row]
        text = cells[column] if column < len(cells) else ""
        text = text or (self.tr("(missing)") if column == 0 else "")
        return Cell(text, text)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return that labels can be edited where the row has one."""
        flags = super().flags(index)
        within = index.column() < len(self._table[index.row()])
        return flags if within else flags & ~Qt.ItemFlag.ItemIsEditable

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return the columns' names, and the rows' numbers."""
        if orientation == Qt.Orientation.Vertical and role == Qt.ItemDataRole.DisplayRole:
            return grouped(section + 1)
        return super().headerData(section, orientation, role)


class LevelsView(TableView):
    """The levels of a hierarchy in short, as high as they are many.

    Parameters
    ----------
    widths
        Pixels for the level, its classes and the smallest of these.
    examples_shown
        How many classes are named.
    most
        How many levels are in sight.
    """

    def __init__(self, widths: tuple[int, int, int], examples_shown: int, most: int) -> None:
        super().__init__(row_numbers=False)
        self._most, self._examples = most, examples_shown
        headings = (
            Heading(self.tr("Level")),
            Heading(self.tr("Classes"), right=True),
            Heading(self.tr("Smallest"), right=True),
            Heading(self.tr("For example")),
        )
        self.cells = CellsModel(headings, self)
        self.show_outcome(DraftOutcome())
        self.setModel(self.cells)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setAccessibleName(self.tr("The levels of the hierarchy"))
        self.set_widths(dict(enumerate(widths)))

    def show_outcome(self, outcome: DraftOutcome) -> None:
        """Show another hierarchy; without one, nothing."""
        hierarchy = outcome.hierarchy

        def cell(row: int, column: int) -> Cell:
            assert hierarchy is not None
            if column == 0:
                text = str(row)
            elif column == 1:
                text = grouped(hierarchy.classes(row))
            elif column == 2:
                text = grouped(int(outcome.records[row].min()))
            else:
                text = examples(hierarchy.names(row), self._examples)
            return Cell(text, text)

        self.cells.show_cells(hierarchy.height if hierarchy is not None else 0, cell)
        rows = min(max(self.cells.rowCount(), 2), self._most)
        self.setFixedHeight(scaled(_HEAD) + Space.FIELD * rows + 2)
        self.setVisible(outcome.hierarchy is not None)


LEAST_TREE: Final = 140
"""So much of the tree is in sight at least; pixels at scale 1."""


class HierarchyPreview(QWidget):
    """Shows what comes of a draft; names and labels can be changed in it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.tree_model, self.rows_model = TreeModel(), RowsModel()
        for model in (self.tree_model, self.rows_model):
            model.setParent(self)
        self.levels = LevelsView((64, 84, 92), examples_shown=3, most=5)
        self.tree = self._build_tree()
        self.table = self._build_table()
        words = self.tr("The tree appears here once the settings or the table give one.")
        self.nothing = EmptyState("attributes", self.tr("No tree yet"), words)
        self.way = Segments((("tree", self.tr("Tree")), ("table", self.tr("Table"))))
        self.way.chosen.connect(lambda _value: self._turn())
        self.pages = Pages()
        self.pages.setMinimumHeight(scaled(LEAST_TREE))
        self.pages.add(self.nothing, self.tree, self.table)
        self.hint = label(self.tr("Double-click a name to change it"), "small")
        self.setLayout(
            column(self.levels, FlowLayout(self.way, self.hint, apart=1), (self.pages, 1))
        )
        self.show_outcome(DraftOutcome())

    def hasHeightForWidth(self) -> bool:
        """Say no: Qt would take the height that is liked at a width for the least there can be."""
        return False

    def _build_tree(self) -> QTreeView:
        view = QTreeView()
        view.setModel(self.tree_model)
        view.setProperty("framed", True)
        view.setUniformRowHeights(True)
        view.setAllColumnsShowFocus(True)
        triggers = QAbstractItemView.EditTrigger
        view.setEditTriggers(triggers.DoubleClicked | triggers.EditKeyPressed)
        view.setExpandsOnDoubleClick(False)
        view.setAccessibleName(self.tr("The hierarchy as a tree"))
        header = view.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(CLASS, QHeaderView.ResizeMode.Stretch)
        for section, width in ((LEVEL, 64), (RECORDS, 96)):
            header.setSectionResizeMode(section, QHeaderView.ResizeMode.Fixed)
            header.resizeSection(section, scaled(width))
        return view

    def _build_table(self) -> TableView:
        name = self.tr("The hierarchy as a table")
        view = TableView(model=self.rows_model, name=name, edits=True)
        view.verticalHeader().setDefaultAlignment(RIGHT)
        return view

    def show_outcome(self, outcome: DraftOutcome) -> None:
        """Show what came of a draft."""
        self.levels.show_outcome(outcome)
        self.rows_model.show_rows(outcome.rows)
        self.tree_model.show_outcome(outcome)
        self.table.fit_columns()
        self._open()
        self._turn()

    def show_table(self) -> None:
        """Turn to the table."""
        self.way.set_value("table")
        self._turn()

    def _turn(self) -> None:
        if self.way.value == "table":
            page: QWidget = self.table if self.rows_model.rowCount() else self.nothing
        else:
            page = self.tree if self.tree_model.height else self.nothing
        self.pages.setCurrentWidget(page)
        self.hint.setVisible(page is not self.nothing)

    def _open(self) -> None:
        """Open the tree from the top for as long as that stays short."""
        level = [self.tree_model.index(i, 0) for i in range(self.tree_model.rowCount())]
        while level and len(level) <= _OPENED:
            parts: list[QModelIndex] = []
            total = sum(self.tree_model.rowCount(index) for index in level)
            if total > _OPENED:
                break
            for index in level:
                self.tree.expand(index)
                count = self.tree_model.rowCount(index)
                parts += [self.tree_model.index(i, 0, index) for i in range(count)]
            level = parts
