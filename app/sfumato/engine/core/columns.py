"""What is known about each column: its role, kind and domain, and how it leaves."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from enum import StrEnum
from functools import cached_property

import numpy as np
import pandas as pd

from sfumato.engine.core.errors import DomainError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import (
    Codes,
    Flags,
    Floats,
    Value,
    canonical,
    check_types,
    factorize,
    number_text,
    plain,
    smallest_unsigned,
    sort_key,
)
from sfumato.engine.core.wording import MISSING_LABEL, Sentence

__all__ = [
    "MISSING_LABEL",
    "Binning",
    "Codes",
    "Coding",
    "ColumnSpec",
    "Domain",
    "Kind",
    "MissingRule",
    "Pseudonym",
    "Role",
    "Value",
    "find_column",
    "names_of",
    "smallest_unsigned",
]


@dataclass(frozen=True)
class Coding:
    """How a column of numbers is coarsened and stays one of numbers.

    Numbers are rounded first, halves up; those beyond an end are then shown as the end.

    Parameters
    ----------
    bottom, top
        What it shows means "this or less" and "this or more"; None leaves the extremes as they
        are.
    step
        Numbers are rounded to multiples of it; None leaves them exact.

    Raises
    ------
    DomainError
        If a number is not finite, the ends don't increase, or the step is not above 0.
    """

    bottom: float | None = None
    top: float | None = None
    step: float | None = None

    def __post_init__(self) -> None:
        stated = [number for number in (self.bottom, self.top, self.step) if number is not None]
        if not all(math.isfinite(number) for number in stated):
            raise DomainError(
                "A number to round or to cut off by is not finite.", "Give a finite number."
            )
        if self.step is not None and self.step <= 0.0:
            raise DomainError(
                "Numbers can't be rounded to {step:g}.", "Give a step above 0.", step=self.step
            )
        if self.bottom is not None and self.top is not None and self.bottom >= self.top:
            raise DomainError(
                "The lowest number shown, {bottom:g}, is not below the highest, {top:g}.",
                "Lower the one or raise the other.",
                bottom=self.bottom,
                top=self.top,
            )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What it means for whoever reads the column, a sentence for each setting."""
        said: list[str] = []
        if self.step is not None:
            said.append(Sentence("rounded to {step}", step=number_text(self.step)))
        if self.bottom is not None:
            said.append(
                Sentence("{number} means {number} or less", number=number_text(self.bottom))
            )
        if self.top is not None:
            said.append(Sentence("{number} means {number} or more", number=number_text(self.top)))
        return tuple(said)

    def apply(self, column: pd.Series) -> pd.Series:
        """Return the column as it leaves; what is missing stays missing.

        Raises
        ------
        DomainError
            If the column is not numeric.
        """
        dtype = column.dtype
        if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
            raise DomainError(
                "Column {column} is not numeric, so it can't be rounded or cut off.",
                "Choose the kind 'numeric', or take its rounding and its ends away.",
                column=column.name,
            )
        stated = [number for number in (self.bottom, self.top, self.step) if number is not None]
        if pd.api.types.is_integer_dtype(dtype) and all(map(float.is_integer, map(float, stated))):
            return self._of_whole_numbers(column)
        numbers: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if self.step is not None:
            numbers = np.floor(numbers / self.step + 0.5) * self.step
            # Multiples without the dust of binary fractions: 3·0.1 is 0.3.
            exponent = Decimal(repr(self.step)).as_tuple().exponent
            numbers = np.round(numbers, max(0, -int(exponent)))
        shown = np.clip(numbers, self.bottom, self.top) if self._has_ends else numbers
        return pd.Series(shown, index=column.index, name=column.name)

    @property
    def _has_ends(self) -> bool:
        return self.bottom is not None or self.top is not None

    def _of_whole_numbers(self, column: pd.Series) -> pd.Series:
        """Return whole numbers as they leave, exact however large they are."""
        own_type = isinstance(column.dtype, pd.api.extensions.ExtensionDtype)
        shown = column.astype("Int64" if own_type else np.int64)
        if self.step is not None:
            step = int(self.step)
            shown = (shown + step // 2) // step * step
        if self._has_ends:
            bottom, top = (None if end is None else int(end) for end in (self.bottom, self.top))
            shown = shown.clip(lower=bottom, upper=top)
        return shown


def beyond(column: pd.Series, coding: Coding) -> int:
    """Return how many numbers of a column lie beyond the ends."""
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    low = 0 if coding.bottom is None else int((numbers < coding.bottom).sum())
    high = 0 if coding.top is None else int((numbers > coding.top).sum())
    return low + high


class Role(StrEnum):
    """What a column is for in a release."""

    IDENTIFYING = "identifying"
    """Names a person by itself, or is not to leave: dropped, or shown as a pseudonym."""
    QUASI_IDENTIFIER = "quasi-identifier"
    """Public or knowable: together with others it can single a person out."""
    SENSITIVE = "sensitive"
    """What nobody may learn about a person: perturbed by the policy."""
    INSENSITIVE = "insensitive"
    """Neither: released as it is."""
    WEIGHT = "weight"
    """How many of the population a record stands for: released, and used in risks."""


class Kind(StrEnum):
    """How a column's values are read."""

    CATEGORICAL = "categorical"
    NUMERIC = "numeric"
    DATE = "date"
    TEXT = "text"


class MissingRule(StrEnum):
    """What a missing value of a sensitive attribute means."""

    VALUE = "value"
    """Missing is a value of the domain like any other."""
    REFUSED = "refused"
    """A missing value stops the release."""


@dataclass(frozen=True)
class Domain:
    """The fixed, ordered list of values an attribute can take.

    Values that do not occur in the table may be in it; what is not in it is refused.

    Parameters
    ----------
    values
        The values, each once, all of one type; ``None`` stands for a missing value.
    labels
        A text for a value, where the file or the custodian gave one.

    Raises
    ------
    DomainError
        If the domain is empty, mixes texts with numbers, holds a number that is not finite,
        or a value stands in it twice.
    """

    values: tuple[Value, ...]
    labels: Mapping[Value, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.values:
            raise DomainError("The domain is empty.", "Add at least two values.")
        check_types(self.values)
        seen: dict[Value, int] = {}
        for position, value in enumerate(self.values):
            if value in seen:
                raise DomainError(
                    "Entries {first} and {second} of the domain are the same value.",
                    "Remove one of them.",
                    first=seen[value] + 1,
                    second=position + 1,
                )
            seen[value] = position

    @property
    def size(self) -> int:
        """The number of values, m."""
        return len(self.values)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """How each value is shown: its label, or itself as text."""
        return tuple(
            self.labels.get(value, MISSING_LABEL if value is None else str(value))
            for value in self.values
        )

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the values in their order (labels do not count).

        A whole number counts the same however it is stored: a column that gains a missing value
        may turn from integers to floats, and must stay the same attribute.
        """
        listed = [canonical(value) for value in self.values]
        return hashlib.sha256(json.dumps(listed).encode()).hexdigest()

    @property
    def allows_missing(self) -> bool:
        """Whether a missing value is a value of this domain."""
        return None in self.values

    def encode(self, column: pd.Series, context_name: str = "") -> Codes:
        """Turn a column into codes.

        Parameters
        ----------
        column
            The values, shape (n,).
        context_name
            The column's name, for messages.

        Returns
        -------
        numpy.ndarray
            Codes, shape (n,), in the smallest unsigned type.

        Raises
        ------
        DomainError
            If a row holds a missing value that is refused, or a value outside the domain.
            The message names the row and never the value.
        """
        name = context_name or str(column.name)
        positions, uniques = factorize(column)
        known: dict[Value, int] = {value: code for code, value in enumerate(self.values)}
        found = [known.get(plain(value), -1) for value in uniques]
        lookup = np.array([*found, -1], dtype=np.int64)
        missing = positions < 0
        if missing.any():
            if not self.allows_missing:
                raise DomainError(
                    "Column {column} is missing in {count} {count:row|rows}, first in row {row},"
                    " and its domain has no missing value.",
                    "Let missing be a value of its own, or correct these rows in the source table.",
                    column=name,
                    count=int(missing.sum()),
                    row=int(missing.argmax()) + 1,
                )
            # Position -1 is the last entry of the lookup.
            lookup[-1] = self.values.index(None)
        if (lookup[:-1] < 0).any():
            _refuse_outside(lookup[positions] < 0, name)
        return lookup.astype(smallest_unsigned(self.size))[positions]

    def decode(self, codes: Codes, name: str) -> pd.Series:
        """Turn codes back into values, as a categorical series called `name`."""
        kept = [value for value in self.values if value is not None]
        positions = np.full(self.size, -1, dtype=np.int32)
        positions[[i for i, value in enumerate(self.values) if value is not None]] = range(
            len(kept)
        )
        dtype = pd.CategoricalDtype(pd.Index(kept))
        return pd.Series(pd.Categorical.from_codes(positions[codes], dtype=dtype), name=name)

    @classmethod
    def of_column(
        cls,
        column: pd.Series,
        missing: MissingRule = MissingRule.VALUE,
        labels: Mapping[Value, str] | None = None,
    ) -> Domain:
        """Propose the values that occur, sorted, with those that have a label."""
        occurring = [plain(value) for value in pd.Series(column.unique()).dropna()]
        known = dict(labels or {})
        values: list[Value] = sorted({*occurring, *known}, key=sort_key)
        if missing is MissingRule.VALUE and bool(column.isna().any()):
            values.append(None)
        return cls(tuple(values), known)


def _refuse_outside(outside: Flags, name: str) -> None:
    """Name the first row with a value outside the domain, where there is one."""
    if outside.any():
        raise DomainError(
            "Column {column} has values outside its domain in {count} {count:row|rows}, first in"
            " row {row}.",
            "Add the values to the domain, or correct these rows in the source table.",
            column=name,
            count=int(outside.sum()),
            row=int(outside.argmax()) + 1,
        )


@dataclass(frozen=True)
class Binning:
    """Half-open intervals that turn a numeric column into categories.

    Parameters
    ----------
    edges
        At least three increasing edges. A value v falls into bin i when
        ``edges[i] <= v < edges[i + 1]``; the last bin includes its upper edge.
    labels
        The categories' names, one fewer than the edges; made from the edges when empty.

    Raises
    ------
    DomainError
        If the edges do not increase, or the labels do not fit them.
    """

    edges: tuple[float, ...]
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.edges) < 3:
            raise DomainError("A binning needs at least two bins.", "Give three edges or more.")
        if not np.all(np.isfinite(self.edges)):
            raise DomainError("An edge of the binning is not a number.", "Give finite edges.")
        if not all(low < high for low, high in itertools.pairwise(self.edges)):
            raise DomainError("The edges of the binning don't increase.", "Sort the edges.")
        if self.labels and len(self.labels) != len(self.edges) - 1:
            raise DomainError(
                "The binning has {bins} {bins:bin|bins} but {labels} {labels:label|labels}.",
                "Give one label for each bin.",
                bins=len(self.edges) - 1,
                labels=len(self.labels),
            )
        if len(set(self.names)) != len(self.names):
            raise DomainError("Two bins have the same label.", "Give each bin a label of its own.")

    @property
    def names(self) -> tuple[str, ...]:
        """The bins' names."""
        if self.labels:
            return self.labels
        pairs = list(itertools.pairwise(self.edges))
        return tuple(
            f"[{number_text(low)}, {number_text(high)}{']' if i == len(pairs) - 1 else ')'}"
            for i, (low, high) in enumerate(pairs)
        )

    def apply(self, column: pd.Series) -> pd.Series:
        """Return the column as ordered categories.

        Raises
        ------
        DomainError
            If the column is not numeric, or a value lies outside the outermost edges.
        """
        if not pd.api.types.is_numeric_dtype(column.dtype):
            raise DomainError(
                "Column {column} is not numeric, so it can't be binned.",
                "Choose the kind 'categorical' without bins.",
                column=column.name,
            )
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        missing = np.isnan(numbers)
        codes = np.searchsorted(self.edges, numbers, side="right") - 1
        codes[numbers == self.edges[-1]] = len(self.edges) - 2
        outside = ~missing & ((codes < 0) | (codes > len(self.edges) - 2))
        if outside.any():
            raise DomainError(
                "Column {column} has numbers outside the bins in {count} {count:row|rows}, first"
                " in row {row}.",
                "Widen the first or the last bin.",
                column=column.name,
                count=int(outside.sum()),
                row=int(outside.argmax()) + 1,
            )
        codes[missing] = -1
        dtype = pd.CategoricalDtype(list(self.names), ordered=True)
        return pd.Series(
            pd.Categorical.from_codes(codes, dtype=dtype), name=column.name, index=column.index
        )


@dataclass(frozen=True)
class Pseudonym:
    """That an identifying column leaves as a keyed pseudonym, and who sees the same one.

    Parameters
    ----------
    shared_by
        The recipients who see the same pseudonyms; None for all. All others see their own.
    """

    shared_by: tuple[str, ...] | None = ()


@dataclass(frozen=True)
class ColumnSpec:
    """What the custodian has said about one column.

    Parameters
    ----------
    name
        The column's name in the table.
    role, kind
        See `Role` and `Kind`.
    domain
        The values it can take, for a categorical sensitive attribute.
    binning
        Bins for a numeric column that is treated as categorical.
    missing
        Whether missing is a value of its own or refused.
    from_rows
        Whether the domain or the bins were proposed from the rows and nobody has confirmed them:
        then somebody has each value, and recipients can tell.
    coding
        How numbers that leave unperturbed are rounded and cut off at their ends; None leaves them
        as they are. Bins count in its place.
    pseudonym
        Whether the column leaves as a pseudonym where it is identifying; None drops it then.
    """

    name: str
    role: Role = Role.INSENSITIVE
    kind: Kind = Kind.CATEGORICAL
    domain: Domain | None = None
    binning: Binning | None = None
    missing: MissingRule = MissingRule.VALUE
    from_rows: bool = False
    coding: Coding | None = None
    pseudonym: Pseudonym | None = None

    @property
    def as_pseudonym(self) -> Pseudonym | None:
        """Who sees which pseudonym in the column's place; None where it leaves otherwise or not."""
        return self.pseudonym if self.role is Role.IDENTIFYING else None

    @property
    def is_dropped(self) -> bool:
        """Whether it is in no release."""
        return self.role is Role.IDENTIFYING and self.pseudonym is None

    @property
    def coded(self) -> Coding | None:
        """How the column is coded where it leaves unperturbed and without bins."""
        applies = self.kind is Kind.NUMERIC and self.binning is None
        return self.coding if applies and self.role is not Role.SENSITIVE else None

    def shown(self, column: pd.Series) -> pd.Series:
        """Return a column as it leaves where it is not perturbed: binned, coded, or as it is.

        Raises
        ------
        DomainError
            If a row does not fit the bins, or the column is not numeric.
        """
        if self.binning is not None:
            return self.binning.apply(column)
        return column if self.coded is None else self.coded.apply(column)

    @property
    def tells_rows(self) -> bool:
        """Whether the list of values or the bins that recipients are told follow from the rows."""
        return self.from_rows and (self.domain is not None or self.binning is not None)


def find_column(columns: Sequence[ColumnSpec], name: str) -> ColumnSpec:
    """Return the column called `name`; raise `KeyError` where there is none."""
    for column in columns:
        if column.name == name:
            return column
    raise KeyError(name)


def names_of(columns: Iterable[ColumnSpec], role: Role) -> tuple[str, ...]:
    """Return the names of the columns with `role`, in the table's order."""
    return tuple(column.name for column in columns if column.role is role)


# ----- how a column leaves for a recipient: the one answer of board, report and README


class Leaves(StrEnum):
    """How a column leaves for a recipient."""

    EXACT = "exact"
    COARSENED = "coarsened"
    RANDOMISED = "randomised"
    LEFT_OUT = "left out"
    PSEUDONYM = "pseudonym"
    UNDECIDED = "undecided"
    """Nothing protects the sensitive column yet, or the recipient has no level for it."""

    @property
    def word(self) -> Sentence:
        """What it is called in reports and bundles."""
        words = {
            Leaves.EXACT: Sentence("exact"),
            Leaves.COARSENED: Sentence("coarsened"),
            Leaves.RANDOMISED: Sentence("randomised"),
            Leaves.PSEUDONYM: Sentence("pseudonym"),
            Leaves.LEFT_OUT: Sentence("left out"),
            Leaves.UNDECIDED: Sentence("undecided"),
        }
        return words[self]


def leaves_unperturbed(spec: ColumnSpec, level: int = 0, height: int = 0) -> Leaves:
    """Return how a column leaves that no mechanism perturbs and that is not dropped.

    Parameters
    ----------
    spec
        What is decided about it.
    level, height
        The level at which its view shows it, and the highest one, where every row shows "*";
        0 without a hierarchy.
    """
    if height and level == height:
        return Leaves.LEFT_OUT
    coarser = level > 0 or spec.binning is not None or spec.coded is not None
    return Leaves.COARSENED if coarser else Leaves.EXACT
