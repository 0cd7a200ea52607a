"""A hierarchy as it is used: a label for every value at every level.

At its bottom stand the column's own values, in their natural order.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import MISSING_LABEL, ColumnSpec
from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Value, factorize, number_text, plain, type_of

_NUMBER: Final = re.compile(r"(\d+)")


def value_text(value: Value) -> str:
    """Return a value as hierarchy tables write it; an empty text where it is missing.

    A whole number is written without a point however it is stored, because a column of whole
    numbers turns to decimals as soon as one of them is missing.
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return number_text(value)
    return str(value)


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return what texts are ordered by so that "9" comes before "10" and "5-9" before "10-14"."""
    return tuple(
        (0, int(part), "") if part.isdecimal() else (1, 0, part.casefold())
        for part in _NUMBER.split(text)
        if part
    )


def in_order(values: Iterable[Value]) -> tuple[Value, ...]:
    """Return values in their natural order: numbers by size, texts naturally, missing last."""
    listed = list(values)
    numbers = sorted(v for v in listed if isinstance(v, int | float))
    texts = sorted((v for v in listed if isinstance(v, str)), key=lambda v: (natural_key(v), v))
    return (*numbers, *texts, *((None,) if None in listed else ()))


def ground_series(spec: ColumnSpec, series: pd.Series) -> pd.Series:
    """Return a column as its hierarchy sees it: as it leaves, in bins, rounded, or as it is.

    What is rounded or cut off for everybody is coarsened from there.

    Raises
    ------
    DomainError
        If the bins don't fit the column, or it has no numbers to be rounded.
    """
    return spec.shown(series)


def ground_values(spec: ColumnSpec, series: pd.Series) -> tuple[Value, ...]:
    """Return the distinct values that a hierarchy of a column has to cover, in order.

    Parameters
    ----------
    spec
        The column's specification: its bins, its rounding, and its domain's values count too.
    series
        The column, shape (n,).

    Returns
    -------
    tuple
        The values, with None last where the column has missing values.

    Raises
    ------
    HierarchyError
        If the column mixes texts with numbers.
    DomainError
        If the bins don't fit the column.
    """
    if spec.binning is not None:
        found: dict[Value, None] = dict.fromkeys(spec.binning.names)
        if bool(series.isna().any()):
            found[None] = None
        return tuple(found)
    seen = ground_series(spec, pd.Series(series.unique(), name=spec.name))
    found = dict.fromkeys(plain(value) for value in seen.dropna())
    if spec.domain is not None:
        found.update(dict.fromkeys(value for value in spec.domain.values if value is not None))
    refuse_mixed(spec.name, tuple(found))
    missing: tuple[Value, ...] = (None,) if bool(series.isna().any()) else ()
    return (*in_order(found), *missing)


def refuse_mixed(column: str, values: Sequence[Value]) -> None:
    """Refuse values of two types, which could share a text: the number 1 and the text "1"."""
    if len({type_of(value) for value in values if value is not None}) > 1:
        raise HierarchyError(
            "Column {column} mixes values of two types, so no hierarchy can order them.",
            "Read the column as text when the file is opened.",
            column=column,
        )


Label = str | None
"""A class's name; None for the class of the missing values alone."""

Levels = tuple[tuple[Label, ...], ...]
"""Labels by level and value."""

GroundCodes = npt.NDArray[np.int32]
"""Positions in a list of values or classes."""


@dataclass(frozen=True)
class Split:
    """A class whose values fall into different classes one level up.

    Parameters
    ----------
    level
        The class's level.
    label
        Its name.
    parents
        The different names one level up.
    values
        How many values are in the class.
    """

    level: int
    label: Label = field(repr=False)
    parents: tuple[Label, ...] = field(repr=False)
    values: int


