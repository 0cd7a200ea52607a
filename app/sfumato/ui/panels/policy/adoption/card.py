"""The adopted releases of an entry, and the way to adopt another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QToolButton, QVBoxLayout, QWidget

from sfumato.project.document.adopted_files import AdoptedFile
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.adoption.wording import level_text, match_text, tr
from sfumato.ui.widgets.icons import themed_icon
from sfumato.ui.widgets.layout import Badge, Card, ElidedLabel, button, label, row


class AdoptedCard(Card):
    """A line for each adopted release."""

    adopt_asked = Signal()
    removal_asked = Signal(str)
    """A release should not be adopted any more, by its digest."""
    place_asked = Signal(str)
    """The person wants to show where a file is now, by its digest."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.adopt = button(tr("Adopt an earlier release…"), self.adopt_asked.emit, icon="open")
        self._about = label(
            tr(
                "Was a version of this table given out before, made with another tool? Adopt it,"
                " and the levels released from here form one ladder with it."
            ),
            "muted",
            wrap=True,
        )
        self._lines = QVBoxLayout()
        self._lines.setSpacing(Space.INSIDE)
        self.body.addLayout(row(label(tr("Earlier releases"), "heading"), None, self.adopt))
        self.body.addWidget(self._about)
        self.body.addLayout(self._lines)
        self._shown: tuple[AdoptedFile, ...] = ()
        self.lines: dict[str, QWidget] = {}

    def show_files(self, entry: PolicyEntry, files: Sequence[AdoptedFile]) -> None:
        """Show the releases that were adopted for an entry."""
        self._about.setVisible(not files)
        if tuple(files) == self._shown:
            return
        self._shown = tuple(files)
        for line in self.lines.values():
            self._lines.removeWidget(line)
            line.hide()
            line.deleteLater()
        self.lines = {file.digest: self._line(entry, file) for file in files}
        for line in self.lines.values():
            self._lines.addWidget(line)

    def _line(self, entry: PolicyEntry, file: AdoptedFile) -> QWidget:
        state = ("ladder", "good", tr("On the ladder"))
        if not file.rung:
            state = ("caution", "caution", tr("Beside the ladder"))
        name = ElidedLabel(file.called, "strong")
        about = ElidedLabel(
            f"{level_text(entry, file)} · {file.path.name}, {match_text(file)}", "small"
        )
        line = QWidget(self)
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(name)
        texts.addWidget(about)
        across = row(
            Badge(*state),
            self._tool(
                "folder", tr("Show where it is now…"), partial(self.place_asked.emit, file.digest)
            ),
            self._tool(
                "remove", tr("Adopt it no more"), partial(self.removal_asked.emit, file.digest)
            ),
        )
        across.insertLayout(0, texts, 1)
        line.setLayout(across)
        return line

    def _tool(self, icon: str, name: str, run: partial[None]) -> QToolButton:
        made = QToolButton(self)
        made.setIcon(themed_icon(icon))
        made.setToolTip(name)
        made.setAccessibleName(name)
        made.clicked.connect(lambda _checked=False: run())
        return made
