"""The questions that the audit answers, all in sight: two rows of tabs, by what they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QSizePolicy, QToolButton, QWidget

from sfumato.ui.look.theme import Space, TextSize, font
from sfumato.ui.panels.audit.pages.base import AuditPage, Theme
from sfumato.ui.widgets.layout import column, label

ROWS: Mapping[int, tuple[Theme, ...]] = {
    0: (Theme.RECIPIENTS, Theme.EVIDENCE),
    1: (Theme.GROUPS,),
}
"""What stands in which row. It depends on nothing, so that no tab ever changes its place."""

_STEPS = {
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_Right: 1,
    Qt.Key.Key_Down: 1,
}
_TAB_MARGIN = 8


class Questions(QWidget):
    """A tab for every page, one of them chosen; the arrow keys move through all of them.

    Parameters
    ----------
    pages
        The pages, in order.
    """

    chosen = Signal(object)
    """The person chose another `AuditPage`."""

    def __init__(self, pages: Sequence[AuditPage], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Questions of the audit"))
        self._group = QButtonGroup(self)
        self._tabs: dict[AuditPage, QToolButton] = {}
        self._parts: dict[Theme, QWidget] = {}
        rows = column(spacing=0)
        for themes in ROWS.values():
            line = QHBoxLayout()
            line.setSpacing(Space.AROUND)
            for theme in themes:
                part = self._part(theme, [page for page in pages if page.theme is theme])
                line.addWidget(part)
            line.addStretch(1)
            rows.addLayout(line)
        self.setLayout(rows)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def _part(self, theme: Theme, pages: Sequence[AuditPage]) -> QWidget:
        """Return the tabs of a theme after its name."""
        part = QWidget(self)
        line = QHBoxLayout(part)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(Space.TIGHT)
        caption = label(QCoreApplication.translate("Audit", theme.value), "small")
        if theme is ROWS[0][0] or theme is ROWS[1][0]:
            caption.setFixedWidth(self._caption_width())
        line.addWidget(caption)
        for page in pages:
            line.addWidget(self._tab(page))
        self._parts[theme] = part
        return part

    def _caption_width(self) -> int:
        """Return the width of the captions at the left: the tabs below them stand in one line."""
        metrics = QFontMetrics(font(TextSize.SMALL))
        names = (QCoreApplication.translate("Audit", themes[0].value) for themes in ROWS.values())
        return max(metrics.horizontalAdvance(name) for name in names) + Space.INSIDE

    def _tab(self, page: AuditPage) -> QToolButton:
        tab = QToolButton(self)
        tab.setText(page.translated_title())
        tab.setCheckable(True)
        tab.setProperty("look", "tab")
        # The chosen tab is bold; the others keep the room for that, so that nothing moves.
        bold = font(TextSize.BODY)
        bold.setWeight(bold.Weight.DemiBold)
        width = QFontMetrics(bold).horizontalAdvance(tab.text())
        tab.setFixedWidth(width + 2 * _TAB_MARGIN)
        tab.clicked.connect(lambda _checked=False: self._choose(page))
        tab.installEventFilter(self)
        self._group.addButton(tab)
        self._tabs[page] = tab
        return tab

    @property
    def offered(self) -> tuple[AuditPage, ...]:
        """The pages that can be chosen."""
        return tuple(page for page, tab in self._tabs.items() if not tab.isHidden())

    @property
    def current(self) -> AuditPage | None:
        """The page that is chosen."""
        return next((page for page, tab in self._tabs.items() if tab.isChecked()), None)

    def tab_of(self, page: AuditPage) -> QToolButton:
        """Return the tab of a page."""
        return self._tabs[page]

    def show_current(self, page: AuditPage) -> None:
        """Show a page as chosen without telling anyone."""
        for other, tab in self._tabs.items():
            tab.setChecked(other is page)
            policy = Qt.FocusPolicy.StrongFocus if other is page else Qt.FocusPolicy.ClickFocus
            tab.setFocusPolicy(policy)
        self.setFocusProxy(self._tabs[page])

    def offer(self, page: AuditPage, offered: bool) -> None:
        """Leave a page's tab out, or bring it back; a theme without any tab goes as well."""
        self._tabs[page].setVisible(offered)
        here = (tab for other, tab in self._tabs.items() if other.theme is page.theme)
        self._parts[page.theme].setVisible(any(not tab.isHidden() for tab in here))

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
