"""The table about individuals, and what a mechanism is given of it.

Where rows are drawn from whole groups of records, a group's rows need not be side by side, nor in
memory with the rest of the table: once a group was drawn from, a word of its own tells of each row
what it shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any, Final, Protocol, cast

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Codes, ColumnSpec, Domain, Kind, MissingRule, Role, Value
from sfumato.engine.core.errors import DomainError, PolicyError, SfumatoError, TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.periods import Period
from sfumato.engine.core.values import Flags, Floats, Indices, Integers, Words, count_codes
from sfumato.engine.table.micro_groups import GroupCounts, MicroGroups

Range = tuple[Value, Value]
"""The lowest and the highest of codes that a file declares missing."""


@dataclass(frozen=True)
class MissingReasons:
    """Why values of one column are missing.

    Parameters
    ----------
    codes
        By what each reason is called, its code in the file: a number or a text that the file
        declares missing, or a letter of its own.
    labels
        The texts that the file gives the codes.
    ranges
        The codes declared missing; none where they are letters.
    counts
        How many records each reason stands in, most frequent first.
    companion
        The column that says why; empty where that was left out.
    """

    codes: Mapping[str, Value] = field(repr=False)
    labels: Mapping[Value, str] = field(repr=False)
    ranges: tuple[Range, ...] = field(default=(), repr=False)
    counts: Mapping[str, int] = field(default_factory=dict, repr=False)
    companion: str = ""

    @property
    def by_letters(self) -> bool:
        """Whether the codes are letters beside the values, as in Stata and SAS."""
        return not self.ranges


def companions(known: Mapping[str, MissingReasons]) -> dict[str, str]:
    """Return the column whose missing values each column of reasons explains."""
    return {each.companion: name for name, each in known.items() if each.companion}


Members = Integers


@dataclass(frozen=True)
class GroupRows:
    """Rows of groups that are drawn from as a whole.

    Parameters
    ----------
    members
        Each row's group, shape (n,).
    codes, shown
        Its true code, and the one it would show if it were perturbed by itself, shape (n,).
    words
        What it is lined up and dealt to by, shape (4, n).
    """

    members: Members
    codes: Codes = field(repr=False)
    shown: Codes = field(repr=False)
    words: Words = field(repr=False)


@dataclass(frozen=True)
class GroupAssignment:
    """What rows of groups that were drawn from show, by a word of each row.

    Of a group's pieces, a row shows the last that begins at its word or below.

    Parameters
    ----------
    members
        Each piece's group, ascending, shape (K,).
    begins
        From which word on it reaches, ascending in each group, shape (K,).
    codes
        What is shown there, shape (K,).
    """

    members: Members = field(repr=False)
    begins: Words = field(repr=False)
    codes: Codes = field(repr=False)

    @classmethod
    def of(cls, members: Members, words: Words, codes: Codes) -> GroupAssignment:
        """Return what rows show, whose groups, words and codes stand in order, shape (n,) each."""
        kept = np.ones(len(members), dtype=np.bool_)
        kept[1:] = (members[1:] != members[:-1]) | (codes[1:] != codes[:-1])
        return cls(members[kept], words[kept], codes[kept])

    @classmethod
    def joined(cls, parts: Sequence[GroupAssignment]) -> GroupAssignment:
        """Return what was dealt out in several parts, of other groups each; there may be none."""
        if not parts:
            none = np.zeros(0, dtype=np.int64)
            return cls(none, none.astype(np.uint64), none.astype(np.uint8))
        members = np.concatenate([each.members for each in parts])
        order = np.argsort(members, kind="stable")
        begins = np.concatenate([each.begins for each in parts])
        codes = np.concatenate([each.codes for each in parts])
        return cls(members[order], begins[order], codes[order])

    def shown_to(self, members: Members, words: Words) -> Codes:
        """Return what rows of these groups show, by their words, shape (n,)."""
        low = np.searchsorted(self.members, members)
        high = np.searchsorted(self.members, members, side="right")
        for _ in range(int((high - low).max(initial=1) - 1).bit_length()):
            middle = (low + high) // 2
            reached = (high - low > 1) & (self.begins[middle % len(self.begins)] <= words)
            low, high = np.where(reached, middle, low), np.where(reached, high, middle)
            high = np.maximum(high, low + 1)
        return self.codes[low]


@dataclass(frozen=True, eq=False)
class Table:
    """A table about individuals, as it was read.

    Parameters
    ----------
    frame
        One row a record, with a plain positional index. Never changed once it is here.
    value_labels
        For a column, the texts that a statistical file gives its codes.
    column_labels
        For a column, the sentence that a statistical file describes it by.
    is_part
        Whether these are some rows of a table, of which there may be none.
    missing_reasons
        For a column, why values are missing, where a statistical file tells it.
    periods
        For a column of coarse dates, times or durations, what its values stand for.

    Raises
    ------
    TableError
        If the table has no rows or columns, or two columns share a name.
    """

    # The values are the secret: no report or log may show them by accident.
    frame: pd.DataFrame = field(repr=False)
    value_labels: Mapping[str, Mapping[Value, str]] = field(default_factory=dict, repr=False)
    column_labels: Mapping[str, str] = field(default_factory=dict)
    is_part: bool = False
    missing_reasons: Mapping[str, MissingReasons] = field(default_factory=dict, repr=False)
    periods: Mapping[str, Period] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.frame.shape[1] == 0:
            raise TableError("The table has no columns.", "Check the delimiter and the header.")
        if self.frame.shape[0] == 0 and not self.is_part:
            raise TableError("The table has no rows.", "Choose a file with at least one record.")
        duplicated = self.frame.columns[self.frame.columns.duplicated()]
        if len(duplicated):
            raise TableError(
                "Two columns are called {column}.",
                "Rename one of them in the source file.",
                column=str(duplicated[0]),
            )

    @property
    def rows(self) -> int:
        """The number of records, n."""
        return len(self.frame)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(map(str, self.frame.columns.tolist()))

    def column(self, name: str) -> pd.Series:
        """Return one column.

        Raises
        ------
        TableError
            If the table has no such column.
        """
        if name not in self.frame.columns:
            raise no_column(name)
        return self.frame[name]


def no_column(name: str) -> TableError:
    """Return what is said of a table that lacks a column."""
    return TableError(
        "The table has no column {column}.",
        "Choose a table with this column, or change the attributes.",
        column=name,
    )


Rows = slice | Flags | Indices
"""Some rows of a column, or all of them in another order."""


class HierarchyClasses(Protocol):
    """A hierarchy's recipe, as far as mechanisms ask it."""

    def classes(self, column: str, values: Sequence[Value]) -> tuple[tuple[str, ...], ...]:
        """Return what each value's class is called at the levels 1 and up."""


