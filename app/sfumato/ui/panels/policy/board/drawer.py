"""The drawer below the board: all settings of the cell that was opened, while the board stays."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QSplitter, QWidget

from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.state.settings import is_on
from sfumato.ui.widgets.layout import column
from sfumato.ui.widgets.responsive import RoomyScrollArea

DRAWER: Final = "policy/drawer"
"""The setting that keeps whether the drawer was open last, as 0 or 1."""
HEIGHT: Final = "policy/drawer height"
"""The setting that keeps how high the drawer was drawn, in pixels."""
USUAL: Final = 0.58
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
    """The drawer was opened or closed."""

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

    def allow(self, allowed: bool) -> None:
        """Keep the drawer out of sight where there is no table, of which it could show settings."""
        shown = allowed and is_on(self._store, DRAWER)
        if shown != self.is_open:
            self._room.setVisible(shown)
            self._arrange()
            self.turned.emit()

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
