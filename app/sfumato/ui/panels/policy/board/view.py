"""The board's view: frozen heads with gauges, cells in the shade of their trust, dragged or keyed.

A cell is dragged to the left for more and to the right for less, as recipients stand; + and − do
the same by keys, Enter opens all settings. Names of quasi-identifiers are dragged up and down into
the order of their importance; Alt+Up and Alt+Down do the same.
"""

from __future__ import annotations

import math
from typing import Final

from PySide6.QtCore import QModelIndex, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QHeaderView,
    QLineEdit,
    QPushButton,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from sfumato.analysis.planning.board import BoardRow
from sfumato.engine.core.columns import Leaves
from sfumato.ui.look.theme import Space, TextSize, font, mix, scaled, themes
from sfumato.ui.panels.policy.board.model import ORIGINAL, BoardModel, RoleLine
from sfumato.ui.panels.policy.board.words import role_text
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.layout import column
from sfumato.ui.widgets.painted import draw_icon, draw_text, elided, painter_on
from sfumato.ui.widgets.tables import Index, TableView

ROW: Final = 46
GROUP: Final = 30
HEAD: Final = 104
FOLDED: Final = 48
"""How high the heads are: with all gauges, and with the worst one alone."""
NAMES: Final = (170, 236)
"""How wide the columns' names are at least and at most."""
FIRST: Final = 100
NARROWEST: Final = 164
WIDEST: Final = 300
"""How wide a recipient's column is at least and at most."""
DRAGGED: Final = 28
"""So many pixels are one step."""
_MORE: Final = (Qt.Key.Key_Plus, Qt.Key.Key_Equal)
_LESS: Final = (Qt.Key.Key_Minus, Qt.Key.Key_Underscore)
_ENTER: Final = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_GRAVE: Final = ("muted", "good", "caution", "danger")
"""The looks of gauges, the gravest last."""


