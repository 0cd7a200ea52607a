"""What is told of an attribute without a release and with it, in words, and what can be done."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.engine.core.values import rounded_down
from sfumato.engine.core.wording import Sentence, formatted, joined, listed
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.profile import suggest_binning
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document, with_members
from sfumato.project.release.long_survey import Survey

NAMED: Final = 3
"""So many columns are named at most."""
_NOTICED: Final = 0.9
"""A half-width is worth telling if it is smaller by this factor, a guess if it is better by as
much of what it could be."""
_EXACT: Final = 1e-6


BINS: Final = 5
"""So many bins make a column of numbers coarse."""


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


def protected_too(
    document: Document, source: Survey, attribute: str, columns: Sequence[str], noise: KeyedNoise
) -> Document:
    """Mark columns as sensitive, and protect them together with an attribute where that can be.

    What can't be protected together with it, such as numbers beside categories, is sensitive and
    waits for a mechanism of its own.

    Parameters
    ----------
    document, source
        What is decided, and what is known of the rows.
    attribute
        The sensitive attribute that the columns tell.
    columns
        These.
    noise
        Draws noise for statistics of the table.

    Raises
    ------
    DomainError
        If a column's values don't fit.
    """
    for name in columns:
        spec = replace(document.column(name), role=Role.SENSITIVE)
        if spec.kind is not Kind.NUMERIC or spec.binning is not None:
            spec = source.with_domain(spec)
        document = document.with_column(spec)
    entry = document.entry_for(attribute)
    if entry is None:
        return document
    known: dict[str, Attribute] = {}
    others = [one.attributes for one in document.policy if one != entry]
    for names in ((*entry.attributes, *columns), *others):
        specs = [document.column(name) for name in names if name not in known]
        if specs:
            known |= {one.name: one for one in source.attributes(specs)}
    for name in columns:
        entry = document.entry_for(attribute)
        if entry is not None:
            with suppress(SfumatoError):
                members = (*entry.attributes, name)
                document = with_members(document, entry.key, members, known, noise)
    return document


def left_out(document: Document, columns: Sequence[str]) -> Document:
    """Leave columns out of every release."""
    for name in columns:
        spec = replace(document.column(name), role=Role.IDENTIFYING, binning=None)
        document = document.with_column(spec)
    return document


def divisible(document: Document, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that hold numbers and are not divided into few bins yet."""
    return tuple(name for name in columns if _divisible(document.column(name)))


def _divisible(spec: ColumnSpec) -> bool:
    fine = spec.binning is None or len(spec.binning.edges) > BINS + 1
    return spec.kind is Kind.NUMERIC and fine


def made_coarser(document: Document, source: Survey, columns: Sequence[str]) -> Document:
    """Divide columns of numbers into a few bins.

    Raises
    ------
    PolicyError
        If none of them holds numbers that are not binned so coarsely yet.
    DomainError
        If their numbers can't be divided.
    """
    changed = document
    for name in columns:
        spec = document.column(name)
        if not _divisible(spec):
            continue
        binning = suggest_binning(source.numbers(name), BINS)
        # They follow from the rows until somebody confirms them.
        spec = replace(spec, binning=binning, coding=None, domain=None, from_rows=True)
        changed = changed.with_column(spec)
    if changed == document:
        raise PolicyError(
            "{columns} can't be made coarser by bins.",
            "Give them a hierarchy, protect them too, or leave them out.",
            columns=", ".join(columns),
        )
    return changed
