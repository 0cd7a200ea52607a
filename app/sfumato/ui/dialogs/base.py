"""What every dialog has: a title, a sentence, its content, and buttons where they belong."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Self

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QDialog, QDialogButtonBox, QPushButton, QWidget

from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.widgets.keyboard import give_letters
from sfumato.ui.widgets.layout import button, column, label, press_by_enter, row, set_look
from sfumato.ui.widgets.messages import MessageBar
from sfumato.ui.widgets.paint_queue import delayed
from sfumato.ui.widgets.responsive import Room


class Dialog(QDialog):
    """A dialog; subclasses fill `body` and add buttons.

    Parameters
    ----------
    title
        What it is about.
    text
        One or two sentences.
    """

    def __init__(self, title: str, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lettering = delayed(self, partial(give_letters, self))
        self.setWindowTitle(title)
        self.setMinimumWidth(scaled(480))
        self.setWindowFlag(Qt.WindowType.WindowContextHelpButtonHint, False)
        work = column(
            label(title, "heading", wrap=True),
            spacing=Space.BETWEEN,
            margins=(Space.AROUND, Space.AROUND, Space.AROUND, 0),
        )
        self.explanation = label(text, "muted", wrap=True)
        self.explanation.setVisible(bool(text))
        work.addWidget(self.explanation)
        self.messages = MessageBar(self)
        work.addWidget(self.messages)
        self.body = column()
        work.addLayout(self.body, 1)
        self.buttons = QDialogButtonBox(self)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self._room = Room(work, self)
        self._page = column((self._room, 1), spacing=Space.BETWEEN, margins=(0, 0, 0, Space.AROUND))
        self.setLayout(self._page)
        below = row(self.buttons, margins=(Space.AROUND, 0, Space.AROUND, 0))
        self._page.addLayout(below)

    def present(self, accepted: Callable[[], object] | None = None) -> Self:
        """Open in front of its window, and go away by itself once it is closed."""
        if accepted is not None:
            self.accepted.connect(accepted)
        self.finished.connect(self.deleteLater)
        self.open()
        return self

    def showEvent(self, event: QShowEvent) -> None:
        """Be as large as the content needs."""
        super().showEvent(event)
        self.grow()

    def event(self, event: QEvent) -> bool:
        """Give every button, box and field a letter of its own, whenever there are others."""
        if event.type() in (QEvent.Type.Show, QEvent.Type.LayoutRequest):
            self._lettering.start()
        return super().event(event)

    def done(self, result: int) -> None:
        """Close, and give the keyboard back to the window; not every desktop does so by itself."""
        super().done(result)
        parent = self.parentWidget()
        if parent is not None and QApplication.activeWindow() is None:
            parent.window().activateWindow()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Press the button that has the focus on Enter, not the one that is pressed elsewhere."""
        if not press_by_enter(self.focusWidget(), event):
            super().keyPressEvent(event)

    def grow(self) -> None:
        """Be as high as what is shown needs, so that a message is there to its last line."""
        for _ in range(2):  # what wraps tells its height once it has its width
            QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
            most = self.screen().availableSize() if self.parentWidget() is None else self._around()
            wanted = self.size() + self._room.lacking()
            least = self.minimumSize().expandedTo(self._page.totalMinimumSize())
            self.resize(wanted.boundedTo(most).expandedTo(least))

    def _around(self) -> QSize:
        """Return the size of the window that it stands in front of."""
        parent = self.parentWidget()
        return parent.window().size() if parent is not None else self.size()

    def add_primary(self, text: str, run: Callable[[], object] | None = None) -> QPushButton:
        """Add the button that does what the dialog is for, where that is more than to close it."""
        made = self.buttons.addButton(text, QDialogButtonBox.ButtonRole.AcceptRole)
        set_look(made, "primary")  # the box has polished it already
        made.setDefault(True)
        if run is not None:
            self.buttons.accepted.disconnect(self.accept)
            self.buttons.accepted.connect(run)
        return made

    def add_button(
        self,
        text: str,
        run: Callable[[], object],
        role: QDialogButtonBox.ButtonRole = QDialogButtonBox.ButtonRole.ActionRole,
        tip: str = "",
    ) -> QPushButton:
        """Add a button that does something of its own."""
        made = button(text, run, tip=tip)
        made.setAutoDefault(False)
        self.buttons.addButton(made, role)
        return made

    def add_cancel(self, text: str = "") -> QPushButton:
        """Add the button that leaves everything as it is."""
        made = self.buttons.addButton(
            text or self.tr("Cancel"), QDialogButtonBox.ButtonRole.RejectRole
        )
        made.setAutoDefault(False)
        return made
