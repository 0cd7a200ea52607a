"""Limits in the making: typed, pasted or set by sensitivity, and not yet right.

Nothing that was typed is lost: what can't be read stays as text, and `problems` names it at its
cell. Only a draft without problems becomes the policy's limits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import LevelError
from sfumato.engine.matrices.privacy import gamma_for_rho
from sfumato.engine.mechanisms.per_value.mechanism import Limit, PrivacyLimits
from sfumato.engine.mechanisms.retention_profiles import BreachMode
from sfumato.engine.table.table import Attribute
from sfumato.formats.language import grouped, localized
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.sheets import typed_number

Floats = npt.NDArray[np.float64]
RHO1, RHO2 = 0, 1
SEPARATOR: Final = "; "
"""Between several limits of one value, for different background knowledge."""

Pair = tuple[str, str]
EMPTY: Final[Pair] = ("", "")


@dataclass(frozen=True)
class LimitsDraft:
    """The limits of every value as they stand in the grid.

    Parameters
    ----------
    names
        The domain's values, shape (m,).
    frequencies
        Their shares, shape (m,).
    mode, theta
        As in `PrivacyLimits`.
    own
        The texts of ρ1 and ρ2 of the values that have limits of their own, by position.
    strays
        Pasted rows (value, ρ1, ρ2) for values that the domain does not have.
    """

    names: tuple[str, ...]
    frequencies: Floats = field(compare=False)
    mode: BreachMode = BreachMode.STRICT
    theta: float | None = None
    own: Mapping[int, Pair] = field(default_factory=dict)
    strays: tuple[tuple[str, str, str], ...] = ()

    @classmethod
    def of(cls, limits: PrivacyLimits, names: tuple[str, ...], frequencies: Floats) -> LimitsDraft:
        """Return the draft that states limits as they are."""
        places = {name: place for place, name in enumerate(names)}
        own: dict[int, Pair] = {}
        strays = []
        for limit in limits.stated:
            texts = (shown(limit.rho1), shown(limit.rho2))
            place = places.get(limit.value)
            if place is None:
                strays.append((limit.value, *texts))
            else:
                own[place] = _joined(own.get(place, EMPTY), texts)
        return cls(names, frequencies, limits.mode, limits.theta, own, tuple(strays))

    # ----- changes

    def with_texts(self, changes: Mapping[tuple[int, int], str]) -> LimitsDraft:
        """Return the draft with the texts of some cells, by (position, RHO1 or RHO2), changed.

        Where only one half of a pair is given, the other is what the tolerance rule says.
        """
        own = dict(self.own)
        for (place, column), text in changes.items():
            pair = list(own.get(place, EMPTY))
            pair[column] = text.strip()
            own[place] = (pair[0], pair[1])
        for place in {place for place, _ in changes}:
            own[place] = self._completed(place, own[place])
            if own[place] == EMPTY:
                del own[place]
        return replace(self, own=own)

    def with_limits(self, places: Iterable[int], pair: Pair) -> LimitsDraft:
        """Return the draft with the same limits for several values; empty ones follow the rule."""
        own = dict(self.own)
        for place in places:
            own[place] = pair
            if pair == EMPTY:
                del own[place]
        return replace(self, own=own)

    def _completed(self, place: int, pair: Pair) -> Pair:
        if all(pair) or not any(pair):
            return pair
        before, rule = self.own.get(place, EMPTY), self.rule(place)
        if before != EMPTY or rule is None:
            return pair  # one half of a stated pair was taken away: that is a problem to name
        return (pair[0] or shown(rule[0]), pair[1] or shown(rule[1]))

    def rule(self, place: int) -> tuple[float, float] | None:
        """Return the limits by the tolerance rule; None where it sets none."""
        share = float(self.frequencies[place])
        if self.theta is None or share <= 0 or share * self.theta >= 1:
            return None
        return float(f"{share:.3g}"), float(f"{self.theta * share:.3g}")

    # ----- what it says

    def problems(self) -> dict[tuple[int, int], str]:
        """Return what is wrong, by the cell (position, RHO1 or RHO2)."""
        found: dict[tuple[int, int], str] = {}
        for place, pair in self.own.items():
            columns = [_numbers(text) for text in pair]
            for column, numbers in enumerate(columns):
                wrong = _fault(pair[column], numbers, "ρ1" if column == RHO1 else "ρ2")
                if wrong:
                    found[place, column] = wrong
            if (place, RHO1) in found or (place, RHO2) in found:
                continue
            first, second = columns
            if len(first) != len(second):
                found[place, RHO2] = tr("As many numbers are needed for ρ2 as for ρ1.")
            elif any(low >= high for low, high in zip(first, second, strict=True)):
                found[place, RHO2] = tr("ρ2 must be above ρ1: a belief is to stay below it.")
        return found

    @property
    def sound(self) -> bool:
        """Whether these are limits that can be solved for."""
        return not self.strays and not self.problems()

    def limits(self) -> PrivacyLimits:
        """Return the limits that hold no problem; those with one are left out."""
        wrong = {place for place, _ in self.problems()}
        stated = [
            Limit(self.names[place], low, high)
            for place, pair in sorted(self.own.items())
            if place not in wrong
            for low, high in zip(_numbers(pair[RHO1]), _numbers(pair[RHO2]), strict=True)
        ]
        return PrivacyLimits(self.mode, self.theta, tuple(stated))

    def gammas(self, domain: Domain) -> Floats:
        """Return γ of every value as it stands, shape (m,): NaN at a problem, else as solved."""
        limits = self.limits()
        if len(set(self.names)) < len(self.names):
            limits = replace(limits, stated=())
        gammas = limits.gammas(domain, self.frequencies)
        gammas[[place for place, _ in self.problems()]] = np.nan
        return gammas


def names_of(attribute: Attribute) -> tuple[str, ...]:
    """Return what an attribute's values are called; nothing for one without a domain."""
    return attribute.domain.names if attribute.domain is not None else ()


