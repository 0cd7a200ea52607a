"""What an identifying column leaves as: nothing, or a pseudonym and for whom it is the same."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from sfumato.engine.core.columns import Pseudonym
from sfumato.ui.look.theme import Space
from sfumato.ui.widgets.fields import ChoiceField, TickAll, WrappedCheckBox
from sfumato.ui.widgets.layout import clear_layout, column, label


class Shown(StrEnum):
    """What recipients see in the place of an identifier."""

    NOTHING = "nothing"
    OWN = "own"
    SHARED = "shared"
    SOME = "some"


class PseudonymEditor(QWidget):
    """Shows what an identifying column leaves as, and tells what the person wants instead."""

    given = Signal(object)
    """A `Pseudonym`, or None to drop the column."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._recipients: tuple[str, ...] = ()
        self.choice = ChoiceField(
            (
                (Shown.NOTHING, self.tr("Dropped")),
                (Shown.OWN, self.tr("A pseudonym for each recipient")),
                (Shown.SHARED, self.tr("A pseudonym that all share")),
                (Shown.SOME, self.tr("A pseudonym that some share")),
            )
        )
        self.choice.setAccessibleName(self.tr("In releases"))
        self.choice.chosen.connect(self._choose)
        self.meaning = label("", "muted", wrap=True)
        self.boxes: dict[str, WrappedCheckBox] = {}
        self._places = QVBoxLayout()
        self._places.setSpacing(Space.TIGHT)
        self.tick_all = TickAll(self._tick_all, self)
        parts = (self.choice, self.meaning, self._places, self.tick_all)
        self.setLayout(column(*parts, spacing=Space.INSIDE))

    def show_pseudonym(self, pseudonym: Pseudonym | None, recipients: Sequence[str]) -> None:
        """Show what a column leaves as.

        Parameters
        ----------
        pseudonym
            None where it is dropped.
        recipients
            Everybody's name, in order.
        """
        self._recipients = tuple(recipients)
        shown = _shown(pseudonym)
        self.choice.set_value(shown)
        self.meaning.setText(self._meaning(shown))
        sharing = () if pseudonym is None else pseudonym.shared_by or ()
        if list(self.boxes) != list(recipients):
            self._rebuild()
        for name, box in self.boxes.items():
            box.setChecked(name in sharing)
            box.setVisible(shown is Shown.SOME)
        self.tick_all.offer(len(self.boxes) if shown is Shown.SOME else 0)

    def _meaning(self, shown: Shown) -> str:
        return {
            Shown.NOTHING: self.tr("It is in no release."),
            Shown.OWN: self.tr(
                "Rows of the same unit can be linked within a recipient's releases, and not with"
                " those of others."
            ),
            Shown.SHARED: self.tr(
                "Recipients who pool their releases can link them row by row: together they know"
                " everything that any of them was given about a unit."
            ),
            Shown.SOME: self.tr(
                "Those ticked can link their releases row by row: together they know everything"
                " that any of them was given about a unit. All others have pseudonyms of their own."
            ),
        }[shown]

    def _rebuild(self) -> None:
        clear_layout(self._places)
        self.boxes = {}
        for name in self._recipients:
            box = WrappedCheckBox(name.replace("&", "&&"))
            box.clicked.connect(self._tick)
            self.boxes[name] = box
            self._places.addWidget(box)

    def _choose(self, shown: object) -> None:
        wanted = {
            Shown.NOTHING: None,
            Shown.OWN: Pseudonym(()),
            Shown.SHARED: Pseudonym(None),
            Shown.SOME: Pseudonym(self._recipients[:2]),
        }
        if isinstance(shown, Shown):
            self.given.emit(wanted[shown])

    def _tick(self, _checked: bool = False) -> None:
        ticked = tuple(name for name, box in self.boxes.items() if box.isChecked())
        self.given.emit(Pseudonym(ticked))

    def _tick_all(self, ticked: bool) -> None:
        self.given.emit(Pseudonym(self._recipients if ticked else ()))


def _shown(pseudonym: Pseudonym | None) -> Shown:
    if pseudonym is None:
        return Shown.NOTHING
    if pseudonym.shared_by is None:
        return Shown.SHARED
    return Shown.SOME if pseudonym.shared_by else Shown.OWN
