"""The table as the search sees it: whole numbers, and what each level makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.errors import DiversityError, LatticeSizeError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Floats, Indices, Integers
from sfumato.engine.core.wording import about_number
from sfumato.engine.generalization.hierarchies import TOP, Hierarchy
from sfumato.engine.generalization.lattice import Lattice, Node
from sfumato.engine.table.repeated_units import UnitRows, Units, unit_rows
from sfumato.engine.table.table import Table

IntArray = Indices

LARGEST_LATTICE: Final = 20_000_000
"""More nodes than this are not searched: their verdicts alone would fill the memory."""

SUPPRESSED: Final = "*"
"""What stands for a public value that is not shown."""

_LARGEST_KEY: Final = 1 << 62


@dataclass(frozen=True)
class QuasiIdentifier:
    """One quasi-identifier: its rows, and its levels.

    Parameters
    ----------
    name
        The column's name.
    codes
        Each row's ground code, shape (n,).
    levels
        For each level, from 0 on, the generalized code of every ground code, each of shape
        (number of ground codes,). Codes of a level are 0, 1, … without gaps.
    labels
        For each level, the text of every generalized code; needed only to publish.

    Raises
    ------
    DiversityError
        If there is no level, a code has no generalization, or two values that share a group
        are apart again at a higher level.
    """

    name: str
    codes: npt.NDArray[np.integer] = field(repr=False)
    levels: tuple[IntArray, ...] = field(repr=False)
    labels: tuple[tuple[str, ...], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(np.asarray(each, np.intp) for each in self.levels))
        if not self.levels:
            raise DiversityError(
                "Quasi-identifier {column} has no levels.",
                "Give it a hierarchy under Attributes.",
                column=self.name,
            )
        if len(self.codes) and int(self.codes.max()) >= len(self.levels[0]):
            raise DiversityError(
                "The hierarchy of {column} does not cover the value in row {row}.",
                "Add the value to the hierarchy.",
                column=self.name,
                row=int(np.argmax(np.asarray(self.codes) >= len(self.levels[0]))) + 1,
            )
        for level in range(1, len(self.levels)):
            self._check_nested(level)

    def _check_nested(self, level: int) -> None:
        """Refuse a level that parts what the level below it has joined."""
        joined, general = self.levels[level - 1], self.levels[level]
        first = np.zeros(int(joined.max()) + 1, dtype=np.intp)
        first[joined] = general
        if not np.array_equal(first[joined], general):
            raise DiversityError(
                "In the hierarchy of {column} level {level} parts values that level {below} joins.",
                "Correct the hierarchy: values that share a group share all groups above it.",
                column=self.name,
                level=level,
                below=level - 1,
            )

    @property
    def height(self) -> int:
        """The highest level."""
        return len(self.levels) - 1

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many codes each level has."""
        return tuple(int(level.max()) + 1 for level in self.levels)

    @cached_property
    def label_numbers(self) -> tuple[IntArray, ...]:
        """For each level and ground value, the number of what is shown; "*" is 0 on every level.

        Labels that are alike have one number; each of shape (number of ground codes,).
        """
        found = []
        for level, labels in zip(self.levels, self.labels, strict=True):
            numbers = {TOP: 0}
            of_label = [numbers.setdefault(label, len(numbers)) for label in labels]
            found.append(np.array(of_label, dtype=np.intp)[level])
        return tuple(found)

    def with_one_group_on_top(self) -> QuasiIdentifier:
        """Return the quasi-identifier with a highest level at which all values are alike.

        This is the quasi-identifier being dropped.
        """
        if self.sizes[-1] == 1:
            return self
        everything = np.zeros(len(self.levels[0]), dtype=np.intp)
        labels = (*self.labels, (TOP,)) if self.labels else ()
        return replace(self, levels=(*self.levels, everything), labels=labels)

    @cached_property
    def could_be(self) -> tuple[Floats, ...]:
        """For each level and ground value, the share of the other values that it could also be.

        Iyengar's loss of a cell (KDD 2002), each of shape (number of ground codes,).
        """
        others = max(len(self.levels[0]) - 1, 1)
        return tuple((np.bincount(level)[level] - 1) / others for level in self.levels)