class BoardView(TableView):
    """Shows a `BoardModel`."""

    moved = Signal(QModelIndex, int)
    """A cell is to get more (above 0) or less, by so many steps."""
    let_go = Signal()
    """What was dragged is let go."""
    opened = Signal(QModelIndex)
    """All settings of a cell are asked for."""
    ranked = Signal(str, str)
    """A column is to be as important as another one is."""
    chosen = Signal(QModelIndex)
    """Another cell is the current one."""

    def __init__(self, rows: BoardModel, parent: QWidget | None = None) -> None:
        super().__init__(parent, name=tr("Who gets what"), framed=False)
        self.setProperty("look", "board")
        self._dragged: tuple[QPoint, QModelIndex, int] | None = None
        self.setCornerButtonEnabled(False)
        self.folded = False
        self._corner = QWidget(self)
        self._buttons: list[QPushButton] = []
        self._searches: list[QLineEdit] = []
        self.setHorizontalHeader(_People(self))
        self.setVerticalHeader(_Columns(self))
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setSelectionMode(self.SelectionMode.SingleSelection)
        self.setItemDelegate(_CellDelegate(self))
        self.setMouseTracking(True)
        self.setModel(rows)
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.viewport().installEventFilter(self)
        rows.modelReset.connect(self._lay_out)
        self.doubleClicked.connect(self._open)
        self.verticalHeader().sectionClicked.connect(self._press_name)
        self._lay_out()
        self._fit_heads()

    @property
    def board(self) -> BoardModel:
        """What is shown."""
        model = self.model()
        assert isinstance(model, BoardModel)
        return model

    def put_in_corner(self, *widgets: QWidget) -> None:
        """Put widgets below each other where the heads of rows and columns meet."""
        self._corner.setLayout(column(*widgets, spacing=Space.INSIDE))
        self._buttons = [one for one in widgets if isinstance(one, QPushButton)]
        self._searches = [one for one in widgets if isinstance(one, QLineEdit)]
        self._corner.raise_()

    # ----- layout

    def fold_heads(self, folded: bool) -> None:
        """Show only the worst gauge of each recipient, and more rows, or all gauges again."""
        if folded != self.folded:
            self.folded = folded
            self._fit_heads()
            self._share()

    @property
    def _head(self) -> int:
        return scaled(FOLDED if self.folded else HEAD)

    def _fit_heads(self) -> None:
        self.horizontalHeader().setFixedHeight(self._head)
        # Beside folded heads there is room for one: a search that is on is not hidden.
        searching = any(one.text() for one in self._searches)
        for one in self._searches:
            one.setVisible(searching or not self.folded)
        for button in self._buttons:
            button.setVisible(not (self.folded and searching))
        around = self.horizontalScrollBar().sizeHint().height() + 2 * self.frameWidth()
        self.setMinimumHeight(self._head + scaled(ROW) + around)  # one row is always in sight

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the room among the recipients; the current cell stays in sight."""
        super().resizeEvent(event)
        self._share()
        if self.currentIndex().isValid():
            self.scrollTo(self.currentIndex())

    def _lay_out(self) -> None:
        for row, line in enumerate(self.board.lines):
            high = GROUP if isinstance(line, RoleLine) else ROW
            self.setRowHeight(row, scaled(high))
        self._share()

    def _share(self) -> None:
        header, people = self.horizontalHeader(), len(self.board.people)
        note = QFontMetricsF(font(TextSize.SMALL)).horizontalAdvance(tr("not released"))
        first = max(scaled(FIRST), math.ceil(note) + scaled(16))
        bar = self.verticalScrollBar().sizeHint().width()
        room = self.width() - first - bar - 2
        least, most = map(scaled, NAMES)
        for button in self._buttons:  # what they say is never cut off
            least = max(least, button.sizeHint().width() + Space.INSIDE)
        names = min(max(room - people * scaled(NARROWEST), least), max(least, most))
        self.verticalHeader().setFixedWidth(names)
        self._corner.setGeometry(0, 0, names - Space.INSIDE, self._head - Space.INSIDE)
        if header.count():
            header.resizeSection(ORIGINAL, first)
        each = min(max((room - names) // max(people, 1), scaled(NARROWEST)), scaled(WIDEST))
        for section in range(1, header.count()):
            header.resizeSection(section, each)

    # ----- by hand

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take hold of a cell, or fold a group."""
        super().mousePressEvent(event)
        index = self.indexAt(event.position().toPoint())
        if not index.isValid() or event.button() != Qt.MouseButton.LeftButton:
            return
        if isinstance(self.board.lines[index.row()], RoleLine):
            self._fold(index.row())
        elif self._moves(index):
            self._dragged = event.position().toPoint(), index, 0

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Give more to the left and less to the right, a step at a time."""
        where = event.position().toPoint()
        if self._dragged is None:
            shape = Qt.CursorShape
            over = self._moves(self.indexAt(where))
            self.viewport().setCursor(shape.SizeHorCursor if over else shape.ArrowCursor)
            super().mouseMoveEvent(event)
            return
        start, index, done = self._dragged
        steps = round((start.x() - where.x()) / scaled(DRAGGED))
        if steps != done:
            self._dragged = start, index, steps
            self.moved.emit(index, steps - done)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let a cell go."""
        super().mouseReleaseEvent(event)
        if self._dragged is not None:
            self._dragged = None
            self.let_go.emit()

    def _moves(self, index: Index) -> bool:
        cell = self.board.cell(index.row(), index.column()) if index.isValid() else None
        return cell is not None and (cell.less or cell.more)

    # ----- by keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Give more or less, open all settings, or fold a group."""
        index, key = self.currentIndex(), event.key()
        grouped = index.isValid() and isinstance(self.board.lines[index.row()], RoleLine)
        up_or_down = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(key), 0)
        if index.isValid() and up_or_down and event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self.rank(index.row(), up_or_down)
        elif grouped and key in (*_ENTER, Qt.Key.Key_Space):
            self._fold(index.row())
        elif index.isValid() and key in _ENTER:
            self._open(index)
        elif index.isValid() and key in (*_MORE, *_LESS):
            self.moved.emit(index, 1 if key in _MORE else -1)
            self.let_go.emit()
        else:
            super().keyPressEvent(event)

    def rank(self, row: int, by: int) -> None:
        """Ask for another place of a column among those of its role."""
        name, other = self.board.ranked(row), self.board.ranked(row, by)
        if name and other and name != other:
            self.ranked.emit(name, other)

    def currentChanged(self, current: Index, previous: Index) -> None:
        """Tell which cell is the current one; called by Qt."""
        super().currentChanged(current, previous)
        self.chosen.emit(self.board.index(current.row(), current.column()))

    def _open(self, index: QModelIndex) -> None:
        if isinstance(self.board.lines[index.row()], BoardRow):
            self.opened.emit(index)

    def _press_name(self, row: int) -> None:
        if isinstance(self.board.lines[row], RoleLine):
            self._fold(row)
        else:
            self.setCurrentIndex(self.board.index(row, max(self.currentIndex().column(), 0)))

    def _fold(self, row: int) -> None:
        line = self.board.lines[row]
        if isinstance(line, RoleLine):
            place = max(self.currentIndex().column(), 0)
            self.board.fold(line.role)
            self.setCurrentIndex(self.board.index(row, place))


