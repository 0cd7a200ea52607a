"""Which combinations of values a table of counts has, and how many rows are in each."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.engine.core.columns import MISSING_LABEL, ColumnSpec, Domain, Role
from sfumato.engine.core.errors import DomainError, PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.ladders.counts import (
    MOST_ROWS,
    Counts,
)
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import no_column
from sfumato.project.document.model import Document, Unit, canonical_json, to_plain
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.bucket_counts import series_of
from sfumato.project.release.units import units_in

MOST_COLUMNS: Final = 4
MOST_CELLS: Final = 1_000_000
_UNKNOWN: Final = -1


@dataclass(frozen=True)
class CountTable:
    """The cells of a table of counts, in canonical order: columns by name, values by their text.

    Parameters
    ----------
    specs
        Its columns, sorted by name; each has a domain or bins.
    unit
        Whose rows belong together; None where each record stands for itself.
    """

    specs: tuple[ColumnSpec, ...]
    unit: Unit | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names, sorted."""
        return tuple(spec.name for spec in self.specs)

    @cached_property
    def domains(self) -> tuple[Domain, ...]:
        """Each column's values in canonical order."""
        return tuple(_canonical(_domain_of(spec)) for spec in self.specs)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each column has."""
        return tuple(domain.size for domain in self.domains)

    @property
    def cells(self) -> int:
        """How many combinations there are."""
        return math.prod(self.shape)

    @property
    def most_rows(self) -> int:
        """K, how many rows one unit may have."""
        return 1 if self.unit is None else self.unit.most_rows

    @property
    def canonical(self) -> str:
        """What tells the table from others: columns, codings, and whose rows belong together."""
        columns = [
            [spec.name, to_plain(spec.binning), to_plain(domain.values)]
            for spec, domain in zip(self.specs, self.domains, strict=True)
        ]
        unit = None if self.unit is None else [sorted(self.unit.columns), self.unit.most_rows]
        return canonical_json({"columns": columns, "unit": unit})

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical form, in hexadecimal."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    def labels(self) -> tuple[tuple[str, ...], ...]:
        """What each column's values are called."""
        return tuple(_names(domain) for domain in self.domains)


def count_table(document: Document, names: Sequence[str]) -> CountTable:
    """Return the table of counts of some columns.

    Raises
    ------
    TableError
        If there is no such column.
    PolicyError
        If there are no columns or too many, one is named twice, names people, has no domain that
        was stated, or there are too many cells.
    """
    if not 1 <= len(names) <= MOST_COLUMNS:
        raise PolicyError(
            "A table of counts has {count} {count:column|columns}.",
            "Name one to {most} {most:column|columns}.",
            count=len(names),
            most=MOST_COLUMNS,
        )
    if len(set(names)) < len(names):
        raise PolicyError("A column is named twice.", "Name each column once.")
    known = {spec.name: spec for spec in document.columns}
    for name in names:
        if name not in known:
            raise no_column(name)
    specs = tuple(_checked(known[name]) for name in sorted(names))
    table = CountTable(specs, document.unit)
    if table.most_rows > MOST_ROWS:
        raise PolicyError(
            "At most {rows:,} {rows:row|rows} of a unit are released, which is too many for a"
            " table of counts.",
            "State at most {most:,} {most:row|rows} of a unit.",
            rows=table.most_rows,
            most=MOST_ROWS,
        )
    if table.cells > MOST_CELLS:
        raise PolicyError(
            "These columns have {cells:,} {cells:combination|combinations} of values; a table of"
            " counts has at most {most:,}.",
            "Leave a column out, or state fewer values or bins.",
            cells=table.cells,
            most=MOST_CELLS,
        )
    return table


def countable(document: Document) -> tuple[ColumnSpec, ...]:
    """Return the columns that a table can be counted by, in the document's order."""
    found = []
    for spec in document.columns:
        with suppress(PolicyError):
            found.append(_checked(spec))
    return tuple(found)


def sizes_of(specs: Iterable[ColumnSpec]) -> tuple[int, ...]:
    """Return how many values each of some countable columns has."""
    return tuple(_domain_of(spec).size for spec in specs)


def _checked(spec: ColumnSpec) -> ColumnSpec:
    if spec.role is Role.IDENTIFYING:
        raise PolicyError(
            "{column} is identifying, so it can't be counted by.",
            "Choose a column of another role.",
            column=spec.name,
        )
    if (spec.domain is None and spec.binning is None) or spec.from_rows:
        raise PolicyError(
            "Column {column} has no stated values: a table of counts has every combination of"
            " values that could occur, whether or not one does.",
            "State its values or bins under Attributes, or by a rules file.",
            column=spec.name,
        )
    return spec


def _domain_of(spec: ColumnSpec) -> Domain:
    if spec.domain is not None:
        return spec.domain
    assert spec.binning is not None
    return Domain(spec.binning.names)