@dataclass(frozen=True)
class CodedTable:
    """Quasi-identifiers and the sensitive attribute of n records, as codes.

    Records that are alike may be one of its T rows.

    Parameters
    ----------
    quasi_identifiers
        At least one.
    sensitive
        Each row's sensitive code, shape (T,).
    values
        What each sensitive code stands for, in the domain's order; m of them.
    units
        Whose the records are that each row stands for; None where they stand alone.
    weights
        How many records each row stands for, shape (T,); None for one each.

    Raises
    ------
    DiversityError
        If there is no quasi-identifier or no row, columns differ in length, or there are more
        nodes than can be searched.
    """

    quasi_identifiers: tuple[QuasiIdentifier, ...]
    sensitive: npt.NDArray[np.integer] = field(repr=False)
    values: tuple[str, ...] = field(repr=False)
    units: Units = field(default=None, repr=False)
    weights: Integers | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.quasi_identifiers:
            raise DiversityError(
                "The table has no quasi-identifier.",
                "Mark at least one column as quasi-identifier under Attributes.",
            )
        if not len(self.sensitive):
            raise DiversityError("The table has no rows.", "Choose a file with records.")
        for quasi in self.quasi_identifiers:
            if len(quasi.codes) != len(self.sensitive):
                raise DiversityError(
                    "Column {column} has {rows} {rows:row|rows}, and the sensitive attribute"
                    " {others}.",
                    "Read both from the same table.",
                    column=quasi.name,
                    rows=len(quasi.codes),
                    others=len(self.sensitive),
                )
        check_size(self.lattice)

    @property
    def rows(self) -> int:
        """The number of records, n."""
        return len(self.sensitive) if self.weights is None else int(self.weights.sum())

    @cached_property
    def records(self) -> Integers:
        """How many records each row stands for, shape (T,)."""
        ones = np.ones(len(self.sensitive), dtype=np.int64)
        return ones if self.weights is None else self.weights

    @cached_property
    def unit_rows(self) -> UnitRows | None:
        """Whose the records are that each row stands for; None where they stand alone."""
        return unit_rows(self.units)

    @property
    def size(self) -> int:
        """The number of values in the sensitive attribute's domain, m."""
        return len(self.values)

    @property
    def names(self) -> tuple[str, ...]:
        """The quasi-identifiers' names."""
        return tuple(quasi.name for quasi in self.quasi_identifiers)

    @property
    def lattice(self) -> Lattice:
        """Every choice of levels."""
        return Lattice(tuple(quasi.height for quasi in self.quasi_identifiers))

    @cached_property
    def counts(self) -> Integers:
        """How often each sensitive value occurs, shape (m,)."""
        return summed(self.sensitive, self.weights, self.size)

    def only(self, names: Sequence[str]) -> CodedTable:
        """Return the table with some of its quasi-identifiers, in the order of `names`."""
        by_name = {quasi.name: quasi for quasi in self.quasi_identifiers}
        return replace(self, quasi_identifiers=tuple(by_name[name] for name in names))

    def class_codes(self, node: Node) -> tuple[IntArray, int]:
        """Return each row's equivalence class at a node, and how many there are.

        Classes are numbered by their first row.
        """
        return class_codes(self.quasi_identifiers, node)


def summed(codes: npt.NDArray[np.integer], records: Integers | None, number: int) -> Integers:
    """Return how many records have each of so many codes; None for one record each."""
    if records is None:
        return np.bincount(codes, minlength=number)
    # Sums of whole numbers are exact in floats as long as a table can be.
    return np.bincount(codes, weights=records, minlength=number).astype(np.int64)


FEWER: Final = "Use fewer quasi-identifiers, or fewer levels in their hierarchies."


def check_size(lattice: Lattice, remedy: str = FEWER, most: int = LARGEST_LATTICE) -> None:
    """Refuse a lattice of more nodes than are searched, saying what to do."""
    if lattice.size > most:
        raise LatticeSizeError(
            "Together, the levels of {count} quasi-identifiers make too many combinations: {nodes},"
            " and at most {limit:,} can be searched.",
            remedy,
            count=len(lattice.top),
            nodes=about_number(lattice.size),
            limit=most,
        )


