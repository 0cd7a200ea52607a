"""Tables: a model over a data frame that never copies it, and a view that is calm and quick."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyleOptionViewItem,
    QTableView,
    QToolTip,
    QWidget,
)

from sfumato.engine.core.columns import Value
from sfumato.engine.core.frozen import dataclass
from sfumato.formats.language import grouped, localized
from sfumato.ui.look.theme import Space, font, scaled, themes
from sfumato.ui.look.wording import value_name
from sfumato.ui.widgets.paint_queue import Steps, turns
from sfumato.ui.widgets.painted import LEFT, RIGHT, MarkedHeadings, icon_pixmap

Index = QModelIndex | QPersistentModelIndex

WIDTH_ROWS: Final = 60
"""So many rows decide how wide a column starts."""
MEASURED_COLUMNS: Final = 200
FITTED_AT_ONCE: Final = 25
"""So many columns are measured without the window's standing still; they fill a wide screen."""
_FITTED: Final = object()
NARROWEST: Final = 64
MOST_WRAPPED: Final = 100
"""To measure more rows than these would take too long."""
WIDEST: Final = 280
CELL_MARGINS: Final = 24
HEADING_MARGINS: Final = 26
"""What the style sheet leaves free beside a text, and a little more."""
COPIED_CELLS: Final = 200_000
"""More is refused: the clipboard is no place for a table, and the window would not answer."""

MISSING_TEXT: Final = "–"
_ROLES: Final = Qt.ItemDataRole
_VALUE_ROLES: Final = (_ROLES.DisplayRole, _ROLES.FontRole, _ROLES.ToolTipRole)
_SIDES: Final = (LEFT, RIGHT)
"""Where texts stand: numbers at the right."""


def show_value(value: object, mark: Callable[[str], str] = str) -> str:
    """Return a cell's text: numbers without noise (and with a mark), dates without empty times."""
    if isinstance(value, float | np.floating):
        return mark(f"{value:.15g}")
    if isinstance(value, pd.Timestamp):
        plain_day = value == value.normalize()
        return value.strftime("%Y-%m-%d") if plain_day else value.strftime("%Y-%m-%d %H:%M:%S")
    return str(value)