@dataclass(frozen=True)
class FullTableRange:
    """What is known of all rows of a column of numbers of which only some rows are at hand.

    Parameters
    ----------
    present
        How many records have a number.
    lowest, highest
        The least and the greatest of them.
    """

    present: int
    lowest: float = field(repr=False)
    highest: float = field(repr=False)


@dataclass(frozen=True)
class MeasuredUnit:
    """Whose rows were measured together for statistics that recipients are told.

    Parameters
    ----------
    columns
        The columns that name the unit.
    rows
        At most so many of the measured rows belong to one unit: what one row's statistics cost,
        all rows of a unit cost so many times (group privacy; Dwork and Roth 2014, theorem 2.2).
    """

    columns: tuple[str, ...]
    rows: int

    def to_setting(self) -> dict[str, Any]:
        """Return it as a mechanism's setting."""
        return {"columns": list(self.columns), "rows": self.rows}

    @classmethod
    def in_settings(cls, settings: Mapping[str, Any]) -> MeasuredUnit | None:
        """Return it from a mechanism's settings; None where rows were measured each by itself.

        Raises
        ------
        PolicyError
            If the setting is none.
        """
        stated = settings.get(MEASURED_UNIT)
        if stated is None:
            return None
        columns = stated.get("columns") if isinstance(stated, Mapping) else None
        rows = stated.get("rows") if isinstance(stated, Mapping) else None
        named = isinstance(columns, list | tuple) and all(isinstance(one, str) for one in columns)
        if not named or not columns or type(rows) is not int or rows < 1:
            raise PolicyError(
                "The setting {name} doesn't say whose rows were measured, and how many at most.",
                "Measure again.",
                name=MEASURED_UNIT,
            )
        return cls(tuple(columns), rows)


MEASURED_UNIT: Final = "measured_unit"
"""The setting that holds a `MeasuredUnit`."""


def spent_by_unit(epsilon: float, settings: Mapping[str, Any]) -> float:
    """Return what statistics of a loss of ε0 for each row cost the unit they were measured for."""
    unit = MeasuredUnit.in_settings(settings)
    return epsilon if unit is None else epsilon * unit.rows


@dataclass(frozen=True)
class MeasuredRows:
    """The rows of a table that statistics are measured in, where rows belong to units.

    Parameters
    ----------
    unit
        The unit, and how many of these rows belong to one at most.
    attribute
        What is known of an attribute in these rows alone, which are chosen by their places and
        never by their values: the same ones for each attribute.
    """

    unit: MeasuredUnit
    attribute: Attribute = field(repr=False, compare=False)


