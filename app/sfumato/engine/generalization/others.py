"""The tables that other holders published about the same people.

Cheong, Wu and Wong, "Non-Centralized Distinct L-Diversity", 2012. What a person's published values
say in one table is the set S_E of sensitive values in their equivalence class E. Somebody who
holds several tables knows that the value lies in the intersection of one set from each. Which
class of one table goes with which class of another nobody can tell in general, so every
combination counts (section 5.2, table 8); this errs on the side of privacy, since some of them may
belong to nobody.

`standing_of` says which combinations of classes narrow a value too far, and whose table is the
cause.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import islice
from typing import Final

import numpy as np
import pandas as pd

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Indices, Integers, Value, factorize, plain
from sfumato.engine.generalization.coded import IntArray, mixed_radix
from sfumato.engine.generalization.criteria import (
    SetArray,
    cardinality,
    from_flags,
    inclusion_minimal,
    intersections,
    members,
    smallest_intersections,
)

LARGEST_MINIMAL: Final = 200_000
"""More minimal sets than this are refused: every test would look at all of them."""

LARGEST_COUNTS: Final = 200_000_000
"""Frequencies of sensitive values in classes that are held at once."""


@dataclass(frozen=True)
class OtherTable:
    """A table that another holder has published.

    Parameters
    ----------
    holder
        Who published it; tells the tables apart.
    frame
        The published table.
    quasi_identifiers
        Its public columns, by which a person can be found in it. Its own, with its own labels.
    sensitive
        The column with the attribute that all tables share.
    spelling
        For a sensitive value that is spelled differently there, how it is spelled here.
    """

    holder: str
    frame: pd.DataFrame = field(repr=False)
    quasi_identifiers: tuple[str, ...]
    sensitive: str
    spelling: Mapping[Value, Value] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class HolderClasses:
    """The equivalence classes of another holder's table.

    Parameters
    ----------
    holder
        Who published it.
    quasi_identifiers
        The names of its public columns.
    labels
        What each class shows in these columns, C rows.
    counts
        Frequencies of the sensitive values in each class, shape (C, m), in the order of our
        sensitive attribute's domain.
    """

    holder: str
    quasi_identifiers: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...] = field(repr=False)
    counts: Integers = field(repr=False)

    @property
    def classes(self) -> int:
        """The number of equivalence classes, C."""
        return len(self.labels)

    @cached_property
    def sets(self) -> SetArray:
        """The sensitive values of each class, shape (C, words)."""
        return from_flags(self.counts > 0)

    @property
    def diversity(self) -> int:
        """The fewest distinct values of a class: the l this table keeps by itself."""
        return int(cardinality(self.sets).min())

    def describe(self, number: int) -> str:
        """Return what a class shows, as "age = 40-49, sex = *"."""
        pairs = zip(self.quasi_identifiers, self.labels[number], strict=True)
        return ", ".join(f"{name} = {label}" for name, label in pairs) or "everybody"


def holder_classes(other: OtherTable, values: Sequence[Value]) -> HolderClasses:
    """Read the equivalence classes of another holder's table.

    Parameters
    ----------
    other
        The published table.
    values
        The domain of our sensitive attribute, in its order; None for missing.

    Raises
    ------
    DiversityError
        If it has no rows, lacks a column or the sensitive attribute, or shows a sensitive value
        that is not one of ours, however spelled.
    """
    if len(other.frame) == 0:
        raise DiversityError(
            "The table of {holder} has no rows.",
            "Choose the file that was published.",
            holder=other.holder,
        )
    for name in other.quasi_identifiers:
        _column(other, name)
    sensitive = _sensitive_codes(other, values)
    columns: list[IntArray] = []
    texts: list[list[str]] = []
    for name in other.quasi_identifiers:
        positions, uniques = factorize(_column(other, name))
        columns.append(np.where(positions < 0, len(uniques), positions).astype(np.intp))
        texts.append([*map(str, uniques), "(missing)"])
    of_row = np.zeros(len(other.frame), dtype=np.intp)
    found = 1
    if columns:
        key, _ = mixed_radix(columns, [len(text) for text in texts])
        of_row, uniques_of_key = pd.factorize(key)
        found = len(uniques_of_key)
    size = len(values)
    if found * size > LARGEST_COUNTS:
        raise DiversityError(
            "The table of {holder} has {classes:,} {classes:class|classes}, too many to compare.",
            "Choose its public columns: a record number or another key must not be among them.",
            holder=other.holder,
            classes=found,
        )
    first = np.empty(found, dtype=np.intp)
    first[of_row[::-1]] = np.arange(len(of_row))[::-1]
    counts = np.bincount(of_row * size + sensitive, minlength=found * size).reshape(found, size)
    labels = tuple(
        tuple(text[column[row]] for text, column in zip(texts, columns, strict=True))
        for row in first
    )
    return HolderClasses(other.holder, other.quasi_identifiers, labels, counts)


def unknown_values(other: OtherTable, values: Sequence[Value]) -> list[Value]:
    """Return the sensitive values of another holder's table that are not ours, to be mapped."""
    _, uniques = factorize(_column(other, other.sensitive))
    known = {*values, *other.spelling}
    return [plain(value) for value in uniques if plain(value) not in known]