@dataclass(frozen=True)
class Hierarchy:
    """A generalization hierarchy of one column, over all its values.

    Parameters
    ----------
    column
        The column's name.
    values
        The ground values, each once, shape (m,); None stands for a missing value.
    labels
        The name of each value's class at each level, height x m. Level 0 is the value itself;
        the last level usually has one class, "*". None names the class of missing values.

    Raises
    ------
    HierarchyError
        If there are no values or levels, a level has another number of labels, a value that is
        not missing has an empty label, or the levels are no tree: two values that share a class
        must share one at every higher level.
    """

    column: str
    values: tuple[Value, ...] = field(repr=False)
    labels: Levels = field(repr=False)

    def __post_init__(self) -> None:
        self._check_shape()
        for level, (lower, upper) in enumerate(zip(self._codes, self._codes[1:], strict=False)):
            torn = _torn(lower, upper)
            if torn.any():
                raise HierarchyError(
                    "The hierarchy of column {column} is not a tree: {classes}"
                    " {classes:class|classes} of level {level}, with {count} {count:value|values},"
                    " {classes:falls|fall} into different classes at level {upper}.",
                    "Give all values of a class the same label at every higher level.",
                    column=self.column,
                    classes=int(torn.sum()),
                    level=level,
                    count=int(torn[lower].sum()),
                    upper=level + 1,
                )

    def _check_shape(self) -> None:
        if not self.values or not self.labels:
            raise HierarchyError(
                "The hierarchy of column {column} has no values.",
                "Choose a column with values, or a table with at least one row.",
                column=self.column,
            )
        if len(set(self.values)) != len(self.values):
            raise HierarchyError(
                "The hierarchy of column {column} holds a value twice.",
                "Keep one row for each value.",
                column=self.column,
            )
        for level, labels in enumerate(self.labels):
            if len(labels) != len(self.values):
                raise HierarchyError(
                    "Level {level} of the hierarchy of column {column} has {labels}"
                    " {labels:label|labels} for {values} {values:value|values}.",
                    "Give each value one label at each level.",
                    level=level,
                    column=self.column,
                    labels=len(labels),
                    values=len(self.values),
                )
            empty = sum(
                1
                for value, label in zip(self.values, labels, strict=True)
                if value is not None and not label and level > 0
            )
            if empty:
                raise HierarchyError(
                    "Level {level} of the hierarchy of column {column} has no label for {count}"
                    " {count:value|values}.",
                    "Give each value a label at each level, or '*' to hide it.",
                    level=level,
                    column=self.column,
                    count=empty,
                )

    @property
    def size(self) -> int:
        """The number of ground values, m."""
        return len(self.values)

    @property
    def height(self) -> int:
        """The number of levels, the values themselves included."""
        return len(self.labels)

    def codes(self, level: int) -> GroundCodes:
        """Return the class of each ground value at a level, shape (m,), values 0 .. classes - 1.

        Classes are numbered as they first come up among the values. Level 0 is 0 .. m - 1.
        """
        return self._codes[level]

    def names(self, level: int) -> tuple[str, ...]:
        """Return the classes' names at a level, by class code; a missing value as "(missing)"."""
        return self._names[level]

    def classes(self, level: int) -> int:
        """Return the number of classes at a level."""
        return len(self._classes[level])

    def parents(self, level: int) -> GroundCodes:
        """Return each class's class one level up, shape (classes of `level`,)."""
        found = np.zeros(self.classes(level), dtype=np.int32)
        found[self._codes[level]] = self._codes[level + 1]
        return found

    def encode(self, column: pd.Series) -> GroundCodes:
        """Turn a column into positions in `values`.

        Parameters
        ----------
        column
            The rows, shape (n,).

        Returns
        -------
        numpy.ndarray
            Ground codes, shape (n,).

        Raises
        ------
        HierarchyError
            If a row holds a value, or a missing value, that the hierarchy does not cover. The
            message names the first such row and never the value.
        """
        positions, uniques = factorize(column)
        known = self._known
        found = [known.get(plain(value), -1) for value in uniques]
        # A missing value has position -1, which is the last entry of the lookup.
        lookup = np.array([*found, known.get(None, -1)], dtype=np.int32)
        codes: GroundCodes = lookup[positions]
        outside = codes < 0
        if outside.any():
            raise HierarchyError(
                "The hierarchy of column {column} does not cover {count} {count:row|rows}, first"
                " row {row}.",
                "Add these values to the hierarchy, or correct the rows in the source table.",
                column=self.column,
                count=int(outside.sum()),
                row=int(outside.argmax()) + 1,
            )
        return codes

    def generalize(self, column: pd.Series, level: int) -> pd.Series:
        """Return a column at a level: itself at level 0, else its classes' names.

        The class of missing values alone stays missing.

        Raises
        ------
        HierarchyError
            As `encode`.
        """
        codes = self.encode(column)
        if level == 0:
            return column
        classes = self._classes[level]
        kept = [name for name in classes if name is not None]
        renumbered = np.full(len(classes), -1, dtype=np.int32)
        renumbered[[code for code, name in enumerate(classes) if name is not None]] = range(
            len(kept)
        )
        dtype = pd.CategoricalDtype(pd.Index(kept, dtype=str))
        return pd.Series(
            pd.Categorical.from_codes(renumbered[self._codes[level]][codes], dtype=dtype),
            name=column.name,
            index=column.index,
        )

    @cached_property
    def _known(self) -> dict[Value, int]:
        return {value: code for code, value in enumerate(self.values)}

    @cached_property
    def _coded(self) -> tuple[tuple[GroundCodes, tuple[Label, ...]], ...]:
        ground = (np.arange(len(self.values), dtype=np.int32), self.labels[0])
        return (ground, *(_code(labels) for labels in self.labels[1:]))

    @cached_property
    def _names(self) -> tuple[tuple[str, ...], ...]:
        return tuple(
            tuple(MISSING_LABEL if name is None else name for name in classes)
            for classes in self._classes
        )

    @property
    def _codes(self) -> tuple[GroundCodes, ...]:
        return tuple(codes for codes, _ in self._coded)

    @property
    def _classes(self) -> tuple[tuple[Label, ...], ...]:
        return tuple(classes for _, classes in self._coded)


def find_splits(labels: Sequence[Sequence[Label]]) -> tuple[Split, ...]:
    """Return the classes that keep a table of labels from being a tree.

    Parameters
    ----------
    labels
        Labels by level and value, height x m. Equal labels at level 0 are one class.

    Returns
    -------
    tuple of Split
        By level; empty where the table is a tree.
    """
    coded = [_code(level) for level in labels]
    found = []
    for level, ((lower, names), (upper, _)) in enumerate(itertools.pairwise(coded)):
        for code in np.flatnonzero(_torn(lower, upper)).tolist():
            members = np.flatnonzero(lower == code).tolist()
            parents = tuple(dict.fromkeys(labels[level + 1][member] for member in members))
            found.append(Split(level, names[code], parents, len(members)))
    return tuple(found)


def _code(labels: Sequence[Label]) -> tuple[GroundCodes, tuple[Label, ...]]:
    """Return each label's position among the distinct labels, and these."""
    known: dict[Label, int] = {}
    codes = np.fromiter(
        (known.setdefault(label, len(known)) for label in labels), dtype=np.int32, count=len(labels)
    )
    return codes, tuple(known)


def _torn(lower: GroundCodes, upper: GroundCodes) -> Flags:
    """Return for each class whether its values fall into different classes one level up."""
    classes = int(lower.max(initial=-1)) + 1
    parent = np.zeros(classes, dtype=np.int32)
    parent[lower] = upper
    torn = np.zeros(classes, dtype=np.bool_)
    torn[lower[parent[lower] != upper]] = True
    return torn