@dataclass(frozen=True)
class Attribute:
    """What a mechanism knows about an attribute, beside the rows.

    Parameters
    ----------
    name, kind
        As in the column's specification.
    domain
        The values of a categorical attribute; None for a numeric one.
    counts
        How often each value of the domain occurs, shape (m,); None for a numeric attribute.
    numbers
        The values of a numeric attribute in the table's order, shape (n,), not a number where
        missing; None for a categorical one. What a table decides once and for all, such as the
        covariance of several attributes, is computed from them.
    """

    name: str
    kind: Kind
    domain: Domain | None = None
    counts: Integers | None = None
    numbers: Floats | None = field(default=None, repr=False, compare=False)
    hierarchy: HierarchyClasses | None = field(default=None, repr=False, compare=False)
    """The column's hierarchy, where it has one; known where settings are stated."""
    groups: GroupCounts | None = field(default=None, repr=False, compare=False)
    """Its values in each group of records alike in public, where the mechanism asks for them."""
    codes: Codes | None = field(default=None, repr=False, compare=False)
    """Each row's value of a categorical attribute, shape (n,), from which the combinations of
    several attributes are counted; None where only the counts are known."""
    counted: Indices | None = field(default=None, repr=False, compare=False)
    """The rows that `counts` are of, one of each unit, where the attribute is drawn once for a
    unit; None for all rows."""
    units: MeasuredRows | None = field(default=None, repr=False, compare=False)
    """The rows that statistics are measured in where rows belong to units; None where each stands
    alone."""
    beyond: FullTableRange | None = field(default=None, repr=False, compare=False)
    """What all rows tell where `numbers` are those of some, drawn evenly; None where of all."""
    combinations: dict[tuple[int, ...], tuple[tuple[Attribute, ...], Attribute]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """What `sfumato.engine.table.combinations.combined` has made of it, kept with its partners."""

    @property
    def frequencies(self) -> Floats:
        """The share of each value, shape (m,), summing to 1."""
        if self.counts is None:
            raise TypeError(f"{self.name} is not categorical")
        return self.counts / self.counts.sum()

    @property
    def present(self) -> int:
        """How many records have a number; 0 for a categorical attribute."""
        if self.numbers is None or self.beyond is not None:
            return 0 if self.beyond is None else self.beyond.present
        return int(np.isfinite(self.numbers).sum())

    @cached_property
    def reach(self) -> float:
        """How many standard deviations a numeric attribute's range is; infinite where unknown.

        The standard deviation is that of at most some 100,000 rows: a figure to choose by.
        """
        numbers = np.empty(0) if self.numbers is None else self.numbers
        some = numbers[:: 1 + len(numbers) // 100_000]
        some = some[np.isfinite(some)]
        spread = float(some.std()) if len(some) else 0.0
        if not spread:
            return np.inf
        if self.beyond is not None:
            return (self.beyond.highest - self.beyond.lowest) / spread
        return float(np.fmax.reduce(numbers) - np.fmin.reduce(numbers)) / spread

    def at_rows(self, rows: Indices | None) -> Attribute:
        """Return what is known of some rows alone; of all with None."""
        if rows is None or self.domain is None:
            numbers = self.numbers if rows is None or self.numbers is None else self.numbers[rows]
            return self if rows is None else replace(self, numbers=numbers)
        if self.codes is None:
            return self
        codes = self.codes[rows]
        return replace(self, codes=codes, counts=count_codes(codes, self.domain.size), counted=None)


Attributes = Sequence[Attribute]
"""The attributes of a policy entry, in its order."""


def measured_rows(attributes: Attributes) -> tuple[Attributes, MeasuredUnit | None]:
    """Return attributes as statistics are measured of them, and for which unit.

    At most so many rows of a unit are among them as the unit says.
    """
    known = [each.units for each in attributes if each.units is not None]
    if len(known) < len(attributes):
        return attributes, None
    unit = max((each.unit for each in known), key=lambda each: each.rows)
    return tuple(each.attribute for each in known), unit


@dataclass(frozen=True)
class EncodedColumn:
    """An attribute with its rows: codes for a categorical one, numbers for a numeric one."""

    attribute: Attribute
    values: Codes | Floats
    groups: MicroGroups | None = field(default=None, repr=False, compare=False)
    """The rows' groups of records alike in public, where the mechanism asks for them."""
    dealt: GroupAssignment | None = field(default=None, repr=False, compare=False)
    """What was dealt to the rows of whole groups, where these rows are a part of a table."""

    def at(self, rows: Rows) -> EncodedColumn:
        """Return some of the rows, or all in another order.

        Groups go with all of them only, unless it is known what was dealt to each row.
        """
        values, groups, dealt = self.values[rows], self.groups, self.dealt
        if groups is not None:
            known = len(values) == len(self.values) or dealt is not None
            groups = replace(groups, codes=groups.codes[rows]) if known else None
        return EncodedColumn(self.attribute, values, groups, dealt)

    def grouped(self, groups: MicroGroups) -> EncodedColumn:
        """Return the column with its rows' groups; one of numbers stays as it is."""
        domain = self.attribute.domain
        if domain is None:
            return self
        codes = cast(Codes, self.values)
        counts = GroupCounts.of(groups, codes, domain.size)
        return EncodedColumn(replace(self.attribute, groups=counts), codes, groups)


def encode_column(table: Table, spec: ColumnSpec) -> EncodedColumn:
    """Encode one column by its specification.

    A numeric column without bins is returned as numbers; every other column as codes of its
    domain, which is proposed from the values that occur where the specification has none.

    Raises
    ------
    DomainError
        If a row does not fit the domain or the bins, or a column that is to stay numbers has
        none or, being sensitive, holds an infinity.
    """
    series = table.column(spec.name)
    if spec.kind is Kind.NUMERIC and spec.binning is None:
        numbers = _numbers_of(series, spec)
        return EncodedColumn(Attribute(spec.name, spec.kind, numbers=numbers), numbers)
    if spec.binning is not None:
        series = spec.binning.apply(series)
    domain = spec.domain or proposed_domain(table, spec)
    codes = domain.encode(series, spec.name)
    counts = count_codes(codes, domain.size)
    attribute = Attribute(spec.name, Kind.CATEGORICAL, domain, counts, codes=codes)
    return EncodedColumn(attribute, codes)


def encode_attribute(table: Table, spec: ColumnSpec) -> EncodedColumn:
    """Encode one sensitive attribute.

    Raises
    ------
    TableError
        If the table has no such column.
    DomainError
        If a row does not fit the domain or the bins, or is missing where that is refused.
    """
    series = table.column(spec.name)
    if spec.missing is MissingRule.REFUSED:
        missing = series.isna().to_numpy()
        if missing.any():
            raise DomainError(
                "Column {column} is missing in {count} {count:row|rows}, first in row {row}.",
                "Let missing be a value of its own, or correct these rows in the source table.",
                column=spec.name,
                count=int(missing.sum()),
                row=int(missing.argmax()) + 1,
            )
    return encode_column(table, spec)


def _numbers_of(series: pd.Series, spec: ColumnSpec) -> Floats:
    """Return a numeric column's values, not a number where missing."""
    dtype = series.dtype
    if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        raise DomainError(
            "Column {column} does not hold numbers.",
            "Read it as categories under Attributes, or as numbers when the file is opened.",
            column=spec.name,
        )
    numbers: Floats = series.to_numpy(dtype=np.float64, na_value=np.nan)
    if spec.role is Role.SENSITIVE:
        refuse_infinite(numbers, spec.name, DomainError)
    return numbers


def refuse_infinite(numbers: Floats, name: str, error: type[SfumatoError]) -> None:
    """Raise an error where a column holds infinite numbers."""
    infinite = np.isinf(numbers)
    if infinite.any():
        raise error(
            "Column {column} holds infinite numbers in {count} {count:row|rows}, first in row"
            " {row}.",
            "Correct these rows in the source table, or empty them, which makes them missing.",
            column=name,
            count=int(infinite.sum()),
            row=int(infinite.argmax()) + 1,
        )


def with_proposed_domain(table: Table, spec: ColumnSpec, known: Domain | None = None) -> ColumnSpec:
    """Return a column whose domain is what the rows suggest, marked as such.

    A list of values that came with the file (the value labels of a statistical file) says what
    could occur; so do stated bins, but for whether a value may be missing. `known` is what the
    rows suggest where that was looked up already.
    """
    domain = known or proposed_domain(table, spec)
    labels = table.value_labels.get(spec.name, {})
    if spec.binning is not None:
        from_rows = spec.from_rows or spec.missing is MissingRule.VALUE
    else:
        from_rows = domain.allows_missing or not set(domain.values) <= set(labels)
    return replace(spec, domain=domain, from_rows=from_rows)


def proposed_domain(table: Table, spec: ColumnSpec) -> Domain:
    """Return the domain that the rows themselves suggest for a column."""
    series = table.column(spec.name)
    if spec.binning is not None:
        values: tuple[Value, ...] = spec.binning.names
        if bool(series.isna().any()) and spec.missing == "value":
            values = (*values, None)
        return Domain(values)
    return Domain.of_column(series, spec.missing, table.value_labels.get(spec.name))
