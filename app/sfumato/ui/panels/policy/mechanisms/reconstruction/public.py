"""Which columns are public: whoever knows a person knows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QVBoxLayout, QWidget

from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.layout import button, label, row

_ABREAST: Final = 3
"""How many columns stand side by side."""


class PublicColumns(QWidget):
    """A tick for each released column; all are public until somebody says otherwise."""

    chosen = Signal(object)
    """The names ticked, as a tuple; None where all that are released count."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.boxes: dict[str, QCheckBox] = {}
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(Space.BETWEEN)
        self._grid.setVerticalSpacing(Space.INSIDE)
        self.words = label("", "muted", wrap=True)
        self.everything = button(
            tr("All that are released"), lambda: self.chosen.emit(None), "quiet"
        )
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(Space.INSIDE)
        lines.addLayout(row(label(tr("Public columns")), None, self.everything))
        lines.addWidget(self.words)
        lines.addLayout(self._grid)

    def show_columns(self, released: Sequence[str], named: Sequence[str] | None) -> None:
        """Show which of the released columns make groups; all of them where `named` is None."""
        self.everything.setVisible(named is not None)
        self.words.setText(
            tr(
                "A group is the records alike in all of these. Take out only what nobody knows of"
                " a person: it makes groups larger, and more of them are resampled."
            )
            if released
            else tr(
                "No other column is released, so there is nothing by which records would be alike."
            )
        )
        if list(self.boxes) != list(released):
            self._fill(released)
        for name, box in self.boxes.items():
            box.setChecked(named is None or name in named)

    def _fill(self, released: Sequence[str]) -> None:
        for box in self.boxes.values():
            self._grid.removeWidget(box)
            box.deleteLater()
        self.boxes = {}
        for place, name in enumerate(released):
            box = QCheckBox(name.replace("&", "&&"), self)
            box.setToolTip(name)
            box.clicked.connect(self._tell)
            self._grid.addWidget(box, place // _ABREAST, place % _ABREAST)
            self.boxes[name] = box

    def _tell(self, _ticked: bool) -> None:
        names = tuple(name for name, box in self.boxes.items() if box.isChecked())
        self.chosen.emit(None if len(names) == len(self.boxes) else names)
