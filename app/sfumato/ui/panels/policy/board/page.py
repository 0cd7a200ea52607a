"""The board's page: who gets what, with a search above it; a drawer below has all settings."""

from __future__ import annotations

from functools import partial
from operator import is_
from typing import Final

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QSizePolicy, QSplitter, QWidget

from sfumato.analysis.coarsening.views import by_importance, put_in_place_of
from sfumato.analysis.findings import Finding, Remedy
from sfumato.analysis.planning.board import (
    BoardCell,
    BoardRow,
    ColumnExample,
    board_rows,
    example_of,
    knows_example,
)
from sfumato.analysis.planning.board_moves import NoHierarchy, moved
from sfumato.analysis.shown_columns import ShownColumns
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.project.document.model import Document
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import number, spoken, typeset
from sfumato.ui.panels.base import LazyWidget
from sfumato.ui.panels.policy.board.model import BoardModel
from sfumato.ui.panels.policy.board.view import BoardView
from sfumato.ui.panels.policy.board.words import cell_said
from sfumato.ui.panels.policy.views_card import propose_hierarchies
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.insights import ROWS_AT_ONCE, LatestAnswer
from sfumato.ui.state.mending import mend
from sfumato.ui.state.session import Session
from sfumato.ui.state.settings import is_on
from sfumato.ui.widgets.fields import prompt, text_field
from sfumato.ui.widgets.layout import ElidedButton, ElidedLabel, EmptyState, button, column, row
from sfumato.ui.widgets.messages import Action, Message, announce
from sfumato.ui.widgets.paint_queue import Steps
from sfumato.ui.widgets.painted import put_icon
from sfumato.ui.widgets.responsive import Pages, RoomyScrollArea

EXAMPLES_JOB: Final = "board-examples"
TOPIC: Final = "board"
COLUMNS_AT_ONCE: Final = 30
"""An example of so many columns is found without the window's standing still; of more by a job."""