class FrameModel(QAbstractTableModel):
    """A data frame's cells, read where they are.

    Parameters
    ----------
    frame
        The rows; never changed.
    labels
        For a column, texts for its values (from a statistical file).
    first_row
        What the first row is called in the header.
    marks
        What a heading shows and tells beside a column's name, by that name: from a role of Qt.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        labels: Mapping[str, Mapping[Value, str]] | None = None,
        first_row: int = 1,
        marks: Mapping[str, Callable[[int], Any]] | None = None,
    ) -> None:
        super().__init__()
        self._frame = frame
        self._marks = dict(marks or {})
        self._labels = dict(labels or {})
        self._first_row = first_row
        self._names = [str(name) for name in frame.columns]  # Qt asks for all of them often
        self._series: dict[int, pd.Series] = {}
        self._numeric = [
            pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
            for dtype in frame.dtypes
        ]
        self._order: npt.NDArray[np.int64] | None = None
        self._number_font = font(tabular=True)
        self._missing_font = QFont(font())
        self._missing_font.setItalic(True)

    @property
    def frame(self) -> pd.DataFrame:
        """The rows."""
        return self._frame

    def _column(self, place: int) -> pd.Series:
        """Return a column, taken from the frame where it is first shown."""
        if place not in self._series:
            self._series[place] = self._frame.iloc[:, place]
        return self._series[place]

    def source_row(self, row: int) -> int:
        """Return the position in the frame of a row in the view."""
        return row if self._order is None else int(self._order[row])

    def row_of(self, position: int) -> int:
        """Return the row in the view that shows a position in the frame."""
        if self._order is None:
            return position
        return int(np.flatnonzero(self._order == position)[0])

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of rows."""
        return 0 if parent is not None and parent.isValid() else len(self._frame)

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of columns."""
        return 0 if parent is not None and parent.isValid() else len(self._names)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what is shown of a cell."""
        column = index.column()
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _SIDES[self._numeric[column]]
        if role not in _VALUE_ROLES:
            return None
        value: Any = self._column(column).iat[self.source_row(index.row())]
        missing = bool(pd.isna(value))
        if role == Qt.ItemDataRole.FontRole:
            return self._font(column, missing)
        if missing:
            return self.tr("missing") if role == Qt.ItemDataRole.ToolTipRole else MISSING_TEXT
        labels = self._labels.get(self._names[column])
        if labels and role == Qt.ItemDataRole.DisplayRole:
            return labels.get(value, show_value(value, localized))
        return show_value(value, localized)

    def texts(self, rows: Sequence[int], column: int) -> list[str]:
        """Return what is shown of a column in some rows of the view."""
        whole = self._column(column)
        if self._order is None and isinstance(rows, range) and rows.step == 1:
            series = whole.iloc[rows.start : rows.stop]  # in a tenth of the time
        else:
            series = whole.iloc[[self.source_row(row) for row in rows]]
        labels = self._labels.get(self._names[column], {})
        return [
            MISSING_TEXT if missing else labels.get(value, show_value(value, localized))
            for value, missing in zip(series, series.isna(), strict=True)
        ]

    def _font(self, column: int, missing: bool) -> QFont | None:
        if missing:
            return self._missing_font
        return self._number_font if self._numeric[column] else None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a column's name, or a row's number."""
        if orientation == Qt.Orientation.Horizontal:
            name = self._names[section]
            if role == Qt.ItemDataRole.DisplayRole:
                return name
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return _SIDES[self._numeric[section]]
            return self._marks[name](role) if name in self._marks else None
        if role == Qt.ItemDataRole.DisplayRole:
            return grouped(self.source_row(section) + self._first_row)
        return RIGHT if role == Qt.ItemDataRole.TextAlignmentRole else None

    def set_order(self, order: npt.NDArray[np.int64] | None) -> None:
        """Show the rows in another order; None for the frame's own."""
        self.layoutAboutToBeChanged.emit()
        self._order = order
        self.layoutChanged.emit()

    def order_by(self, column: int, descending: bool) -> npt.NDArray[np.int64]:
        """Return the order that sorts by a column, missing values last (safe in a job)."""
        ordered = self._column(column).reset_index(drop=True)
        if isinstance(ordered.dtype, pd.CategoricalDtype) and not ordered.cat.ordered:
            rank = np.argsort(np.argsort(ordered.cat.categories.to_numpy()))
            codes = ordered.cat.codes.to_numpy()
            ordered = pd.Series(np.where(codes < 0, np.nan, np.append(rank, -1)[codes]))
        order = ordered.sort_values(ascending=not descending, kind="stable").index
        return np.asarray(order, dtype=np.int64)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column; -1 restores the frame's own order."""
        if column < 0:
            self.set_order(None)
        else:
            self.set_order(self.order_by(column, order == Qt.SortOrder.DescendingOrder))


@dataclass(frozen=True)
class Heading:
    """What stands above a column, or beside a row.

    Parameters
    ----------
    text, tip
        What it is called, and what that means.
    right
        Whether it and its cells are aligned to the right, as numbers are.
    editable
        Whether its cells can be typed into.
    tabular
        Whether figures have one width, as they have in cells at the right.
    """

    text: str = ""
    tip: str = ""
    right: bool = False
    editable: bool = False
    tabular: bool = False


@dataclass(frozen=True)
class Cell:
    """What a cell shows.

    Parameters
    ----------
    text, tip
        What stands there, and what it means.
    typed
        What editing begins with, where that is another text.
    ink, ground
        Colours of the text and behind it; empty for the usual ones.
    icon, tint
        The name of a drawing before the text; may be empty. Its colour, where not of its name.
    """

    text: str
    tip: str = ""
    typed: str | None = None
    ink: str = ""
    ground: str = ""
    icon: str = ""
    tint: str = ""
    strong: bool = False
    italic: bool = False


