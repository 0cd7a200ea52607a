"""What is told of one attribute without a recipient's release and with it, in figures and words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from sfumato.engine.core.values import rounded_down
from sfumato.engine.core.wording import Sentence, formatted, joined, listed

NAMED: Final = 3
"""So many columns are named at most."""
_NOTICED: Final = 0.9
"""A half-width is worth telling if it is smaller by this factor, a guess if it is better by as
much of what it could be."""
_EXACT: Final = 1e-6


@dataclass(frozen=True)
class OpenFigure:
    """What is told of one attribute, without a recipient's release and with it.

    Half-widths that hold 90 % of the records for numbers, shares of the records whose value is
    guessed right for categories.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    recipient
        Whose release it is; empty for none.
    numeric
        Whether figures are half-widths.
    alone
        Without any release, by somebody who knows no other column.
    open
        Without any release, from the columns released unchanged.
    linear
        Of numbers, the same by the best linear estimate; of categories, as `open`.
    released
        From the release, by somebody who knows no other column; as `alone` without a release.
    both
        From the release and the columns released unchanged.
    telling
        The columns that matter, the most telling first.
    exact
        Why the attribute follows from open columns exactly; empty where it does not.
    sampled, records
        On how many of how many records it was computed.
    coarser
        The telling columns that the recipient's view shows more coarsely than the table has them.
    """

    attribute: str
    recipient: str
    numeric: bool
    alone: float
    open: float
    linear: float
    released: float
    both: float
    telling: tuple[str, ...]
    exact: str
    sampled: int
    records: int
    coarser: tuple[str, ...] = ()

    @property
    def matters(self) -> bool:
        """Whether the columns released unchanged tell enough to be worth a caution."""
        if self.exact:
            return True
        if self.numeric:
            return self.open < _NOTICED * self.alone
        error = 2.0 * float(np.sqrt(self.open * (1.0 - self.open) / self.sampled))
        return self.open - self.alone > max((1.0 - _NOTICED) * (1.0 - self.alone) / 2.0, error)

    @property
    def empties(self) -> bool:
        """Whether the open columns empty the promise of the release.

        They do where, without any release, they tell as much as the release, and half of what
        there is to tell; or everything.
        """
        if self.exact or not self.matters or not self.recipient:
            return bool(self.exact)
        if self.numeric:
            return self.open <= min(self.released, self.alone / 2.0)
        return self.open >= max(self.released, (1.0 + self.alone) / 2.0)

    @property
    def told(self) -> dict[str, Sentence]:
        """The figures as they are shown."""
        return {
            name: _width(number, self.alone) if self.numeric else formatted(100.0 * number, ".0f")
            for name, number in (
                ("alone", self.alone),
                ("open", self.open),
                ("released", self.released),
                ("both", self.both),
            )
        }

    @property
    def sentence(self) -> str:
        """What is told, and why."""
        numbers = _WIDTHS if self.numeric else _GUESSES
        template = numbers[self.matters, bool(self.recipient)]
        told = Sentence(
            template,
            name=self.attribute,
            columns=listed(self.telling[:NAMED] or ("",)),
            **self.told,
        )
        known = ""
        if coarser := [name for name in self.telling[:NAMED] if name in self.coarser]:
            known = Sentence(
                "This holds for somebody who knows {columns} as the table has it; {recipient} sees"
                " it more coarsely.",
                columns=listed(coarser),
                recipient=self.recipient,
            )
        return joined(told, self.exact, known)

    @property
    def remedy(self) -> str:
        """What can be done about it; empty where there is nothing to do."""
        if not self.matters:
            return ""
        return Sentence(
            "Protect {columns} as well, together with {name}; make them coarser; or leave them out"
            " of the releases.",
            columns=listed(self.telling[:NAMED]),
            name=self.attribute,
        )

    @property
    def caution(self) -> str:
        """What weakens the promise, and what can be done; empty where there is nothing to do."""
        if not self.matters:
            return ""
        return Sentence(
            "{columns}, released unperturbed, tell {name}: {remedy}",
            columns=listed(self.telling[:NAMED]),
            name=self.attribute,
            remedy=self.remedy,
        )

    def plain(self) -> dict[str, Any]:
        """Return the figures as plain JSON values."""
        unit = "half-width of 90 %" if self.numeric else "share guessed right"
        return {
            "attribute": self.attribute,
            "recipient": self.recipient or None,
            "figure": unit,
            "without any release": {
                "no other column": self.alone,
                "linear": self.linear if self.numeric else None,
                "open columns": self.open,
            },
            "with the release": {"no other column": self.released, "open columns": self.both}
            if self.recipient
            else None,
            "telling columns": list(self.telling),
            "follows exactly": self.exact or None,
            "matters": self.matters,
            "records": self.records,
            "sampled": self.sampled,
        }


_WIDTHS: Final = {
    (True, True): (
        "From {columns}, released unperturbed, 90 in 100 people's {name} can be placed within"
        " {open} without any release (knowing no other column, {alone}); with this release within"
        " {both}, by the release alone within {released}."
    ),
    (True, False): (
        "From {columns}, released unperturbed, 90 in 100 people's {name} can be placed within"
        " {open} without any release (knowing no other column, {alone})."
    ),
    (False, True): (
        "The columns released unperturbed tell little of {name}: with them 90 in 100 people's can"
        " be placed within {open} without any release, and within {both} with this one."
    ),
    (False, False): (
        "The columns released unperturbed tell little of {name}: with them 90 in 100 people's can"
        " be placed within {open} without any release, without them within {alone}."
    ),
}
_GUESSES: Final = {
    (True, True): (
        "From {columns}, released unperturbed, the best guess of {name} is right for {open} in 100"
        " people without any release (always naming the most common value, {alone}); with this"
        " release for {both}, by the release alone for {released}."
    ),
    (True, False): (
        "From {columns}, released unperturbed, the best guess of {name} is right for {open} in 100"
        " people without any release (always naming the most common value, {alone})."
    ),
    (False, True): (
        "The columns released unperturbed tell little of {name}: the best guess is right for {open}"
        " in 100 people without any release, and for {both} with this one."
    ),
    (False, False): (
        "The columns released unperturbed tell little of {name}: the best guess is right for {open}"
        " in 100 people, without them for {alone}."
    ),
}


def _width(number: float, alone: float) -> Sentence:
    least = 0 if number <= _EXACT * alone else rounded_down(number)
    return Sentence("\u00b1\u202f{least}", least=least)
