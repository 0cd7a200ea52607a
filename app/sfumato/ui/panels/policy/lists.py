"""The policy's two lists: sensitive attributes with what protects each, and the recipients.

Each recipient has a line that says what their level means. Where an entry can't be edited, why
not is shown in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from math import ceil, isfinite
from typing import Any, Final

from PySide6.QtCore import QModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QKeyEvent, QPainter, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from sfumato.analysis.guarantee import promise_is_empty
from sfumato.analysis.steps import stale_entries
from sfumato.analysis.utility.mechanism_choice import MechanismChoice
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Mechanism
from sfumato.engine.mechanisms.promise_words import at_most
from sfumato.engine.table.table import Attribute
from sfumato.plots.axes import percent
from sfumato.plots.ladders import LadderRung
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.ui.look.theme import Space, TextSize, font, scaled, themes
from sfumato.ui.look.wording import number, spoken, statement_text, typeset
from sfumato.ui.panels.policy.mechanisms import all_editors
from sfumato.ui.panels.policy.mechanisms.controls import ChoiceCard
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.layout import (
    Card,
    EmptyState,
    boxed,
    button,
    column,
    label,
    refill,
    row,
    say,
    tool,
)
from sfumato.ui.widgets.painted import draw_icon, draw_text, lines_of, painter_on
from sfumato.ui.widgets.responsive import Pages
from sfumato.ui.widgets.tables import CELL_MARGINS, Cell, CellsModel, Heading, Index, TableView

HEIGHT: Final = 50
WIDTH: Final = 160
_SIGN, _BESIDE_SIGN, _MARGIN = 16, 16, 6


@dataclass(frozen=True)
class Item:
    """One line of the list.

    Parameters
    ----------
    key
        The policy entry's key, or the attribute's name where nothing protects it.
    note
        The mechanism, or what is missing.
    icon, token
        The state's drawing and its colour.
    """

    key: str
    note: str
    icon: str
    token: str


def items_of(
    document: Document, empty: Container[str] = (), refused: Container[str] = ()
) -> list[Item]:
    """Return a line for each sensitive attribute or what protects it, then what is left over.

    `empty` are the entries, by their keys, that promise a recipient nothing; of those `refused`
    nothing can be released.
    """
    items: list[Item] = []
    for name in (sensitive.name for sensitive in document.sensitive):
        entry = document.entry_for(name)
        if entry is None:
            items.append(Item(name, tr("Not protected yet"), "step-attention", "caution"))
        elif any(item.key == entry.key for item in items):
            continue
        elif entry.key in refused:
            items.append(Item(entry.key, tr("Can't be released"), "step-attention", "caution"))
        elif entry.key in empty:
            items.append(Item(entry.key, tr("Not hidden from all"), "danger", "danger"))
        else:
            title = spoken(mechanism_called(entry.mechanism).title)
            items.append(Item(entry.key, title, "step-done", "good"))
    items += [
        Item(entry.key, tr("Not sensitive now"), "step-attention", "caution")
        for entry in stale_entries(document)
    ]
    return items


class EntryList(QListWidget):
    """Shows items; one is always chosen."""

    entry_chosen = Signal(str)
    """The person chose an item, by its key."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: tuple[Item, ...] = ()
        self._quiet = False
        self.setFixedWidth(scaled(WIDTH))
        self.setProperty("look", "plain")
        self.setItemDelegate(_Delegate(self))
        self.setAccessibleName(self.tr("Sensitive attributes"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.currentRowChanged.connect(self._tell)

    def show_items(self, items: Sequence[Item], chosen: str) -> None:
        """Show items and choose one, without telling anyone."""
        self._quiet = True
        if tuple(items) != self._items:
            self._items = tuple(items)
            self.clear()
            for item in items:
                line = QListWidgetItem(item.key)
                line.setData(Qt.ItemDataRole.UserRole, item)
                line.setToolTip(f"{item.key}: {item.note}")
                line.setData(Qt.ItemDataRole.AccessibleTextRole, f"{item.key}, {item.note}")
                self.addItem(line)
        keys = [item.key for item in items]
        self.setCurrentRow(keys.index(chosen) if chosen in keys else 0)
        self._quiet = False

    def _tell(self, place: int) -> None:
        if not self._quiet and 0 <= place < len(self._items):
            self.entry_chosen.emit(self._items[place].key)


class _Delegate(QStyledItemDelegate):
    """Draws an item's state, name and note."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        del option
        texts = self._texts(index.data(Qt.ItemDataRole.UserRole))
        further = sum((len(lines) - 1) * _spacing(face) for lines, face, _ in texts)
        return QSize(scaled(WIDTH), scaled(HEIGHT) + ceil(further))

    def _texts(self, item: Item) -> tuple[tuple[list[str], QFont, bool], ...]:
        """Return an item's name and its note: the lines, their letters, and whether it is a note.

        There is room for them beside a scroll bar, too, so that its coming moves nothing.
        """
        view = self.parent()
        assert isinstance(view, EntryList)
        bar = view.style().pixelMetric(QStyle.PixelMetric.PM_ScrollBarExtent)
        width = view.width() - bar - scaled(_SIGN) - _BESIDE_SIGN - _MARGIN
        strong, small = font(strong=True), font(TextSize.SMALL)
        return (
            (lines_of(item.key, strong, width), strong, False),
            (lines_of(item.note, small, width), small, True),
        )

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        item = index.data(Qt.ItemDataRole.UserRole)
        theme = themes().current
        area = QRectF(option.rect).adjusted(0, 2, 0, -2)
        state = option.state
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        if state & QStyle.StateFlag.State_Selected:
            painter.setBrush(QColor(theme.selected))
            painter.drawRoundedRect(area, 6, 6)
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.setBrush(QColor(theme.hover))
            painter.drawRoundedRect(area, 6, 6)
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QColor(theme.style.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(area.adjusted(1, 1, -1, -1), 6, 6)
        side = scaled(_SIGN)
        sign = QRectF(area.left() + 10, area.top() + 7, side, side)
        draw_icon(painter, item.icon, item.token, sign)
        texts = area.adjusted(side + _BESIDE_SIGN, 5, -_MARGIN, -6)
        over = QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver
        quiet = theme.quiet if state & over else theme.style.muted
        top, left = Qt.AlignmentFlag.AlignTop, Qt.AlignmentFlag.AlignLeft
        for lines, face, is_note in self._texts(item):
            colour, spacing = quiet if is_note else theme.style.text, _spacing(face)
            line = QRectF(texts.left(), texts.top(), texts.width(), spacing)
            if is_note:
                line.moveTop(texts.bottom() - spacing * len(lines))
            for text in lines:
                draw_text(painter, line, text, face, colour, top | left)
                line.translate(0, spacing)
        painter.restore()


def _spacing(face: QFont) -> float:
    return QFontMetricsF(face).lineSpacing()


CARDS_WIDTH: Final = 480


def nothing_sensitive(go: Callable[[], object], parent: QWidget) -> EmptyState:
    """Return what is shown while no column is marked as sensitive."""
    return EmptyState(
        "policy",
        tr("Nothing is marked as sensitive yet"),
        tr(
            "A policy protects what nobody may learn about a person: a diagnosis, an income,"
            " an occupation. Mark such a column as sensitive first."
        ),
        parent,
        button(tr("Go to Attributes"), go, "primary"),
    )


class Unprotected(EmptyState):
    """A sensitive attribute has no mechanism yet: those that suit are offered."""

    mechanism_chosen = Signal(str)
    """The person wants this mechanism, by its name."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("shield", "", "", parent)
        self._mechanisms: tuple[tuple[str, str], ...] = ()
        self._choice: MechanismChoice | None = None
        self.protect = self.add_button(
            button(tr("Protect it"), self._choose_first, "primary", "shield")
        )
        self.cards: tuple[ChoiceCard, ...] = ()
        self._list = column()
        self._choices = boxed(self._list, self)
        self._choices.setMaximumWidth(scaled(CARDS_WIDTH))
        line = row(None, self._choices, None)
        line.setStretch(1, 1000)
        self._column.insertLayout(self._column.count() - 1, line)

    @property
    def first(self) -> QWidget:
        """The first mechanism that is offered."""
        return self.cards[0] if self.cards and self._choices.isVisibleTo(self) else self.protect

    def show_attribute(
        self,
        attribute: str,
        mechanisms: Sequence[tuple[str, str]],
        choice: MechanismChoice | None = None,
    ) -> None:
        """Offer the mechanisms that suit, given as (name, title), and say what each is worth."""
        self.heading.setText(tr("{attribute} is not protected yet", attribute=attribute))
        several = len(mechanisms) > 1
        self.protect.setVisible(not several)
        self.protect.setEnabled(bool(mechanisms))
        self._choices.setVisible(several)
        self.text.setText(self._explanation(mechanisms))
        if (tuple(mechanisms), choice) != (self._mechanisms, self._choice):
            self._mechanisms, self._choice = tuple(mechanisms), choice
            if several:
                self._show_cards(mechanisms)

    def _explanation(self, mechanisms: Sequence[tuple[str, str]]) -> str:
        if len(mechanisms) > 1:
            return tr("How should its values be hidden? You can change this later.")
        if mechanisms:
            name, title = mechanisms[0]
            plain = _plain_name(name)
            named = f"{plain} ({title})" if plain else title
            return f"{named}: {spoken(mechanism_called(name).summary)}"
        return tr(
            "This version has no mechanism for a column of this kind. Read it as categories or as"
            " numbers under Attributes."
        )

    def _show_cards(self, mechanisms: Sequence[tuple[str, str]]) -> None:
        self.cards = tuple(self._card(name, title) for name, title in mechanisms)
        refill(self._list, self.cards)

    def _card(self, name: str, title: str) -> ChoiceCard:
        choice = self._choice
        best, why = ("", "") if choice is None else choice.recommended
        editor = all_editors().get(name)
        plain = _plain_name(name) or title
        recommended = tr("{mechanism} (recommended)", mechanism=plain)
        effect = None if editor is None else editor.effect
        card = ChoiceCard(recommended if name == best else plain, self._choices, effect)
        card.setCheckable(False)
        summary = f"{title}. {spoken(mechanism_called(name).summary)}"
        own = None if choice is None else choice.option(name)
        told = "" if own is None else typeset(own.sentence)
        if name == best:
            told = typeset(why)
        card.show_sentence(f"{summary}\n{told}".strip())
        card.clicked.connect(lambda _checked=False: self.mechanism_chosen.emit(name))
        return card

    def sizeHint(self) -> QSize:
        """Ask for the height at the present width: the cards would be tall at their least one."""
        return self.minimumSizeHint()

    def minimumSizeHint(self) -> QSize:
        """Return the least width, and the height at the present one."""
        least = super().minimumSizeHint().width()
        return QSize(least, self.heightForWidth(max(self.width(), least)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Ask for another height where the width has changed."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def _choose_first(self) -> None:
        self.mechanism_chosen.emit(self._mechanisms[0][0])


def _plain_name(mechanism: str) -> str:
    """Return what a mechanism does, in a few plain words; empty where it does not say."""
    editor = all_editors().get(mechanism)
    return tr(str(editor.plain_name)) if editor is not None and editor.plain_name else ""


class Misfit(EmptyState):
    """An entry does not fit the table or its column's role."""

    attributes_asked = Signal()
    removal_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("danger", "", "", parent)
        self.add_button(button(tr("Go to Attributes"), self.attributes_asked.emit))
        self.drop = self.add_button(button(tr("Remove the protection"), self.removal_asked.emit))

    def show_stale(self, entry: str) -> None:
        """Say that an entry covers a column that is not sensitive."""
        remedy = tr("Mark it as sensitive again, or remove its protection.")
        self._show(tr("{attribute} is no longer sensitive", attribute=entry), remedy)

    def show_problem(self, attribute: str, *why: str) -> None:
        """Say why a column does not fit its specification: what is wrong, and what to do."""
        self._show(tr("{attribute} does not fit its domain", attribute=attribute), *why)
        self.drop.hide()

    def show_unfit(self, entry: str, *why: str) -> None:
        """Say why an entry's mechanism does not suit its attributes, and what to do."""
        self._show(tr("The protection of {attribute} does not suit it", attribute=entry), *why)

    def _show(self, what: str, *why: str) -> None:
        self.heading.setText(what)
        self.text.setText("\n".join(filter(None, why)))
        self.drop.show()


NAME, LEVEL, FIGURE = range(3)
DOT: Final = 10
MOST_ROWS_SHOWN: Final = 8
_LEFT_OPEN: Final = "D"
"""What promises on numbers call the share of the variance that an estimate leaves unexplained."""


@dataclass(frozen=True)
class LevelStanding:
    """What a recipient's level for an entry comes to.

    Parameters
    ----------
    name, note
        As in the document.
    level
        The level for the attribute in sight, in its usual notation.
    figure
        What the level comes to, as text: the odds factor, or the share of numbers' variance.
    trust
        From 0 to 1; None where the level is missing or not sound.
    detail
        The figure in a sentence.
    numbers
        Whether the figure is that of numbers.
    stated
        Whether a level is stated at all.
    empty
        Why the level hides nothing, in a sentence; empty where it hides something.
    """

    name: str
    note: str
    level: str
    figure: str
    trust: float | None = None
    detail: str = ""
    numbers: bool = False
    stated: bool = True
    empty: str = ""

    @property
    def rung(self) -> LadderRung | None:
        """The rung of the ladder; None where the level is missing or not sound."""
        if self.trust is None:
            return None
        return LadderRung(self.name, self.trust, self.level, self.detail)


def standings_of(
    recipients: Iterable[Recipient], entry: PolicyEntry, attributes: tuple[Attribute, ...]
) -> tuple[LevelStanding, ...]:
    """Return every recipient's standing for an entry, in their order."""
    return tuple(_standing(recipient, entry, attributes) for recipient in recipients)


def _standing(
    recipient: Recipient, entry: PolicyEntry, attributes: tuple[Attribute, ...]
) -> LevelStanding:
    statement = recipient.statements.get(entry.key)
    named = (recipient.name, recipient.note)
    if statement is None:
        return LevelStanding(*named, tr("not set"), "–", stated=False)
    mechanism = mechanism_called(entry.mechanism)
    text = statement_text(mechanism, statement)
    try:
        level = mechanism.level(statement, attributes, entry.settings)
        trust = mechanism.trust(level)
        figure, detail, numbers = _figure(mechanism, level, entry, attributes)
        empty = promise_is_empty(mechanism.name, level, entry.settings, attributes, entry.key)
    except SfumatoError:
        return LevelStanding(*named, text, tr("not valid"))
    return LevelStanding(*named, text, figure or "–", trust, detail, numbers, empty=empty)


def _figure(
    mechanism: Mechanism, level: float, entry: PolicyEntry, attributes: tuple[Attribute, ...]
) -> tuple[str, str, bool]:
    """Return what a level comes to as a figure and as a sentence, and whether it is of numbers."""
    odds = mechanism.odds_factor(level, attributes, entry.settings)
    if odds is not None:
        factor = number(odds)
        most = spoken(at_most(odds)) if isfinite(odds) else factor
        told = tr("Multiplies the odds on any value by at most {factor}", factor=most)
        return factor, told, False
    for fact in mechanism.promise(level, attributes, entry.settings).facts:
        if fact.symbol == _LEFT_OPEN:
            share = percent(fact.value)
            told = tr("Leaves {share} of the numbers' variance unexplained", share=share)
            return share, told, True
    return "", "", False


def _dot(trust: float | None) -> QPixmap:
    """Return the spot of colour that a trust has everywhere."""
    ratio = 2.0
    pixmap = QPixmap(round(DOT * ratio), round(DOT * ratio))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    if trust is not None:
        painter = painter_on(pixmap)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(themes().current.style.trust_colour(trust)))
        painter.drawEllipse(QRectF(0.5, 0.5, DOT - 1, DOT - 1))
        painter.end()
    return pixmap


def _headings(*, numbers: bool) -> tuple[Heading, ...]:
    figure, meaning = tr("Odds ×"), tr("The most by which a release multiplies any odds (γ)")
    if numbers:
        figure = tr("Unexplained")
        meaning = tr("The share of the variance that the best linear estimate can't explain")
    name = Heading(tr("Recipient"), editable=True)
    return name, Heading(tr("Level")), Heading(figure, meaning, right=True)


class RecipientsModel(CellsModel):
    """Recipients with their levels; names can be edited."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(_headings(numbers=False), parent)
        self.rows: tuple[LevelStanding, ...] = ()

    def show_rows(self, rows: Sequence[LevelStanding]) -> None:
        """Show recipients; where only cells changed, selection and scrolling stay."""
        same = [(r.name, r.numbers) for r in rows] == [(r.name, r.numbers) for r in self.rows]
        self.rows = tuple(rows)
        if same:
            self.repaint()
        else:
            self.lay_out(len(rows), _headings(numbers=any(standing.numbers for standing in rows)))

    def place_of(self, name: str) -> int:
        """Return the row of a recipient; -1 where there is none."""
        names = [standing.name for standing in self.rows]
        return names.index(name) if name in names else -1

    def cell(self, row: int, column: int) -> Cell:
        """Return what a cell shows."""
        standing = self.rows[row]
        text = (standing.name, standing.level, standing.figure)[column]
        if column == FIGURE and standing.empty:
            words = tr("Danger: {text}", text=typeset(standing.empty))
            return Cell(text, words, icon="danger", strong=True)
        return Cell(text, f"{text}\n{standing.note}".strip() if column == NAME else text)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return one aspect of a cell; the name has the colour of its trust beside it."""
        if role == Qt.ItemDataRole.DecorationRole and index.column() == NAME:
            return _dot(self.rows[index.row()].trust)
        if role == Qt.ItemDataRole.FontRole and index.column() == LEVEL:
            return font(tabular=True)
        return super().data(index, role)


class RecipientsTable(TableView):
    """The table of recipients: whole rows are chosen, names edited in place."""

    chosen = Signal(str)
    """A recipient was chosen, by name."""
    removal_asked = Signal()
    """The delete key was pressed."""

    def __init__(self, rows: RecipientsModel, parent: QWidget | None = None) -> None:
        super().__init__(
            parent,
            row_numbers=False,
            model=rows,
            name=tr("Recipients"),
            whole_rows=True,
            edits=True,
            framed=False,
            widest=NAME,
        )
        self._rows, self._quiet = rows, False
        self._heading: tuple[object, int] = (None, 0)
        self.setSelectionMode(self.SelectionMode.SingleSelection)
        self.wrap_rows()
        self.selectionModel().currentRowChanged.connect(self._tell)
        rows.modelReset.connect(self._make_room)
        rows.dataChanged.connect(self._make_room)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave the figures out where names would be cut off beside them."""
        super().resizeEvent(event)
        self._make_room()

    def _make_room(self, *_changed: object) -> None:
        """Show the figures where names keep room for their longest word, or a figure warns."""
        words = [word for standing in self._rows.rows for word in standing.name.split()]
        metrics = self.fontMetrics()
        longest = max(map(metrics.horizontalAdvance, words), default=0)
        needed = longest + DOT + CELL_MARGINS + Space.INSIDE
        headings = {
            LEVEL: self.horizontalHeader().sectionSizeHint(LEVEL),
            FIGURE: self._width_of_heading(),
        }
        taken = sum(max(self.sizeHintForColumn(at), width) for at, width in headings.items())
        warned = any(standing.empty for standing in self._rows.rows)
        # Whether the rows scroll depends on what is shown here: the bar's room is never counted on.
        room = self.width() - self.verticalScrollBar().sizeHint().width()
        self.setColumnHidden(FIGURE, not warned and room - taken < needed)

    def _width_of_heading(self) -> int:
        """Return how wide the figures' heading is, which Qt tells only where it is shown."""
        header = self.horizontalHeader()
        heading = self._rows.headerData(FIGURE, header.orientation())
        asked = heading, header.fontMetrics().height()
        if asked != self._heading[0]:
            self.setColumnHidden(FIGURE, False)
            self._heading = asked, header.sectionSizeHint(FIGURE)
        return self._heading[1]

    def select(self, name: str) -> None:
        """Choose a recipient without telling anyone."""
        place = self._rows.place_of(name)
        if place < 0 or (
            self.currentIndex().row() == place and self.selectionModel().hasSelection()
        ):
            return
        self._quiet = True
        self.selectRow(place)
        self._quiet = False

    def edit_name(self, name: str) -> None:
        """Open a recipient's name for editing."""
        place = self._rows.place_of(name)
        if place >= 0:
            index = self._rows.index(place, NAME)
            self.setCurrentIndex(index)
            self.setFocus()
            self.edit(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Remove on the delete key, edit on Enter."""
        if event.key() == Qt.Key.Key_Delete:
            self.removal_asked.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.state() == (
            self.State.NoState
        ):
            self.edit(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _tell(self, now: QModelIndex, _before: QModelIndex) -> None:
        if now.isValid() and not self._quiet:
            self.chosen.emit(self._rows.rows[now.row()].name)


class RecipientsCard(Card):
    """The recipients, with everything that can be done to their list."""

    renamed = Signal(str, str)
    """(recipient, the name wanted); the document decides."""
    remove_asked = Signal()
    move_asked = Signal(int)
    """By how many places, negative for up."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.model = RecipientsModel(self)
        self.model.written.connect(self._rename)
        self.table = RecipientsTable(self.model, self)
        self.up = tool("up", tr("Move up"), lambda: self.move_asked.emit(-1))
        self.down = tool("down", tr("Move down"), lambda: self.move_asked.emit(1))
        remove = tr("Remove the recipient")
        self.remove = tool("remove", remove, self.remove_asked.emit)
        self.table.removal_asked.connect(self.remove_asked)
        self.table.wrapped.connect(self._fit)
        self._problem = label("", "danger", wrap=True)
        self._pages = Pages(self)
        self._pages.add(self.table, self._empty())
        heading = label(tr("Recipients"), "heading")
        self.put(
            row(heading, None, self.up, self.down, self.remove), (self._pages, 1), self._problem
        )
        self.show_problem("")

    def _rename(self, texts: Mapping[tuple[int, int], str]) -> None:
        for (place, _column), wanted in texts.items():
            before, name = self.model.rows[place].name, wanted.strip()
            if name != before:
                self.renamed.emit(before, name)

    def show_rows(self, rows: Sequence[LevelStanding], selected: str) -> None:
        """Show recipients and choose one."""
        self.model.show_rows(rows)
        self.table.select(selected)
        self._pages.setCurrentIndex(0 if rows else 1)
        place = self.model.place_of(selected)
        self.up.setEnabled(place > 0)
        self.down.setEnabled(0 <= place < len(rows) - 1)
        self.remove.setEnabled(place >= 0)
        for each in (self.up, self.down, self.remove):
            each.setVisible(bool(rows))
        self._fit()
        self.show_problem("")

    def _fit(self) -> None:
        """Show some recipients without scrolling, also where their names take two lines."""
        lines = min(max(self.model.rowCount(), 3), MOST_ROWS_SHOWN)
        heights = (self.table.rowHeight(row) or Space.FIELD for row in range(lines))
        self.table.setMinimumHeight(sum(heights) + Space.FIELD + 8)

    def show_problem(self, text: str) -> None:
        """Say below the table what can't be done; an empty text takes it away."""
        say(self._problem, text)

    @property
    def problem(self) -> str:
        """What is said below the table."""
        return self._problem.text()

    def _empty(self) -> EmptyState:
        words = tr(
            "Name everyone who will get a version of this table. Each has their own level of"
            " trust; together they learn no more than the most trusted of them."
        )
        empty = EmptyState("people", tr("Nobody gets a release yet"), words)
        empty.text.setFixedWidth(scaled(290))
        words = tr("Start with three typical ones")
        self.add_typical = button(words, None, icon="people")
        empty.add_button(self.add_typical)
        return empty
