"""The tables that other holders published about the same people.

Cheong, Wu and Wong, "Non-Centralized Distinct L-Diversity", 2012. What a person's published values
say in one table is the set S_E of sensitive values in their equivalence class E. Somebody who
holds several tables knows that the value lies in the intersection of one set from each. Which
class of one table goes with which class of another nobody can tell in general, so every
combination counts (section 5.2, table 8); this errs on the side of privacy, since some of them may
belong to nobody.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.values import Value, factorize, plain
from sfumato.engine.generalization.bitsets import (
    SetArray,
    cardinality,
    from_flags,
    inclusion_minimal,
    intersections,
)
from sfumato.engine.generalization.coded import IntArray, mixed_radix

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
    counts: npt.NDArray[np.int64] = field(repr=False)

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
            "The table of {holder} has {classes:,} classes, too many to compare.",
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
            "Column {column} in the table of {holder} shows {count} values, first in row {row},"
            " that our sensitive attribute can't take.",
            "Say which of our values each of them is, or add them to our domain.",
            column=other.sensitive,
            holder=other.holder,
            count=len(np.unique(positions[strange])),
            row=int(strange.argmax()) + 1,
        )
    return codes