class _CellDelegate(QStyledItemDelegate):
    """Draws a cell: the example, below it the word, in the shade of its trust."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Return a cell's size; called by Qt."""
        del option, index
        return QSize(scaled(NARROWEST), scaled(ROW))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw a cell; called by Qt."""
        view = self.parent()
        assert isinstance(view, BoardView)
        board, theme = view.board, themes().current
        style, area = theme.style, QRectF(option.rect).adjusted(3, 3, -3, -3)
        focused = bool(option.state & QStyle.StateFlag.State_HasFocus)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if isinstance(board.lines[index.row()], RoleLine):
            line = QRectF(option.rect)
            painter.fillRect(line, QColor(theme.rail))
            if focused:
                painter.setPen(QPen(QColor(style.accent), 2))
                painter.drawRect(line.adjusted(1, 1, -1, -1))
            painter.restore()
            return
        cell = board.cell(index.row(), index.column())
        ground, ink, edge, word = style.surface, style.text, style.line, ""
        if cell is not None:
            word = board.word(index)
            if cell.problem:
                ground, ink, edge = theme.tint(style.danger), style.danger, style.danger
            elif cell.leaves is Leaves.LEFT_OUT:
                ground = theme.rail
            else:
                shade = (0.05 + 0.15 * cell.trust) if not style.strong else 0.0
                ground = mix(style.trust_colour(cell.trust), style.surface, shade)
                edge = mix(style.trust_colour(cell.trust), style.surface, shade + 0.16)
        painter.setBrush(QColor(ground))
        wide = focused or chosen
        painter.setPen(QPen(QColor(style.accent if wide else edge), 2 if wide else 1))
        painter.drawRoundedRect(area.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        texts = area.adjusted(scaled(8), scaled(3), -scaled(6), -scaled(3))
        if cell is not None and cell.problem:
            side = scaled(14)
            sign = QRectF(texts.right() - side, texts.top() + 1, side, side)
            draw_icon(painter, "danger", "danger", sign)
            texts.setRight(texts.right() - side - 4)
        quiet = ink if cell is not None and cell.problem else theme.quiet
        sides = Qt.AlignmentFlag
        main = str(index.data() or "")
        if not word:
            draw_text(
                painter, texts, main, font(), theme.quiet, sides.AlignVCenter | sides.AlignLeft
            )
        else:
            above = sides.AlignTop | sides.AlignLeft
            draw_text(painter, texts, main, font(), ink, above)
            small = font(TextSize.SMALL)
            draw_text(painter, texts, word, small, quiet, sides.AlignBottom | sides.AlignLeft)
        painter.restore()


def name_lines(name: str, width: float) -> list[str]:
    """Return a recipient's name in one line, or in two where it is too wide for one."""
    metrics, words = QFontMetricsF(font(strong=True)), name.split(" ")
    fitting = [
        count
        for count in range(1, len(words))
        if metrics.horizontalAdvance(" ".join(words[:count])) <= width
    ]
    if metrics.horizontalAdvance(name) <= width or not fitting:
        return [name]
    return [" ".join(words[: fitting[-1]]), " ".join(words[fitting[-1] :])]


class _People(QHeaderView):
    """The recipients: a name, a remark, and three gauges each; folded, the worst gauge alone."""

    def __init__(self, view: BoardView) -> None:
        super().__init__(Qt.Orientation.Horizontal, view)
        self._view = view
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setSectionsClickable(False)
        self.setFont(font(strong=True))

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:
        """Draw a head; called by Qt."""
        board, style = self._view.board, themes().current.style
        painter.save()
        painter.fillRect(rect, QColor(style.background))
        area = QRectF(rect).adjusted(scaled(6), 0, -scaled(8), -scaled(6))
        line, small = scaled(18), font(TextSize.SMALL)
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        name = str(board.headerData(section, Qt.Orientation.Horizontal) or "")
        first = QRectF(area.left(), area.top(), area.width(), line)
        note = tr("not released") if section == ORIGINAL else board.note(section)
        folded = self._view.folded
        gauges = () if section == ORIGINAL else board.gauges(section)
        if folded and section != ORIGINAL:
            gauges, note = (max(gauges, key=lambda each: _GRAVE.index(each.look)),), ""
        lines = [name] if note or folded else name_lines(name, area.width())
        for down, part in enumerate(lines):
            below = first.translated(0, down * line)
            draw_text(painter, below, part, font(strong=True), style.text, left)
        draw_text(painter, first.translated(0, line), note, small, style.muted, left)
        place = first.translated(0, line if folded else 2 * line + scaled(6))
        for gauge in gauges:
            stale = board.stale or gauge.look == "muted"
            side = scaled(13)
            sign = QRectF(place.left(), place.top() + (line - side) / 2, side, side)
            if not stale:
                draw_icon(painter, gauge.look, gauge.look, sign)
            words = place.adjusted(side + 5, 0, 0, 0)
            colour = style.text if gauge.look in ("muted", "good") else getattr(style, gauge.look)
            face = font(TextSize.SMALL, strong=True, tabular=True)
            ink = style.muted if board.stale else colour
            draw_text(painter, words, gauge.value, face, ink, right)
            taken = QFontMetricsF(face).horizontalAdvance(gauge.value) + scaled(6)
            words.setRight(max(words.right() - taken, words.left()))
            draw_text(painter, words, gauge.name, small, style.muted, left)
            place = place.translated(0, line)
        painter.setPen(QColor(style.line))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        painter.restore()