def _face(cell: Cell, heading: Heading) -> QFont:
    face = font(strong=cell.strong, tabular=heading.right or heading.tabular)
    face.setItalic(cell.italic)
    return face


_ASPECTS: Final[Mapping[int, Callable[[Cell, Heading], Any]]] = {
    _ROLES.DisplayRole: lambda cell, _: value_name(cell.text),
    _ROLES.EditRole: lambda cell, _: cell.text if cell.typed is None else cell.typed,
    _ROLES.ToolTipRole: lambda cell, _: cell.tip,
    _ROLES.FontRole: _face,
    _ROLES.ForegroundRole: lambda cell, _: QColor(cell.ink) if cell.ink else None,
    _ROLES.BackgroundRole: lambda cell, _: QColor(cell.ground) if cell.ground else None,
    _ROLES.DecorationRole: lambda cell, _: (
        icon_pixmap(cell.icon, cell.tint or cell.icon, scaled(16)) if cell.icon else None
    ),
}


class CellsModel(QAbstractTableModel):
    """A table whose cells are made when they come into sight.

    A subclass says what stands in a `cell`, lays the table out anew when other rows or columns
    are shown, and repaints it when only cells have changed. Where a function can tell what stands
    there, `show_cells` is enough.
    """

    written = Signal(object)
    """The person typed: a mapping from (row, column) to text. Whoever listens decides."""

    def __init__(self, columns: Sequence[Heading] = (), parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._columns = tuple(columns)
        self._rows = 0
        self._names: tuple[Heading, ...] = ()
        self._teller: Callable[[int, int], Cell | str] = lambda _row, _column: ""
        self._made: tuple[tuple[int, int], Cell] | None = None
        """The cell made last: painting asks for one of its aspects after the other."""
        themes().changed.connect(self.repaint)

    def cell(self, row: int, column: int) -> Cell:
        """Return what a cell shows."""
        told = self._teller(row, column)
        return Cell(told) if isinstance(told, str) else told

    def show_cells(self, rows: int, teller: Callable[[int, int], Cell | str]) -> None:
        """Show what a function tells of each cell; where rows are as many, the selection stays."""
        self._teller = teller
        if rows == self._rows:
            self.repaint()
        else:
            self.lay_out(rows)

    def lay_out(
        self, rows: int, columns: Sequence[Heading] | None = None, names: Sequence[Heading] = ()
    ) -> None:
        """Show so many rows, under other headings or the same; their names stand beside them."""
        self.beginResetModel()
        self._rows, self._names, self._made = rows, tuple(names), None
        if columns is not None:
            self._columns = tuple(columns)
        self.endResetModel()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column, where a subclass can `arrange` its rows."""
        if column >= 0:
            self.layoutAboutToBeChanged.emit()
            self._made = None
            self.arrange(column, order == Qt.SortOrder.DescendingOrder)
            self.layoutChanged.emit()

    def arrange(self, column: int, descending: bool) -> None:
        """Put the rows in the order of a column."""

    def texts(self, rows: Sequence[int], column: int) -> list[str]:
        """Return what is shown of a column in some rows."""
        return [self.cell(row, column).text for row in rows]

    def repaint(self) -> None:
        """Tell that any cell may look different; selection and scrolling stay."""
        self._made = None
        if self._rows and self._columns:
            last = self.index(self._rows - 1, len(self._columns) - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of rows."""
        return 0 if parent is not None and parent.isValid() else self._rows

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of columns."""
        return 0 if parent is not None and parent.isValid() else len(self._columns)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return what can be done with a cell."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        editable = self._columns[index.column()].editable
        return flags | Qt.ItemFlag.ItemIsEditable if editable else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return one aspect of a cell."""
        heading = self._columns[index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _SIDES[heading.right]
        if role not in _ASPECTS:
            return None
        place = (index.row(), index.column())
        if self._made is None or self._made[0] != place:
            self._made = (place, self.cell(*place))
        return _ASPECTS[role](self._made[1], heading)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return what a column or a row is called, and what that means."""
        headings = self._columns if orientation == Qt.Orientation.Horizontal else self._names
        if section >= len(headings):
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _SIDES[headings[section].right]
        if role == _ROLES.ToolTipRole:
            return headings[section].tip
        return value_name(headings[section].text) if role == _ROLES.DisplayRole else None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Tell what was typed."""
        if role != Qt.ItemDataRole.EditRole or not self._columns[index.column()].editable:
            return False
        self.written.emit({(index.row(), index.column()): str(value)})
        return True


def _tip(data: Callable[[int], Any], metrics: QFontMetrics, room: int) -> str:
    """Return the tip of a cell or heading, with its text where there is less room than it needs."""
    text, tip = (str(data(role) or "") for role in (_ROLES.DisplayRole, _ROLES.ToolTipRole))
    needed = max(map(metrics.horizontalAdvance, text.split("\n")))
    return "\n".join(filter(None, (text, tip))) if needed > room and text not in tip else tip


class TableView(QTableView):
    """A table with fixed row heights, no grid but the row rule, and copying.

    Parameters
    ----------
    row_numbers
        Whether the rows' names or numbers are shown.
    model
        What is shown to begin with.
    name
        What it is called.
    whole_rows
        Whether rows are chosen rather than cells.
    edits
        Whether a double-click, or the platform's key, lets the person type.
    framed
        Whether there is a line around it.
    widest
        The column that takes the room left by the others, which are as wide as they need.
    """

    wrapped = Signal()
    """Rows have become as high as their texts need."""

    def __init__(
        self,
        parent: QWidget | None = None,
        *,
        row_numbers: bool = True,
        model: QAbstractItemModel | None = None,
        name: str = "",
        whole_rows: bool = False,
        edits: bool = False,
        framed: bool = True,
        widest: int | None = None,
    ) -> None:
        super().__init__(parent)
        self.setProperty("framed", framed)
        self.setAccessibleName(name)
        self.setHorizontalHeader(MarkedHeadings(Qt.Orientation.Horizontal, self))
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setAlternatingRowColors(False)
        by_row, by_cell = self.SelectionBehavior.SelectRows, self.SelectionBehavior.SelectItems
        self.setSelectionBehavior(by_row if whole_rows else by_cell)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        triggers = self.EditTrigger
        by_hand = triggers.DoubleClicked | triggers.EditKeyPressed
        self.setEditTriggers(by_hand if edits else triggers.NoEditTriggers)
        self.setTabKeyNavigation(False)
        rows = self.verticalHeader()
        rows.setVisible(row_numbers)
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(Space.FIELD)
        rows.setMinimumSectionSize(Space.FIELD)
        rows.setFont(font(12, tabular=True))
        columns = self.horizontalHeader()
        columns.setFixedHeight(Space.FIELD + 4)
        columns.setDefaultAlignment(LEFT)
        columns.setMinimumSectionSize(scaled(NARROWEST))
        for header in (rows, columns):
            header.setHighlightSections(False)
            header.setTextElideMode(Qt.TextElideMode.ElideRight)
            header.viewport().installEventFilter(self)
        if model is not None:
            self.setModel(model)
        if widest is not None:
            columns.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
            columns.setSectionResizeMode(widest, QHeaderView.ResizeMode.Stretch)

    def commitData(self, editor: QWidget) -> None:
        """Take what was typed, not what is half typed in a table that is taken away."""
        if self.isVisible():
            super().commitData(editor)

    def setModel(self, model: QAbstractItemModel | None) -> None:
        """Show another model; the one before is deleted if it belongs to this table.

        So are the selections that Qt makes anew for the table and its headers each time, and
        would keep. The headers share no selection with the table: they don't show it, and to
        find out whether a whole column is selected, Qt would ask for the flags of each cell
        whenever it paints them.
        """
        before = self.model()
        turns().leave(self)  # widths of the model before are of no use any more
        super().setModel(model)
        if before is not None and before is not model and before.parent() is self:
            before.deleteLater()
        headers = (self.horizontalHeader(), self.verticalHeader())
        if model is not None:
            for header in headers:
                header.setSelectionModel(QItemSelectionModel(model, header))
        direct = Qt.FindChildOption.FindDirectChildrenOnly
        for view in (self, *headers):
            for chosen in view.findChildren(QItemSelectionModel, options=direct):
                if chosen is not view.selectionModel():
                    chosen.deleteLater()

    def show_frame(self, frame: pd.DataFrame) -> FrameModel:
        """Show a data frame, its columns as wide as they need; return the model."""
        model = FrameModel(frame)
        self.show_model(model)
        return model

    def show_model(self, model: QAbstractItemModel) -> None:
        """Show a model that nobody else keeps, its columns as wide as they need."""
        model.setParent(self)
        self.setModel(model)
        self.fit_columns()

    def fit_columns(self) -> None:
        """Give each column the width that its name and its first rows need.

        Of many columns the first are measured at once, since they are in sight, others in turns;
        of very many the last ones are as wide as the widest that was measured.
        """
        turns().leave(self)
        steps = self._fitting()
        if next(steps, _FITTED) is None:
            turns().ask(self, steps)

    def _fitting(self) -> Steps:
        model = self.model()
        if model is None:
            return
        measured, widths = min(model.columnCount(), MEASURED_COLUMNS), [scaled(NARROWEST)]
        for column in range(measured):
            if column and not column % FITTED_AT_ONCE:
                yield
            widths.append(self._fitting_width(model, column))
            self.setColumnWidth(column, widths[-1])
        if measured < model.columnCount():
            self.horizontalHeader().setDefaultSectionSize(max(widths))

    def _fitting_width(self, model: QAbstractItemModel, column: int) -> int:
        """Return how wide a column has to be for its name and its first rows, within limits."""
        metrics, heading = self.fontMetrics(), self.horizontalHeader().fontMetrics()
        rows = range(min(model.rowCount(), WIDTH_ROWS))
        texts: Iterable[object] = (
            model.texts(rows, column)  # at once, in a fifth of the time
            if isinstance(model, FrameModel)
            else (model.index(row, column).data() for row in rows)
        )
        widest = max((metrics.horizontalAdvance(str(text)) for text in texts), default=0)
        name = str(model.headerData(column, Qt.Orientation.Horizontal))
        decoration = Qt.ItemDataRole.DecorationRole
        marked = model.headerData(column, Qt.Orientation.Horizontal, decoration) is not None
        room = scaled(16) + Space.INSIDE if marked else 0
        needed = max(widest, heading.horizontalAdvance(name) + 16 + room) + 28
        return min(max(math.ceil(needed), scaled(NARROWEST)), scaled(WIDEST))

    def wrap_rows(self) -> None:
        """Make rows as high as their texts need at the columns' widths, unless there are many."""
        self.setWordWrap(True)

        def fit(*_resized: int) -> None:
            if self.model().rowCount() <= MOST_WRAPPED:
                for row in range(self.model().rowCount()):
                    needed = self._height_of(row) + Space.INSIDE + Space.TIGHT
                    self.setRowHeight(row, max(needed, Space.FIELD))
                self.wrapped.emit()

        # Where rows of another height resize the table, Qt does not tell of every column's width.
        settled = QTimer(self, singleShot=True)
        settled.timeout.connect(fit)
        for heard in (fit, lambda *_: settled.start()):
            self.horizontalHeader().sectionResized.connect(heard)
        for changed in (self.model().modelReset, self.model().layoutChanged):
            changed.connect(lambda *_: fit())

    def _height_of(self, row: int) -> int:
        """Return how high a row's texts are; Qt's own hint forgets the room beside them."""
        option = QStyleOptionViewItem()
        self.initViewItemOption(option)
        heights = [0]
        for column in range(self.model().columnCount()):
            if not self.isColumnHidden(column):
                index = self.model().index(row, column)
                option.rect = QRect(0, 0, self.columnWidth(column) - CELL_MARGINS, 1)
                heights.append(self.itemDelegateForIndex(index).sizeHint(option, index).height())
        return max(heights)

    def set_widths(self, widths: Mapping[int, float]) -> None:
        """Fix the widths of some columns, pixels at scale 1; the others share what is left.

        A column is no narrower than its heading.
        """
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        for section, width in widths.items():
            header.setSectionResizeMode(section, QHeaderView.ResizeMode.Fixed)
            header.resizeSection(section, max(scaled(width), self._heading_width(section)))

    def _heading_width(self, section: int) -> int:
        """Return the width that a column's heading needs, with the room of an arrow beside it."""
        if self.model() is None:
            return 0
        text = str(self.model().headerData(section, Qt.Orientation.Horizontal) or "")
        metrics = self.horizontalHeader().fontMetrics()
        widest = max(map(metrics.horizontalAdvance, text.split("\n")))
        arrow = scaled(16) if self.isSortingEnabled() else 0
        return widest + HEADING_MARGINS + arrow

    def tip_of(self, index: Index) -> str:
        """Return what the pointer tells of a cell: its tip, and its text where it is cut off."""
        face = index.data(Qt.ItemDataRole.FontRole) or self.font()
        room = 0 if self.wordWrap() else self.visualRect(index).width() - CELL_MARGINS
        return _tip(index.data, QFontMetrics(face), room)

    def heading_tip(self, section: int, orientation: Qt.Orientation) -> str:
        """Return what the pointer tells of a heading: its tip, and its text where it is cut off."""
        across = orientation == Qt.Orientation.Horizontal
        header = self.horizontalHeader() if across else self.verticalHeader()
        room = (header.sectionSize(section) if across else header.width()) - HEADING_MARGINS
        data = partial(self.model().headerData, section, orientation)
        return _tip(data, header.fontMetrics(), room)

    def viewportEvent(self, event: QEvent) -> bool:
        """Tell under the pointer what there is no room for."""
        if event.type() != QEvent.Type.ToolTip or not isinstance(event, QHelpEvent):
            return super().viewportEvent(event)
        index = self.indexAt(event.pos())
        QToolTip.showText(event.globalPos(), self.tip_of(index) if index.isValid() else "", self)
        return True

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Tell under the pointer what a heading has no room for."""
        if event.type() != QEvent.Type.ToolTip or not isinstance(event, QHelpEvent):
            return super().eventFilter(watched, event)
        across = watched is self.horizontalHeader().viewport()
        header = self.horizontalHeader() if across else self.verticalHeader()
        section = header.logicalIndexAt(event.pos())
        tip = self.heading_tip(section, header.orientation()) if section >= 0 else ""
        QToolTip.showText(event.globalPos(), tip, header)  # an empty one takes it away
        return True

    def chosen_rows(self) -> list[int]:
        """Return the rows in which a cell is selected, from the top; quick for all of very many."""
        parts = list(self.selectionModel().selection())  # type: ignore[call-overload]
        return sorted({row for part in parts for row in range(part.top(), part.bottom() + 1)})

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy the selection on the platform's copy keys."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)

    def copy(self) -> bool:
        """Copy the selected cells as tab-separated text; return whether there were any."""
        chosen = self.selectionModel()
        if chosen is None:
            return False
        parts = list(chosen.selection())  # type: ignore[call-overload]
        cells = sum(part.width() * part.height() for part in parts)
        if not 0 < cells <= COPIED_CELLS:
            if cells:
                words = self.tr("At most {most} {most:cell|cells} can be copied.").format(
                    most=grouped(COPIED_CELLS)
                )
                QToolTip.showText(self.mapToGlobal(self.rect().center()), words, self)
            return False
        rows = self.chosen_rows()
        columns = sorted({at for part in parts for at in range(part.left(), part.right() + 1)})
        lines = zip(*(self._texts(rows, column) for column in columns), strict=True)
        QGuiApplication.clipboard().setText("\n".join("\t".join(line) for line in lines))
        return True

    def _texts(self, rows: Sequence[int], column: int) -> list[str]:
        """Return a column's texts, from the model in one go where it has a way to tell them."""
        model = self.model()
        texts = getattr(model, "texts", None)
        if texts is not None:
            return list(texts(rows, column))
        return [str(model.index(row, column).data() or "") for row in rows]