def shown(value: float) -> str:
    """Return a number as it is typed: no noise, nothing lost."""
    short = f"{value:.12g}"
    return localized(short if float(short) == value else repr(value))


def meaning(pair: Pair) -> str:
    """Return what limits say, in words; empty where they can't be read."""
    low, high = _numbers(pair[RHO1]), _numbers(pair[RHO2])
    sentences = []
    for rho1, rho2 in zip(low, high, strict=False):
        try:
            gamma = gamma_for_rho(rho1, rho2)
        except LevelError:
            return ""
        sentences.append(
            tr(
                "A belief of at most {before} stays at most {after} (γ = {gamma}).",
                before=_percent(rho1),
                after=_percent(rho2),
                gamma=localized(f"{gamma:.4g}"),
            )
        )
    return "\n".join(sentences)


def numbers_in(texts: Sequence[str]) -> bool:
    """Return whether every text is a number (or several)."""
    return all(numbers and not any(map(math.isnan, numbers)) for numbers in map(_numbers, texts))


def _percent(share: float) -> str:
    return f"{localized(f'{share * 100:.4g}')}\u202f%"


def _joined(before: Pair, more: Pair) -> Pair:
    if before == EMPTY:
        return more
    return (before[0] + SEPARATOR + more[0], before[1] + SEPARATOR + more[1])


def _numbers(text: str) -> list[float]:
    """Return the numbers of a cell, NaN for what is none."""
    return [typed_number(part) for part in text.split(";") if part.strip()]


def _fault(text: str, numbers: Sequence[float], symbol: str) -> str:
    """Return what is wrong with one cell by itself."""
    if not text.strip() or not numbers:
        return tr("{symbol} is missing.", symbol=symbol)
    if any(map(math.isnan, numbers)):
        return tr("“{text}” is not a number.", text=text)
    if not all(0 < number < 1 for number in numbers):
        return tr("{symbol} must be above 0 and below 1.", symbol=symbol)
    return ""


@dataclass(frozen=True)
class SensitivityClass:
    """How sensitive a value can be, in words: limits to start from.

    Parameters
    ----------
    name, sentence
        What it is called, and what its limits say.
    pair
        ρ1 and ρ2, as texts.
    """

    name: str
    sentence: str
    pair: Pair = EMPTY


