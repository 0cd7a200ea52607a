"""Who gets a release: the table of recipients with its buttons and its empty state."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QToolButton, QWidget

from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.recipients import RecipientsModel, RecipientsTable, Row
from sfumato.ui.widgets.icons import themed_icon
from sfumato.ui.widgets.layout import Card, EmptyState, button, label, row

MOST_ROWS_SHOWN = 8


class RecipientsCard(Card):
    """The recipients, with everything that can be done to their list."""

    add_asked = Signal()
    typical_asked = Signal()
    remove_asked = Signal()
    move_asked = Signal(int)
    """By how many places, negative for up."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.model = RecipientsModel(self)
        self.table = RecipientsTable(self.model, self)
        self.table.setProperty("framed", False)
        self.up = self._tool("up", self.tr("Move up"), lambda: self.move_asked.emit(-1))
        self.down = self._tool("down", self.tr("Move down"), lambda: self.move_asked.emit(1))
        self.remove = self._tool("remove", self.tr("Remove the recipient"), self.remove_asked.emit)
        self.table.removal_asked.connect(self.remove_asked)
        self._problem = label("", "danger", wrap=True)
        self._problem.hide()
        self._pages = QStackedWidget(self)
        self._pages.addWidget(self.table)
        self._pages.addWidget(self._empty())
        self.body.addLayout(
            row(label(self.tr("Recipients"), "heading"), None, self.up, self.down, self.remove)
        )
        self.body.addWidget(self._pages, 1)
        self.body.addWidget(self._problem)

    def show_rows(self, rows: Sequence[Row], selected: str) -> None:
        """Show recipients and choose one."""
        self.model.show_rows(rows)
        self.table.select(selected)
        self._pages.setCurrentIndex(0 if rows else 1)
        names = [shown.name for shown in rows]
        place = names.index(selected) if selected in names else -1
        self.up.setEnabled(place > 0)
        self.down.setEnabled(0 <= place < len(names) - 1)
        self.remove.setEnabled(place >= 0)
        for tool in (self.up, self.down, self.remove):
            tool.setVisible(bool(rows))
        lines = min(max(len(rows), 3), MOST_ROWS_SHOWN)
        self.table.setMinimumHeight(Space.FIELD * (lines + 1) + 8)
        self.show_problem("")

    def show_problem(self, text: str) -> None:
        """Say below the table what can't be done; an empty text takes it away."""
        self._problem.setText(text)
        self._problem.setVisible(bool(text))

    @property
    def problem(self) -> str:
        """What is said below the table."""
        return self._problem.text()

    def _tool(self, icon: str, name: str, run: object) -> QToolButton:
        made = QToolButton(self)
        made.setIcon(themed_icon(icon))
        made.setToolTip(name)
        made.setAccessibleName(name)
        made.clicked.connect(run)
        return made

    def _empty(self) -> EmptyState:
        empty = EmptyState(
            "people",
            self.tr("Nobody gets a release yet"),
            self.tr(
                "Name whoever will get a version of this table. Each has a level of trust of"
                " their own; together they learn no more than the most trusted of them."
            ),
        )
        empty.text.setFixedWidth(290)
        self.add_typical = empty.add_button(
            button(self.tr("Start with three typical ones"), self.typical_asked.emit, icon="people")
        )
        return empty