class BoardPage(LazyWidget):
    """Who gets what: changed by hand and by keys; all settings are one level deeper.

    Parameters
    ----------
    session
        What is open.
    """

    opened = Signal(str, str)
    """All settings of a column for a recipient are asked for; the recipient may be empty."""
    walked = Signal(str, str)
    """The person went on to a column's cell, of a recipient, which may be empty."""
    closed = Signal()
    """All settings are to be put away."""
    told = Signal(Message)
    """Why a cell can't be moved, and who followed one."""
    plan_asked = Signal()
    """No single remedy suffices: a whole plan is to be made."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session

    def assemble(self) -> Steps:
        """Build the page."""
        session = self.session
        self._order: tuple[str, ...] = ()
        self._shown: tuple[object, ...] = ()
        self._shown_examples: dict[str, ColumnExample] = {}
        self._examples = LatestAnswer[dict[str, ColumnExample]](
            session.runner, EXAMPLES_JOB, self._refresh_shown
        )
        self._remedy: Remedy | None = None
        self._in_drawer = False
        self.model = BoardModel(self)
        self.view = BoardView(self.model, self)
        self.search = text_field(name=tr("Find a column"))
        prompt(self.search, tr("Find a column"))
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self.model.seek)
        self.add = ElidedButton(tr("Add recipient"), None)
        put_icon(self.add, "add")
        self.view.put_in_corner(self.add, self.search)
        foot = self._build_foot()
        work = QWidget(self)
        work.setLayout(
            column(
                (self.view, 1),
                foot,
                spacing=Space.INSIDE,
            )
        )
        go = button(tr("Go to Data"), lambda: session.panel_requested.emit("data"), "primary")
        words = tr("Then you see here who gets what of it, column by column.")
        self.empty = EmptyState("table", tr("Open a table first"), words, offer=go)
        self.pages = Pages(self)
        self.pages.add(self.empty, work)
        self.setLayout(column(self.pages))
        self.view.moved.connect(self._move)
        self.view.let_go.connect(session.end_merge)
        self.view.ranked.connect(self._rank)
        self.view.opened.connect(self._open)
        self.view.chosen.connect(self._tell)
        self.view.chosen.connect(self._walk)
        yield
        refresh = self.in_sight(self.refresh)
        self.follow_state(session, self.refresh)
        for signal in (session.attribute_changed, session.open_columns_changed):
            signal.connect(refresh)
        session.steps.checked.connect(refresh)
        session.weighing.changed.connect(self.in_sight(self._show_gauges))
        self.refresh()

    def _build_foot(self) -> QWidget:
        """Return what tells of the current cell, and what mends it."""
        self.meaning = ElidedLabel("")
        self.problem = ElidedLabel("", "danger")
        self.mend = ElidedButton("", self._mend)
        sizes = QSizePolicy.Policy
        self.mend.setSizePolicy(sizes.Ignored, sizes.Fixed)
        self.settings = button(tr("Close settings"), self._turn, icon="settings")
        wide = self.settings.sizeHint().width()
        self.settings.setText(tr("All settings"))
        self.settings.setFixedWidth(max(wide, self.settings.sizeHint().width()))
        below = column(self.meaning, self.problem, spacing=Space.TIGHT)
        foot = QWidget(self)
        foot.setLayout(row((below, 3), (self.mend, 2), self.settings))
        foot.setFixedHeight(scaled(48))
        return foot

    # ----- what is shown

    def refresh(self) -> None:
        """Show the cells at once, and ask for what has to be counted."""
        self.pages.setCurrentIndex(0 if self.session.surveyed is None else 1)
        if self.session.surveyed is None:
            return
        self._refresh_shown()
        self.session.weighing.ask()
        self._show_gauges()

    def _columns(self) -> ShownColumns | None:
        """Return what is known of all rows, or of a sample of a long table."""
        return self.session.shown_columns()

    def _refresh_shown(self) -> None:
        session, document = self.session, self.session.document
        examples, attributes = self._examples_of(document), session.attributes()
        self._order = session.weighing.people
        people = tuple(document.recipient(name) for name in self._order)
        rows = board_rows(document, examples, attributes, people, session.weighing.found())
        notes = {each.name: each.note for each in people}
        before = self.view.currentIndex()
        chosen = self.model.cell(before.row(), before.column()) if before.isValid() else None
        self.model.show_rows(rows, self._order, notes, by_importance(document))
        self._fold_heads()
        if not self.view.currentIndex().isValid():
            self._choose_again(chosen)
        self._tell(self.view.currentIndex())

    def _choose_again(self, before: BoardCell | None) -> None:
        """Give the keyboard a cell to begin at: the one before, or the first."""
        where = (-1, 0) if before is None else self.model.place_of(before.column, before.recipient)
        if where[0] < 0:
            where = (min(1, len(self.model.lines) - 1), min(1, len(self._order)))
        self.view.setCurrentIndex(self.model.index(*where))

    def _examples_of(self, document: Document) -> dict[str, ColumnExample]:
        """Return an example of each column: found at once in a small table, else by a job."""
        columns = self._columns()
        if columns is None:
            return {}
        asked = (columns, document.columns, document.hierarchies)
        if len(self._shown) == len(asked) and all(map(is_, asked, self._shown)):
            return self._shown_examples  # only levels have changed: a drag asks at every step
        wanted = [
            (spec, document.hierarchies.get(spec.name))
            for spec in document.columns
            if spec.name in columns.table.columns
        ]
        known = [each for each in wanted if knows_example(*each, columns)]
        unknown = len(wanted) - len(known)
        if unknown <= COLUMNS_AT_ONCE and columns.table.rows <= ROWS_AT_ONCE:
            known = wanted
        elif len(known) < len(wanted):

            def work(context: Context) -> dict[str, ColumnExample]:
                context.report(0.0, "Looking at the columns")
                return {each[0].name: example_of(*each, columns) for each in wanted}

            question = (id(columns), document.columns, tuple(document.hierarchies.items()))
            self._examples.ask(question, tr("Looking at the columns"), work)
        found = {each[0].name: example_of(*each, columns) for each in known}
        if len(known) == len(wanted):
            self._shown, self._shown_examples = asked, found
        return found

    def _show_gauges(self) -> None:
        weighing = self.session.weighing
        self.model.show_gauges(weighing.gauges(), weighing.found(), stale=not weighing.known)
        self._tell(self.view.currentIndex())

    # ----- the cell in sight

    def choose(self, name: str, recipient: str) -> None:
        """Make a column's cell the current one, where it is in sight."""
        where = self.model.place_of(name, recipient)
        if where[0] >= 0:
            self.view.setCurrentIndex(self.model.index(*where))

    def _tell(self, index: QModelIndex) -> None:
        """Say below the board what the current cell means, and what mends it."""
        cell = self.model.cell(index.row(), index.column()) if index.isValid() else None
        said = str(index.data(Qt.ItemDataRole.AccessibleTextRole) or "") if index.isValid() else ""
        problem = "" if cell is None else typeset(spoken(cell.problem)) if cell.problem else ""
        hint = tr("Drag a cell left for more and right for less, or press + and −.")
        if not self._order:
            hint = tr("Nobody gets anything yet: add a recipient or make a plan.")
            said = ""
        self.meaning.setText(said or hint)
        self.problem.setText(problem)
        remedies = () if cell is None else self._remedies(cell)
        self._remedy = remedies[0] if remedies else None
        stands = cell is not None and self._finding(cell) is not None
        self.mend.setVisible(stands)
        self.mend.say(tr("Make this safe") if self._remedy is None else typeset(self._remedy.words))
        self.settings.setEnabled(cell is not None or self._in_drawer)

    def _remedies(self, cell: BoardCell) -> tuple[Remedy, ...]:
        """Return what mends what is grave about a cell and suffices."""
        finding = self._finding(cell)
        known = () if finding is None else finding.remedies
        return tuple(one for one in known if not one.after)

    def _finding(self, cell: BoardCell) -> Finding | None:
        steps = self.session.steps
        for each in steps.found if steps.current else ():
            if each.recipient == cell.recipient:
                told = (one for one in each.standing if one.columns[:1] == (cell.column,))
                return next(told, None)
        return None

    def _mend(self) -> None:
        if self._remedy is not None:
            mend(self.session, self._remedy, self.refresh)
        else:
            self.plan_asked.emit()

    def show_drawer(self, is_open: bool) -> None:
        """Say whether all settings are in sight, below."""
        self._in_drawer = is_open
        self._fold_heads()
        self.settings.setText(tr("Close settings") if is_open else tr("All settings"))
        self._tell(self.view.currentIndex())

    def _fold_heads(self) -> None:
        """Give the rows more of the room that settings leave; nobody's heads say how to begin."""
        self.view.fold_heads(self._in_drawer and bool(self._order))

    def _turn(self) -> None:
        if self._in_drawer:
            self.closed.emit()
        else:
            self._open(self.view.currentIndex())

    def _walk(self, index: QModelIndex) -> None:
        """Tell where the person went: not what a refresh or a finding made the current cell."""
        line = self.model.lines[index.row()] if index.isValid() else None
        if self.view.hasFocus() and isinstance(line, BoardRow):
            cell = self.model.cell(index.row(), index.column())
            self.walked.emit(line.spec.name, "" if cell is None else cell.recipient)

    def _open(self, index: QModelIndex) -> None:
        line = self.model.lines[index.row()] if index.isValid() else None
        if isinstance(line, BoardRow):
            cell = self.model.cell(index.row(), index.column())
            self.opened.emit(line.spec.name, "" if cell is None else cell.recipient)

    # ----- more or less

    def _move(self, index: QModelIndex, by: int) -> None:
        cell = self.model.cell(index.row(), index.column())
        if cell is None:
            return
        session, document = self.session, self.session.document
        example = self._examples_of(document).get(cell.column)
        try:
            found = moved(document, cell, by, example, session.attributes())
        except NoHierarchy as error:
            propose = Action(tr("Propose hierarchies"), self._propose)
            self.told.emit(Message.of_error(error, propose, topic=TOPIC))
            return
        except SfumatoError as error:
            self.told.emit(Message.of_error(error, topic=TOPIC))
            return
        words = tr("Change what {name} gets of {column}", name=cell.recipient, column=cell.column)
        session.edit(words, found.document, merge_key=("board", cell.recipient, cell.column))
        after = self.model.cell(index.row(), index.column())
        if after is not None:
            announce(self.view, cell_said(after, self.model.hidden(after)))

    def _rank(self, name: str, other: str) -> None:
        """Make a quasi-identifier as important as another one was."""
        session, index = self.session, self.view.currentIndex()
        cell = self.model.cell(index.row(), index.column()) if index.isValid() else None
        document = put_in_place_of(session.document, name, other)
        session.edit(tr("Order columns by importance"), document)
        self.choose(name, "" if cell is None else cell.recipient)
        order = by_importance(document)
        words = tr(
            "{column} is number {place} of {count} by importance",
            column=name,
            place=number(order.index(name) + 1),
            count=number(len(order)),
        )
        announce(self.view, words)

    def _propose(self) -> None:
        propose_hierarchies(self.session, self.view.setFocus, self._refuse)

    def _refuse(self, error: SfumatoError) -> None:
        self.told.emit(Message.of_error(error, topic=TOPIC))