class _Columns(QHeaderView):
    """The columns: a name, a role, and a small profile each."""

    def __init__(self, view: BoardView) -> None:
        super().__init__(Qt.Orientation.Vertical, view)
        self._view = view
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setMinimumSectionSize(scaled(GROUP))
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.setFont(font(strong=True))
        self._held: tuple[int, int] | None = None
        """The row that is dragged, and where it would be let go."""

    # ----- dragged by importance

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take hold of a column that has an importance."""
        super().mousePressEvent(event)
        row = self.logicalIndexAt(event.position().toPoint())
        left = event.button() == Qt.MouseButton.LeftButton
        self._held = (row, row) if left and self._view.board.ranked(row) else None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show where a column would be let go: among the quasi-identifiers alone."""
        where = event.position().toPoint()
        if self._held is None:
            shape = Qt.CursorShape
            over = self._view.board.ranked(self.logicalIndexAt(where))
            self.viewport().setCursor(shape.SizeVerCursor if over else shape.ArrowCursor)
            super().mouseMoveEvent(event)
            return
        start, row = self._held[0], self.logicalIndexAt(where)
        if row >= 0 and self._view.board.ranked(start, row - start):
            self._held = start, row
            self.viewport().update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let a column go."""
        super().mouseReleaseEvent(event)
        held, self._held = self._held, None
        self.viewport().update()
        if held is not None and held[0] != held[1]:
            self._view.rank(held[0], held[1] - held[0])

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the names, and where the one that is dragged would be let go; called by Qt."""
        super().paintEvent(event)
        if self._held is None or self._held[0] == self._held[1]:
            return
        start, row = self._held
        line = self.sectionViewportPosition(row) + (self.sectionSize(row) if row > start else 0)
        painter = painter_on(self.viewport())
        painter.setPen(QPen(QColor(themes().current.style.accent), 3))
        painter.drawLine(0, line, self.width(), line)
        painter.end()

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:
        """Draw a column's name; called by Qt."""
        board, theme = self._view.board, themes().current
        if section >= len(board.lines):
            return
        line, style = board.lines[section], theme.style
        left = Qt.AlignmentFlag.AlignLeft
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(rect).adjusted(scaled(6), scaled(4), -scaled(8), -scaled(4))
        if isinstance(line, RoleLine):
            painter.fillRect(rect, QColor(theme.rail))
            side = scaled(14)
            arrow = QRectF(area.left(), area.center().y() - side / 2, side, side)
            draw_icon(painter, "chevron-right" if line.folded else "chevron-down", "muted", arrow)
            words = area.adjusted(side + 4, 0, 0, 0)
            face = font(TextSize.SMALL, strong=True)
            room = words.width() - QFontMetricsF(face).horizontalAdvance(line.count)
            title = elided(line.name, face, room) + line.count  # the count is never cut off
            draw_text(painter, words, title, face, theme.quiet)
            painter.restore()
            return
        painter.fillRect(rect, QColor(style.background))
        bars = scaled(52)
        words = area.adjusted(0, 0, -bars - scaled(8), 0)
        name = str(board.headerData(section, Qt.Orientation.Vertical) or "")
        draw_text(
            painter, words, name, font(strong=True), style.text, left | Qt.AlignmentFlag.AlignTop
        )
        small, below = font(TextSize.SMALL), Qt.AlignmentFlag.AlignBottom
        draw_text(painter, words, role_text(line), small, style.muted, left | below)
        shares = () if line.example is None else line.example.bars
        if shares:
            picture = QRectF(area.right() - bars, area.top() + 3, bars, area.height() - 6)
            _draw_bars(painter, picture, shares, mix(style.original, style.surface, 0.5))
        painter.restore()


def _draw_bars(painter: QPainter, area: QRectF, shares: tuple[float, ...], colour: str) -> None:
    """Draw what a column looks like."""
    highest = max(shares) or 1.0
    width = min(area.width() / len(shares), 7.0)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    for place, share in enumerate(shares):
        high = max(area.height() * share / highest, 1.0)
        left = area.left() + place * width
        painter.drawRect(QRectF(left, area.bottom() - high, max(width - 1.0, 1.0), high))