def class_codes(quasi_identifiers: Sequence[QuasiIdentifier], node: Node) -> tuple[IntArray, int]:
    """Return each row's equivalence class at a node, and how many there are.

    Classes are numbered by their first row.
    """
    key, _ = keys_at(quasi_identifiers, node, [quasi.codes for quasi in quasi_identifiers])
    codes, found = pd.factorize(key)
    return codes, len(found)


def codes_at(
    quasi_identifiers: Sequence[QuasiIdentifier],
    node: Node,
    codes: Sequence[npt.NDArray[np.integer]],
) -> Iterator[IntArray]:
    """Yield what a node makes of rows' ground codes, one column for each quasi-identifier."""
    for quasi, level, ground in zip(quasi_identifiers, node, codes, strict=True):
        yield quasi.levels[level].take(ground)


def keys_at(
    quasi_identifiers: Sequence[QuasiIdentifier],
    node: Node,
    codes: Sequence[npt.NDArray[np.integer]],
    *further: tuple[IntArray, int],
) -> tuple[IntArray, int]:
    """Return one whole number for each class of rows at a node, and a bound they stay below.

    `further` columns of codes, each with its size, tell rows apart as well.
    """
    columns = codes_at(quasi_identifiers, node, codes)
    sizes = [quasi.sizes[level] for quasi, level in zip(quasi_identifiers, node, strict=True)]
    return mixed_radix(
        chain(columns, (own for own, _ in further)), [*sizes, *(size for _, size in further)]
    )


def mixed_radix(columns: Iterable[IntArray], sizes: Sequence[int]) -> tuple[IntArray, int]:
    """Return one whole number for each distinct row of `columns`, and a bound they stay below.

    There is at least one; each is needed only once. Numbers that would overflow are numbered afresh
    on the way.
    """
    key, radix = None, 1
    for column, size in zip(columns, sizes, strict=True):
        if key is None:
            key = np.zeros(len(column), dtype=np.intp)
        if radix > _LARGEST_KEY // size:
            key, found = pd.factorize(key)
            radix = len(found)
        key = key * size
        key += column
        radix *= size
    assert key is not None
    return key, radix


def quasi_identifier(hierarchy: Hierarchy, table: Table) -> QuasiIdentifier:
    """Return one quasi-identifier of a table, encoded by its hierarchy."""
    levels = range(hierarchy.height)
    return QuasiIdentifier(
        hierarchy.column,
        hierarchy.encode(table.column(hierarchy.column)),
        tuple(hierarchy.codes(level).astype(np.intp) for level in levels),
        tuple(hierarchy.names(level) for level in levels),
    )


def generalized_column(
    quasi: QuasiIdentifier, level: int, kept: Flags, index: pd.Index
) -> pd.Series:
    """Return a quasi-identifier's labels at a level, "*" where not kept, shape (n,)."""
    codes = shown_codes(quasi, quasi.codes, level, kept)
    return labelled(quasi, level, codes, np.flatnonzero(np.bincount(codes)), index)


def shown_codes(
    quasi: QuasiIdentifier, ground: npt.NDArray[np.integer], level: int, kept: Flags
) -> IntArray:
    """Return the generalized codes of ground codes; the number of labels where not kept."""
    return np.where(kept, quasi.levels[level][ground], len(quasi.labels[level]))


def labelled(
    quasi: QuasiIdentifier, level: int, codes: IntArray, present: IntArray, index: pd.Index
) -> pd.Series:
    """Return labels by `shown_codes` as a categorical column; labels that are alike become one.

    `present` are the codes that occur in the table, of which the column may be a part.
    """
    labels = [*quasi.labels[level], SUPPRESSED]
    shown = [labels[code] for code in present]
    names = {label: number for number, label in enumerate(dict.fromkeys(shown))}
    positions = np.zeros(len(labels), dtype=np.intp)
    positions[present] = [names[label] for label in shown]
    dtype = pd.CategoricalDtype(list(names))
    categories = pd.Categorical.from_codes(positions[codes], dtype=dtype)
    return pd.Series(categories, index=index)
