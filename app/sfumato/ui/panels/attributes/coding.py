"""Columns that leave unperturbed: numbers rounded and cut off, names replaced by pseudonyms."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QLineEdit, QWidget

from sfumato.engine.core.columns import Coding, Pseudonym
from sfumato.engine.core.errors import DomainError
from sfumato.formats.language import grouped
from sfumato.ui.look.theme import Space
from sfumato.ui.widgets.fields import ChoiceField, TickAll, WrappedCheckBox, prompt, when_given
from sfumato.ui.widgets.layout import button, clear_layout, column, label, row, say
from sfumato.ui.widgets.messages import error_texts
from sfumato.ui.widgets.tables import show_value


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
        self._places = column(spacing=Space.TIGHT)
        self.tick_all = TickAll(self._tick_all, self)
        parts = (self.choice, self.meaning, self._places, self.tick_all)
        self.setLayout(column(*parts))

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
            box = WrappedCheckBox(name.replace("&", "&&"), clicked=self._tick)
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


class CodingEditor(QWidget):
    """Shows how a column is coded, and tells what the person wants instead."""

    given = Signal(object)
    """A `Coding`, or None for numbers as they are."""
    ends_wanted = Signal()
    """Ends that single records don't tell should be proposed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._coding: Coding | None = None
        titles = (self.tr("No less than"), self.tr("No more than"), self.tr("Multiples of"))
        self.fields = tuple(QLineEdit(self) for _ in titles)
        self.bottom, self.top, self.step = self.fields
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(Space.INSIDE)
        for place, (title, field) in enumerate(zip(titles, self.fields, strict=True)):
            field.setAccessibleName(title)
            prompt(field, self.tr("as it is"))
            when_given(field, self._give)
            grid.addWidget(label(title, "small", wrap=True), 0, place)
            grid.setColumnStretch(place, 1)
            grid.addWidget(field, 1, place)
        self.propose = button(
            self.tr("Propose ends"),
            self.ends_wanted.emit,
            "quiet",
            "refresh",
            self.tr("Round numbers that several records reach"),
        )
        self.told = label("", "muted", wrap=True)
        self.problem = label("", "danger", wrap=True)
        self.setLayout(column(grid, self.told, self.problem, row(self.propose, None)))

    def show_coding(
        self, coding: Coding | None, cut_off: int | None, alone: tuple[int, int] = (0, 0)
    ) -> None:
        """Show how a column is coded.

        Parameters
        ----------
        coding
            Its rounding and its ends; None where it leaves as it is.
        cut_off
            How many numbers lie beyond the ends, where that is known.
        alone
            How many records have the smallest and the largest number where few do, else 0.
        """
        typing = coding == self._coding and any(field.hasFocus() for field in self.fields)
        self._coding = coding
        stated = (None, None, None) if coding is None else (coding.bottom, coding.top, coding.step)
        for field, number in zip(self.fields, stated, strict=True):
            if not typing:
                field.setText("" if number is None else show_value(number))
        say(self.told, self._words(coding, cut_off, alone))
        self.show_problem("")

    def _words(self, coding: Coding | None, cut_off: int | None, alone: tuple[int, int]) -> str:
        """Return what the ends do, or why there should be some."""
        low, high = alone
        bottom, top = (None, None) if coding is None else (coding.bottom, coding.top)
        said = []
        if cut_off is not None and (bottom is not None or top is not None):
            words = self.tr(
                "{count} {count:number lies|numbers lie} beyond the ends: recipients see the end"
                " instead."
            )
            said.append(words.format(count=grouped(cut_off)))
        if high and top is None:
            words = self.tr("Records with the largest number, which few share: {count}.")
            said.append(words.format(count=grouped(high)))
        if low and bottom is None:
            words = self.tr("Records with the smallest number, which few share: {count}.")
            said.append(words.format(count=grouped(low)))
        return " ".join(said)

    def show_problem(self, text: str) -> None:
        """Say what can't be done; an empty text takes it away."""
        say(self.problem, text)

    def _give(self) -> None:
        try:
            coding = self._typed()
        except DomainError as error:
            self.show_problem(" ".join(error_texts(error)))
            return
        self.show_problem("")
        if coding != self._coding:
            self.given.emit(coding)

    def _typed(self) -> Coding | None:
        """Return what was typed; raise `DomainError` where it is no coding."""
        stated: list[float | None] = []
        for field in self.fields:
            text = field.text().strip().replace("\u2212", "-").replace(",", ".")
            try:
                stated.append(float(text) if text else None)
            except ValueError:
                raise DomainError(
                    "An end or a step is not a number.", "Give a number, or leave it empty."
                ) from None
        return None if stated == [None, None, None] else Coding(*stated)