def propose_spelling(other: OtherTable, values: Sequence[Value]) -> dict[Value, Value]:
    """Return which of our values a holder's unknown ones are but for case, blanks and type.

    Where two of ours differ in no more than that, neither is meant for certain.
    """
    ours: dict[str, list[Value]] = {}
    for value in values:
        ours.setdefault(str(value).strip().casefold(), []).append(value)
    texts = {value: str(value).strip().casefold() for value in unknown_values(other, values)}
    found = {value: ours.get(text, []) for value, text in texts.items()}
    return {value: meant[0] for value, meant in found.items() if len(meant) == 1}


def minimal_sets(holders: Sequence[HolderClasses], size: int) -> SetArray:
    """Return the inclusion-minimal intersections of one set from each holder's table.

    Parameters
    ----------
    holders
        The other holders' tables; with none, the result is the set of all values.
    size
        The number of values in the sensitive attribute's domain, m.

    Returns
    -------
    numpy.ndarray
        Shape (r, words). A set of ours keeps l values in every combination exactly if it keeps
        them in these. Earlier minimal sets are joined with the next table's minimal sets only,
        so that no table of all combinations is ever made.

    Raises
    ------
    DiversityError
        If there are more minimal sets than can be tested.
    """
    found = from_flags(np.ones((1, size), dtype=np.bool_))
    for holder in holders:
        own = inclusion_minimal(holder.sets)
        if math.prod((len(own), len(found))) > LARGEST_MINIMAL * 100:
            _refuse_many(holder.holder)
        found = inclusion_minimal(intersections(found, own))
        if len(found) > LARGEST_MINIMAL:
            _refuse_many(holder.holder)
    return found


def _refuse_many(holder: str) -> None:
    raise DiversityError(
        "With the table of {holder} there are more than {limit:,} sets to keep apart.",
        "Leave a table out, or check that its sensitive column is the right one.",
        holder=holder,
        limit=LARGEST_MINIMAL,
    )


def _column(other: OtherTable, name: str) -> pd.Series:
    """Return a column of another holder's table."""
    if name not in other.frame.columns:
        raise DiversityError(
            "The table of {holder} has no column {column}.",
            "Choose one of its columns, or another file.",
            holder=other.holder,
            column=name,
        )
    return other.frame[name]


def _sensitive_codes(other: OtherTable, values: Sequence[Value]) -> IntArray:
    """Return the code that each row's sensitive value has in our domain."""
    positions, uniques = factorize(_column(other, other.sensitive))
    ours = {value: code for code, value in enumerate(values)}
    spelling = {**propose_spelling(other, values), **other.spelling}
    known = [ours.get(spelling.get(plain(v), plain(v)), -1) for v in uniques]
    missing = ours.get(spelling.get(None), -1)
    codes: IntArray = np.array([*known, missing], dtype=np.intp)[positions]
    strange = codes < 0
    if strange.any():
        raise DiversityError(
            "Column {column} in the table of {holder} shows {count} {count:value|values}, first in"
            " row {row}, that our sensitive attribute can't take.",
            "Say which of our values each of them is, or add them to our domain.",
            column=other.sensitive,
            holder=other.holder,
            count=len(np.unique(positions[strange])),
            row=int(strange.argmax()) + 1,
        )
    return codes


@dataclass(frozen=True)
class Breach:
    """Classes, one of each table, that share fewer than l sensitive values.

    Parameters
    ----------
    classes
        The number of the class in each table; of classes with the same values, the first.
    remaining
        The values they share, as codes of our domain.
    combinations
        How many combinations of classes show the same sets.
    needed
        The holders without whose table l values would remain.
    """

    classes: tuple[int, ...]
    remaining: tuple[int, ...] = field(repr=False)
    combinations: int
    needed: tuple[str, ...]