def _canonical(domain: Domain) -> Domain:
    values = sorted(domain.values, key=lambda value: canonical_json(to_plain(value)))
    return Domain(tuple(values), domain.labels)


def _names(domain: Domain) -> tuple[str, ...]:
    names = domain.names
    if len(set(names)) == len(names):
        return names
    return tuple(MISSING_LABEL if value is None else str(value) for value in domain.values)


def exact_counts(table: CountTable, rows: BatchedTable, keys: KeyRing, context: Context) -> Counts:
    """Return how many rows are in each cell, shape (cells,), in canonical order.

    Raises
    ------
    TableError
        If the table lacks a column.
    DomainError
        If a value is outside its column's domain.
    PolicyError
        If a unit has more rows than are stated for it.
    """
    every = rows.whole
    if table.unit is not None:
        _check_units(table.unit, every, keys, Part(context, 0.0, 0.5))
        context = Part(context, 0.5, 1.0)
    counts = np.zeros(table.cells, dtype=np.int64)
    codes = [_Codes(spec, domain) for spec, domain in zip(table.specs, table.domains, strict=True)]
    for batch in every.every_row(table.columns, "Counting", context):
        first, *others = codes
        cells = first.of(batch[first.name])
        for column in others:
            cells *= column.size
            cells += column.of(batch[column.name])
        counts += np.bincount(cells, minlength=table.cells)
    return counts


class _Codes:
    """The places of one column's values in its domain; each is looked up once a dictionary."""

    def __init__(self, spec: ColumnSpec, domain: Domain) -> None:
        self.name, self.size = spec.name, domain.size
        self._spec, self._domain = spec, domain
        self._dictionary: pa.Array | None = None
        self._places = np.zeros(0, dtype=np.int32)

    def of(self, values: pa.Array) -> npt.NDArray[np.int32]:
        """Return the place of each value, shape (n,)."""
        coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        known, indices = len(coded.dictionary), coded.indices
        if indices.null_count:
            indices = indices.cast(pa.int32()).fill_null(known)
        each = indices.to_numpy(zero_copy_only=False)
        if self._dictionary is None or not self._dictionary.equals(coded.dictionary):
            self._dictionary = coded.dictionary
            self._places = np.full(known + 1, _UNKNOWN, dtype=np.int32)
        found: npt.NDArray[np.int32] = np.take(self._places, each)
        if found.min(initial=0) == _UNKNOWN:
            self._look_up(each, known)
            found = np.take(self._places, each)
        return found

    def _look_up(self, each: npt.NDArray[Any], known: int) -> None:
        """Find the places of values that were not met before in this dictionary.

        A dictionary may hold what no row has, which need not be in the domain.
        """
        assert self._dictionary is not None
        is_used = np.zeros(known + 1, dtype=np.bool_)
        is_used[each] = True
        new = np.flatnonzero(is_used & (self._places == _UNKNOWN))
        told = pa.array(np.where(new < known, new, 0), mask=new == known)
        self._places[new] = self._encoded(self._dictionary.take(told))

    def _encoded(self, values: pa.Array) -> Counts:
        if not len(values):
            return np.zeros(0, dtype=np.int64)
        series = series_of(values, self.name)
        if self._spec.binning is not None:
            series = self._spec.binning.apply(series)
        try:
            return self._domain.encode(series, self.name).astype(np.int64)
        except DomainError:
            raise DomainError(
                "Column {column} has values outside its domain, or missing ones that it lacks.",
                "State all values that could occur, missing among them, under Attributes.",
                column=self.name,
            ) from None


def _check_units(unit: Unit, rows: BatchedTable, keys: KeyRing, context: Context) -> None:
    found = [units_in(batch, unit, keys) for batch, _ in rows.read(unit.columns, "Units", context)]
    sizes = np.unique(np.concatenate(found), return_counts=True)[1]
    many = int((sizes > unit.most_rows).sum())
    if many:
        raise PolicyError(
            "{units:,} {units:unit|units} of {unit} {units:has|have} more than {rows:,}"
            " {rows:row|rows}, the largest {largest:,}.",
            "State how many rows a unit has at most: the noise grows with it.",
            units=many,
            unit=unit.name,
            rows=unit.most_rows,
            largest=int(sizes.max()),
        )


def summed_to(counts: Counts, finer: CountTable, coarser: Iterable[str]) -> Counts:
    """Return the counts of a table with fewer columns, by adding a finer one's cells."""
    kept = set(coarser)
    away = tuple(place for place, name in enumerate(finer.columns) if name not in kept)
    added: Any = counts.reshape(finer.shape).sum(axis=away)
    return np.asarray(added).reshape(-1)


# ----- the margins of a table of counts: sums over some of its columns, with intervals