def classes() -> tuple[SensitivityClass, ...]:
    """Return the classes, the most sensitive first; the last takes a value's own limits away."""
    named = (
        (tr("Very sensitive"), 15),
        (tr("Sensitive"), 30),
        (tr("Ordinary"), 60),
        (tr("Not sensitive"), 95),
    )
    sentence = tr("A belief of 10\u202f% stays below {after}\u202f%", after="{after}")
    limited = (
        SensitivityClass(name, sentence.format(after=after), ("0.1", localized(f"{after / 100:g}")))
        for name, after in named
    )
    return (*limited, SensitivityClass(tr("By the rule"), tr("No limits of its own")))


def by_rarity(frequencies: Floats, rare: float, uncommon: float) -> dict[int, Pair]:
    """Return limits that are the tighter the rarer a value is, by position.

    Parameters
    ----------
    frequencies
        The values' shares, shape (m,).
    rare, uncommon
        Values below these shares are very sensitive, or sensitive; the others are ordinary.
    """
    very, sensitive, ordinary = (each.pair for each in classes()[:3])
    return {
        place: very if share < rare else sensitive if share < uncommon else ordinary
        for place, share in enumerate(frequencies)
    }


Pasted = tuple[LimitsDraft, str]
"""A draft after pasting, and what there is to say about it."""


def is_list(rows: Sequence[Sequence[str]], names: Sequence[str]) -> bool:
    """Return whether the rows name values: (value, ρ1, ρ2), rather than fill cells."""
    known = set(names)
    named = [row for row in rows if len(row) >= 3]
    if not named:
        return False
    return any(row[0] in known or not numbers_in(row[:1]) for row in named)


def paste_list(draft: LimitsDraft, rows: Sequence[Sequence[str]]) -> Pasted:
    """Return the draft with the limits of a list; a value that stands there twice gets both.

    A first line of headings is passed over. Rows for values that the domain does not have are
    kept as strays.
    """
    places = {name: place for place, name in enumerate(draft.names)}
    if rows and rows[0][0] not in places and not numbers_in(rows[0][1:3]):
        rows = rows[1:]
    own: dict[int, Pair] = {}
    strays = list(draft.strays)
    for row in rows:
        value, low, high = (*row, "", "")[:3]
        place = places.get(value)
        if place is None:
            strays.append((value, low, high))
        else:
            own[place] = _joined(own.get(place, EMPTY), (low, high))
    kept = {place: pair for place, pair in {**draft.own, **own}.items() if pair != EMPTY}
    missing = len(draft.names) - len(own)
    words = _taken(len(own))
    if missing:
        words += " " + tr(
            "{count} {count:value|values} of the domain {count:is|are} not in the list;"
            " {count:its limits|theirs} stay as they were.",
            count=grouped(missing),
        )
    return replace(draft, own=kept, strays=tuple(dict.fromkeys(strays))), words


def paste_block(
    draft: LimitsDraft, rows: Sequence[Sequence[str]], places: Sequence[int], first_column: int
) -> Pasted:
    """Return the draft with a block of cells filled.

    Parameters
    ----------
    rows
        The cells' texts.
    places
        The positions of the values from the block's first row on, in the order in sight.
    first_column
        `RHO1` or `RHO2`: where the block's first column goes.
    """
    changes: dict[tuple[int, int], str] = {}
    left_over = 0
    for offset, row in enumerate(rows):
        for across, text in enumerate(row):
            column = first_column + across
            if offset < len(places) and column in (RHO1, RHO2):
                changes[places[offset], column] = text
            else:
                left_over += 1
    words = _taken(len({place for place, _ in changes}))
    if left_over:
        words += " " + tr(
            "{count} {count:cell|cells} did not fit and were left out.", count=grouped(left_over)
        )
    return draft.with_texts(changes), words


def _taken(values: int) -> str:
    return tr("{count} {count:value was|values were} pasted.", count=grouped(values))
