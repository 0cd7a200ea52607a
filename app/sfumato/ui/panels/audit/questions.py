"""The way between the questions and their figures: back to all, and a tab for each page of one."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent
from PySide6.QtWidgets import QButtonGroup, QToolButton, QVBoxLayout, QWidget

from sfumato.ui.look.theme import Space, font
from sfumato.ui.panels.audit.pages.base import AuditPage, Topic
from sfumato.ui.widgets.layout import button, label, row
from sfumato.ui.widgets.responsive import FlowLayout

_STEPS = {
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_Right: 1,
    Qt.Key.Key_Down: 1,
}
_TAB_MARGIN = 8


class _Tab(QToolButton):
    """A tab; the chosen one is bold, and the others keep the room for that: nothing moves."""

    def sizeHint(self) -> QSize:
        """Return the room of the bold text."""
        width = QFontMetrics(font(strong=True)).horizontalAdvance(self.text())
        return QSize(width + 2 * _TAB_MARGIN, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Ask for all of it: tabs that do not fit stand on a further line."""
        return self.sizeHint()


class Questions(QWidget):
    """The pages of the question that is looked at; the arrow keys move through them.

    Parameters
    ----------
    pages
        The pages, in order.
    """

    chosen = Signal(object)
    """The person chose another `AuditPage`."""
    left = Signal()
    """The person wants to see all questions."""

    def __init__(self, pages: Sequence[AuditPage], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._group = QButtonGroup(self)
        self._tabs: dict[AuditPage, QToolButton] = {}
        self._offered = dict.fromkeys(pages, True)
        self._topic = pages[0].topic
        self.back = button(self.tr("All &questions"), self.left.emit, "quiet", "chevron-left")
        self.heading = label("", "heading", wrap=True)
        line = FlowLayout(*(self._tab(page) for page in pages), spacing=Space.TIGHT)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(Space.TIGHT)
        whole.addLayout(row(self.back, self.heading, spacing=Space.BETWEEN, wide=1))
        whole.addLayout(line)
        self._show_tabs()

    def _tab(self, page: AuditPage) -> QToolButton:
        tab = _Tab(self)
        tab.setText(page.translated_title())
        tab.setCheckable(True)
        tab.setProperty("look", "tab")
        tab.clicked.connect(lambda _checked=False: self._choose(page))
        tab.installEventFilter(self)
        self._group.addButton(tab)
        self._tabs[page] = tab
        return tab

    @property
    def offered(self) -> tuple[AuditPage, ...]:
        """The pages that can be chosen for the question that is looked at."""
        return tuple(page for page in self._tabs if self._is_shown(page))

    def offers(self, page: AuditPage) -> bool:
        """Return whether a page has anything to work on."""
        return self._offered[page]

    @property
    def current(self) -> AuditPage | None:
        """The page that is chosen."""
        return next((page for page, tab in self._tabs.items() if tab.isChecked()), None)

    def tab_of(self, page: AuditPage) -> QToolButton:
        """Return the tab of a page."""
        return self._tabs[page]

    def first_of(self, topic: Topic) -> AuditPage | None:
        """Return a question's first page that has anything to work on."""
        return next((p for p, is_so in self._offered.items() if is_so and p.topic is topic), None)

    def show_current(self, page: AuditPage) -> None:
        """Show a page as chosen, among those of its question, without telling anyone."""
        self._topic = page.topic
        self.heading.setText(page.translated(page.topic.value))
        for other, tab in self._tabs.items():
            tab.setChecked(other is page)
            policy = Qt.FocusPolicy.StrongFocus if other is page else Qt.FocusPolicy.ClickFocus
            tab.setFocusPolicy(policy)
        self.setFocusProxy(self._tabs[page])
        self._show_tabs()

    def offer(self, page: AuditPage, offered: bool) -> None:
        """Leave a page's tab out, or bring it back."""
        self._offered[page] = offered
        self._show_tabs()

    def _is_shown(self, page: AuditPage) -> bool:
        return self._offered[page] and page.topic is self._topic

    def _show_tabs(self) -> None:
        for page, tab in self._tabs.items():
            tab.setVisible(self._is_shown(page))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move the choice with the arrow keys, which a button would keep to itself."""
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return super().eventFilter(watched, event)
        key, pages = Qt.Key(event.key()), self.offered
        if key in _STEPS and self.current in pages:
            place = pages.index(self.current) + _STEPS[key]
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            place = 0 if key == Qt.Key.Key_Home else len(pages) - 1
        else:
            return super().eventFilter(watched, event)
        if 0 <= place < len(pages):
            self._choose(pages[place])
            self._tabs[pages[place]].setFocus(Qt.FocusReason.TabFocusReason)
        return True

    def _choose(self, page: AuditPage) -> None:
        self.show_current(page)
        self.chosen.emit(page)
