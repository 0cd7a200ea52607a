"""One record's way down its ladder: what every level of trust would show of it.

For the custodian only: whoever sees the whole way knows the true value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.analysis.all_rows import AllRows, RowsPart
from sfumato.engine.core.errors import LevelError, PolicyError, TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.project.document.entry_plan import EntryPlan, plan_entry
from sfumato.project.document.model import PolicyEntry
from sfumato.project.release.batched_views import BatchedView
from sfumato.project.release.views import coarsening_of, quasi_identifiers

LOWEST_TRUST: Final = 0.001
POINTS: Final = 240
"""Levels that are looked at, each 3 % below the one before."""
_HALVINGS: Final = 12
"""Between two levels that differ, a change is found to a hundred-thousandth of the level."""


@dataclass(frozen=True)
class Stretch:
    """From `upper` down to `lower` trust, a release shows this value.

    Parameters
    ----------
    upper, lower
        Trust, from 1 (the original) to 0.
    value
        What is shown, as it is released.
    """

    upper: float
    lower: float
    value: Any


@dataclass(frozen=True)
class Stop:
    """What one recipient sees of the record.

    Parameters
    ----------
    recipient, trust
        Who, and from 0 to 1 how far they are trusted with the attribute.
    value
        The attribute, as it is released.
    public
        The quasi-identifiers as the recipient's view shows them, by name.
    alike
        How many records show the same there, this one among them; 0 without quasi-identifiers.
    """

    recipient: str
    trust: float
    value: Any
    public: Mapping[str, Any] = field(default_factory=dict)
    alike: int = 0


@dataclass(frozen=True)
class RecordPath:
    """What levels of trust show of one record's attribute.

    Parameters
    ----------
    attribute
        The attribute.
    row
        The record's row, from 1.
    stretches
        For values that stay over a stretch of levels, from the top down.
    trusts, numbers
        For numbers that change with every level: what each trust shows; else empty.
    stops
        The recipients, most trusted first.
    """

    attribute: str
    row: int
    stretches: tuple[Stretch, ...]
    trusts: npt.NDArray[np.float64]
    numbers: npt.NDArray[np.float64]
    stops: tuple[Stop, ...]

    @property
    def is_numeric(self) -> bool:
        """Whether the value changes with every level."""
        return len(self.numbers) > 0


def record_path(
    rows: AllRows, entry: PolicyEntry, attribute: str, row: int, context: Context
) -> RecordPath:
    """Return what every level of trust shows of one record.

    Two changes within 3 % of a level that lead back to the same value are not seen.

    Parameters
    ----------
    rows
        All rows of the table.
    entry
        The policy entry.
    attribute
        One of its attributes.
    row
        The record's row, from 1.
    context
        Progress and cancelling.

    Raises
    ------
    TableError
        If there is no such row.
    SfumatoError
        If the policy is not complete.
    """
    if not 1 <= row <= rows.rows:
        raise TableError(
            "There is no row {row}: the table has {count}.",
            "Give a row from 1 to {count}.",
            row=row,
            count=rows.rows,
        )
    if not rows.document.recipients:
        raise PolicyError("Nobody is on the ladder yet.", "Add a recipient under Policy.")
    looker = _Looker(rows, entry, attribute, row - 1, Part(context, 0.0, 0.5))
    trusts = np.geomspace(looker.highest, LOWEST_TRUST, POINTS)
    seen = []
    for place, trust in enumerate(trusts):
        context.report(0.5 + 0.1 * place / len(trusts), "Walking down the ladder")
        seen.append(looker.at(float(trust)))
    stops = _stops(looker, rows, Part(context, 0.6, 1.0))
    if looker.is_numeric:
        numbers = np.array([np.nan if pd.isna(value) else float(value) for value in seen])
        return RecordPath(attribute, row, (), trusts, numbers, stops)
    nothing = np.empty(0)
    return RecordPath(attribute, row, _stretches(looker, trusts, seen), nothing, nothing, stops)


def _stops(looker: _Looker, rows: AllRows, context: Context) -> tuple[Stop, ...]:
    """Return what every recipient sees of a record, the most trusted first."""
    document, names = rows.document, quasi_identifiers(rows.document)
    views: list[BatchedView | None] = []
    for each in document.recipients if names else ():
        coarsening = coarsening_of(document, each)
        part = Part(context, 0.0, 0.5)
        views.append(None if coarsening is None else rows.seen(coarsening, part))
    found = _public(looker, rows, names, views, Part(context, 0.5, 1.0))
    stops = [looker.for_recipient(each.name) for each in document.recipients]
    stops = [
        replace(stop, public=public, alike=alike)
        for stop, (public, alike) in zip(stops, found or [({}, 0)] * len(stops), strict=True)
    ]
    return tuple(sorted(stops, key=lambda stop: -stop.trust))


def _public(
    looker: _Looker,
    rows: AllRows,
    names: Sequence[str],
    views: Sequence[BatchedView | None],
    context: Context,
) -> list[tuple[dict[str, Any], int]]:
    """Return what views show of a record, and how many records show the same."""
    known = [
        {name: column.iloc[looker.place] for name, column in shown.items()}
        for shown in (rows.shown(looker.part, names, seen) for seen in views)
    ]
    alike = [0] * len(views)
    for part in rows.parts(names, "Counting records alike", context) if views else ():
        for place, (seen, public) in enumerate(zip(views, known, strict=True)):
            same = np.ones(part.table.rows, dtype=np.bool_)
            for name, column in rows.shown(part, names, seen).items():
                value = public[name]
                here = column.isna() if pd.isna(value) else column == value
                same &= here.to_numpy(bool, na_value=False)
            alike[place] += int(np.count_nonzero(same))
    return list(zip(known, alike, strict=True))


class _Looker:
    """Releases one record at any level."""

    part: RowsPart
    """Rows of the table that have it."""
    place: int
    """Where it is among these."""

    def __init__(
        self, rows: AllRows, entry: PolicyEntry, attribute: str, place: int, context: Context
    ) -> None:
        attributes = rows.attributes(Part(context, 0.0, 0.4))
        self._document, self._entry = rows.document, entry
        self._attributes = {name: attributes[name] for name in entry.attributes}
        self._mechanism = mechanism_called(entry.mechanism)
        self._attribute = attribute
        self.is_numeric = self._attributes[attribute].domain is None
        plan = self._plan(rows.document.recipients[0].name)
        rows.draw([plan], Part(context, 0.4, 0.8))
        self.part, self.place = rows.part_at(place, Part(context, 0.8, 1.0))
        self._request = self.part.request(plan, slice(self.place, self.place + 1))
        self.highest = self._highest()

    def _highest(self) -> float:
        """Return the top of the ladder: the original, where the mechanism has it as a level."""
        for trust in (1.0, 0.999):
            with suppress(LevelError):
                self.at(trust)
                return trust
        return max(self.for_recipient(r.name).trust for r in self._document.recipients)

    def at(self, trust: float) -> Any:
        """Return what a level of this trust shows."""
        return self._shown(self._mechanism.level_at(trust))

    def for_recipient(self, name: str) -> Stop:
        """Return what a recipient sees."""
        level = self._plan(name).level
        return Stop(name, self._mechanism.trust(level), self._shown(level))

    def _plan(self, name: str) -> EntryPlan:
        recipient = self._document.recipient(name)
        return plan_entry(self._document, self._entry, self._attributes, recipient)

    def _shown(self, level: float) -> Any:
        released = self._mechanism.release(replace(self._request, level=level), Silent())
        value: Any = released[self._attribute].iloc[0]
        return value


def _stretches(
    looker: _Looker, trusts: npt.NDArray[np.float64], seen: list[Any]
) -> tuple[Stretch, ...]:
    """Return the stretches of equal values, with their ends found by halving."""
    found: list[Stretch] = []
    upper = looker.highest
    for place in range(1, len(seen)):
        if _same(seen[place], seen[place - 1]):
            continue
        change = _change(looker, float(trusts[place - 1]), float(trusts[place]), seen[place - 1])
        found.append(Stretch(upper, change, seen[place - 1]))
        upper = change
    return (*found, Stretch(upper, float(trusts[-1]), seen[-1]))


def _change(looker: _Looker, above: float, below: float, value: Any) -> float:
    """Return the trust down to which a value is shown."""
    for _ in range(_HALVINGS):
        middle = (above * below) ** 0.5
        if _same(looker.at(middle), value):
            above = middle
        else:
            below = middle
    return above


def _same(one: Any, other: Any) -> bool:
    missing = bool(pd.isna(one)), bool(pd.isna(other))
    return missing == (True, True) or (missing == (False, False) and one == other)