# ----- the drawer below the board: all settings of the cell that was opened, while the board stays


DRAWER: Final = "policy/drawer"
"""The setting that keeps whether the drawer was open last, as 0 or 1."""
HEIGHT: Final = "policy/drawer height"
"""The setting that keeps how high the drawer was drawn, in pixels."""
USUAL: Final = 0.5
"""How much of the height the drawer takes where nobody has drawn it."""


HIGHER, LOWER = "Ctrl+Shift+Up", "Ctrl+Shift+Down"
STEP: Final = 24
"""By so many pixels, at scale 1, a key makes the drawer higher or lower."""


class BoardDrawer(QSplitter):
    """The board with a drawer below it, which keeps its height and whether it is open.

    Parameters
    ----------
    session
        What is open.
    board
        What stays in sight.
    inside
        What the drawer holds.
    """

    turned = Signal()
    """The drawer was opened or closed by the person."""

    def __init__(
        self, session: Session, board: QWidget, inside: QWidget, parent: QWidget | None = None
    ) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self._store = session.store
        self._room = RoomyScrollArea(column(inside), self)
        self.setChildrenCollapsible(False)
        self.setHandleWidth(Space.INSIDE)
        self.addWidget(board)
        self.addWidget(self._room)
        self.handle(1).setToolTip(
            tr(
                "Drag to make the settings higher or lower, or press Ctrl+Shift+Up and"
                " Ctrl+Shift+Down."
            )
        )
        self._room.setVisible(is_on(self._store, DRAWER))
        self.splitterMoved.connect(self._keep)
        for keys, by in ((HIGHER, -STEP), (LOWER, STEP)):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(partial(self._draw_by, by))

    @property
    def is_open(self) -> bool:
        """Whether all settings are in sight."""
        return not self._room.isHidden()

    def turn(self, is_open: bool) -> None:
        """Open or close the drawer; the next window begins with it so."""
        if is_open == self.is_open:
            return
        self._store.setValue(DRAWER, int(is_open))
        self._room.setVisible(is_open)
        self._arrange()
        self.turned.emit()

    def allow(self, allowed: bool) -> bool:
        """Keep the drawer out of sight where there is no table, of which it could show settings.

        Whoever asks shows what is in it afterwards, so `turned` is not emitted.

        Returns
        -------
        bool
            Whether that has opened or closed it.
        """
        shown = allowed and is_on(self._store, DRAWER)
        if shown == self.is_open:
            return False
        self._room.setVisible(shown)
        self._arrange()
        return True

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the drawer's height as far as the board's least height allows it."""
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        drawn = int(self._store.value(HEIGHT, 0) or 0) or round(USUAL * self.height())
        self.setSizes([max(self.height() - self.handleWidth() - drawn, 1), drawn])

    def _draw_by(self, step: int) -> None:
        """Move the drawer's upper edge, as the mouse does."""
        if self.is_open:
            self.moveSplitter(self.sizes()[0] + scaled(step), 1)
            self._keep()

    def _keep(self) -> None:
        self._store.setValue(HEIGHT, self.sizes()[1])