@dataclass(frozen=True)
class HolderStanding:
    """What one table contributes.

    Parameters
    ----------
    holder
        Whose it is.
    classes
        How many equivalence classes it has.
    diversity
        The fewest values of a class: the l it keeps by itself.
    without
        The fewest values that all the other tables leave without it.
    is_cause
        Whether leaving it out is enough to keep l values.
    """

    holder: str
    classes: int
    diversity: int
    without: int
    is_cause: bool


@dataclass(frozen=True)
class RemainingValues:
    """What several published tables leave of everybody's value.

    Parameters
    ----------
    l
        The values that should remain.
    weakest
        The fewest values that a combination leaves: the greatest l that holds. A table that is
        published beside these can't keep more, however general it is.
    holders
        What each table contributes.
    """

    l: int  # noqa: E741
    weakest: int
    holders: tuple[HolderStanding, ...]

    @property
    def holds(self) -> bool:
        """Whether every combination keeps l values."""
        return self.weakest >= self.l


def standing_of(holders: Sequence[HolderClasses], l: int, size: int) -> RemainingValues:  # noqa: E741
    """Return what several published tables leave of everybody's value.

    Parameters
    ----------
    holders
        The tables, ours among them where it is to be judged as well.
    l
        The values that should remain.
    size
        The number of values in our domain, m.
    """
    weakest = weakest_of(holders, size)
    standings = []
    for number, holder in enumerate(holders):
        without = weakest_of([*holders[:number], *holders[number + 1 :]], size)
        cause = weakest < l <= without
        standings.append(
            HolderStanding(holder.holder, holder.classes, holder.diversity, without, cause)
        )
    return RemainingValues(l, weakest, tuple(standings))


def weakest_of(holders: Sequence[HolderClasses], size: int) -> int:
    """Return the fewest values that any combination of classes leaves; m without a table."""
    return int(cardinality(minimal_sets(holders, size)).min())


def breaches(
    holders: Sequence[HolderClasses],
    l: int,  # noqa: E741
    size: int,
    limit: int = 1000,
) -> list[Breach]:
    """Return combinations that break l, those that leave fewest values first.

    Parameters
    ----------
    holders
        The tables.
    l
        The values that should remain.
    size
        The number of values in our domain, m.
    limit
        How many are listed at most. A combination is followed only while some way to complete it
        breaks l, so that none are listed in vain.
    """
    once = [_by_set(holder) for holder in holders]
    rests = [minimal_sets(holders[number:], size) for number in range(1, len(holders) + 1)]
    everything = from_flags(np.ones((1, size), dtype=np.bool_))[0]
    found = []
    for chosen in islice(_breaking(once, rests, l, everything), limit):
        sets = [once[table].sets[number] for table, number in enumerate(chosen)]
        shared = np.bitwise_and.reduce([everything, *sets])
        needed = tuple(
            holder.holder
            for table, holder in enumerate(holders)
            if cardinality(np.bitwise_and.reduce([everything, *sets[:table], *sets[table + 1 :]]))
            >= l
        )
        found.append(
            Breach(
                tuple(int(once[t].first[number]) for t, number in enumerate(chosen)),
                members(shared, size),
                math.prod(int(once[t].classes[number]) for t, number in enumerate(chosen)),
                needed,
            )
        )
    return sorted(found, key=lambda breach: (len(breach.remaining), breach.classes))


@dataclass(frozen=True)
class _BySet:
    """A table's classes, those with the same values as one."""

    sets: SetArray
    first: Indices
    classes: Indices


def _by_set(holder: HolderClasses) -> _BySet:
    sets, first, classes = np.unique(holder.sets, axis=0, return_index=True, return_counts=True)
    return _BySet(sets, first, classes)


def _breaking(
    once: Sequence[_BySet],
    rests: Sequence[SetArray],
    l: int,  # noqa: E741
    shared: SetArray,
) -> Iterator[tuple[int, ...]]:
    """Yield the combinations of sets that leave fewer than l values of those shared so far."""
    if not once:
        yield ()
        return
    narrowed = once[0].sets & shared
    hopeless = smallest_intersections(narrowed, rests[0]) >= l
    for number in np.flatnonzero(~hopeless):
        for rest in _breaking(once[1:], rests[1:], l, narrowed[number]):
            yield (int(number), *rest)
