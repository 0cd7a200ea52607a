"""How recipients see the quasi-identifiers of a table, counted batch by batch.

Whether a row is suppressed, and as what it is shown, follows from its quasi-identifiers alone. So
their values are found in one pass, from which the hierarchies are made; in another, the rows that
the finest view tells apart are counted; and each row is then shown by itself. Only as many numbers
are kept as there are rows that differ. Where rows belong to units, one more pass puts aside on the
disk which unit each row belongs to, and they are counted a few units at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from secrets import token_bytes
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Value, factorize, plain
from sfumato.engine.generalization.cells import MOST_COLUMNS, CellMasks, hides, of_columns
from sfumato.engine.generalization.coded import IntArray, QuasiIdentifier, labelled, shown_codes
from sfumato.engine.generalization.hierarchies import Hierarchy, Recipe, ground_values
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey, KeyRing
from sfumato.engine.randomness.row_order import order_words
from sfumato.engine.table.combinations import Marks, marks_of_numbers, value_marks
from sfumato.engine.table.repeated_units import UnitRows
from sfumato.engine.table.table import Table, encode_attribute
from sfumato.project.document.model import Document, Recipient, Unit, canonical_json
from sfumato.project.release.batched_table import (
    BatchedTable,
    alone_by,
    naming_rows,
    weights_in,
)
from sfumato.project.release.bucket_counts import (
    Buckets,
    ClassSizes,
    CountedOpenColumn,
    Packing,
    class_sizes,
    columns_of,
    put_marks,
    series_of,
)
from sfumato.project.release.groups import is_known_to_others, public_names
from sfumato.project.release.uniqueness import SampleUniques
from sfumato.project.release.units import units_in
from sfumato.project.release.views import (
    Coarsened,
    Coarsening,
    coarsening_of,
    listed_rows,
    own_view,
)

MOST_APART: Final = 1 << 22
"""So many rows that a view tells apart are counted at most: 8 bytes each, and as much again for
each quasi-identifier."""
_MOST_VALUES: Final = 1 << 20
"""A hierarchy of more values is not made."""
_PENDING: Final = 1 << 20

Codes = Sequence[npt.NDArray[np.integer]]
"""For each quasi-identifier, codes of rows, each of shape (n,)."""


@dataclass(frozen=True)
class DistinctRecords:
    """The rows of a long table by what a view, and all coarser ones, can tell apart.

    Parameters
    ----------
    specs, hierarchies
        The quasi-identifiers, and their hierarchies of all values in the table.
    quasi
        With ground codes that stand for the rows, shape (T,), and "*" on top of each.
    floor
        The levels that tell rows apart.
    keys, counts
        Each distinct row's key, ascending, and how many rows it stands for, shape (T,).
    units
        Whose each row is that a distinct row stands for; None where rows stand alone.
    sensitive, values
        The sensitive attribute that tells rows apart as well, with its domain, and the code of each
        distinct row, shape (T,); None where the quasi-identifiers alone do.
    """

    specs: tuple[ColumnSpec, ...]
    hierarchies: tuple[Hierarchy, ...] = field(repr=False)
    quasi: tuple[QuasiIdentifier, ...] = field(repr=False)
    floor: Node
    keys: npt.NDArray[np.generic] = field(repr=False)
    counts: npt.NDArray[np.int64] = field(repr=False)
    units: UnitIndex | None = field(repr=False, default=None)
    sensitive: ColumnSpec | None = None
    values: npt.NDArray[np.integer] | None = field(repr=False, default=None)

    @property
    def names(self) -> list[str]:
        """The columns that tell rows apart."""
        further = () if self.sensitive is None else (self.sensitive,)
        return [spec.name for spec in (*self.specs, *further)]

    @property
    def number(self) -> int:
        """How many units the rows belong to; the number of records, n, where they stand alone."""
        return int(self.counts.sum() if self.units is None else self.units.sizes.sum())

    def codes(self, table: Table) -> list[npt.NDArray[np.integer]]:
        """Return the ground codes of some rows, and their values where these tell them apart.

        Raises
        ------
        HierarchyError, DomainError
            If a row does not fit a hierarchy, or the sensitive attribute's domain.
        """
        found: list[npt.NDArray[np.integer]] = [
            hierarchy.encode(spec.shown(table.column(spec.name)))
            for spec, hierarchy in zip(self.specs, self.hierarchies, strict=True)
        ]
        if self.sensitive is not None:
            values = encode_attribute(table, self.sensitive).values
            found.append(values.astype(np.int32, copy=False))
        return found

    def places(self, codes: Codes) -> IntArray:
        """Return which distinct row each of some rows is, shape (n,).

        Raises
        ------
        TableError
            If one is none of them.
        """
        keys = self.keys_of(codes)
        found = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        if not bool((self.keys[found] == keys).all()):
            raise TableError("The table changed while it was read.", "Start again.")
        return found

    def keys_of(self, codes: Codes) -> npt.NDArray[np.generic]:
        """Return a key for each of some rows, shape (n,)."""
        own = len(self.quasi)
        return self._packing.pack([*_at(self.quasi, self.floor, codes[:own]), *codes[own:]])

    def counted(
        self, keys: npt.NDArray[np.generic], counts: npt.NDArray[np.int64]
    ) -> DistinctRecords:
        """Return the rows that have these keys, ascending, and how many have each."""
        columns, coded = self._packing.unpack(keys), []
        values = None if self.sensitive is None else columns.pop()
        for each, at, codes in zip(self.quasi, self.floor, columns, strict=True):
            # Any value that the level joins stands for all of them.
            first = np.zeros(each.sizes[at], dtype=np.int32)
            first[each.levels[at]] = np.arange(len(each.levels[at]))
            coded.append(replace(each, codes=first[codes]))
        return replace(self, quasi=tuple(coded), keys=keys, counts=counts, values=values)

    @cached_property
    def _packing(self) -> Packing:
        sizes = [q.sizes[at] for q, at in zip(self.quasi, self.floor, strict=True)]
        if self.sensitive is not None and self.sensitive.domain is not None:
            sizes.append(self.sensitive.domain.size)
        return Packing(sizes)


class UnitIndex(UnitRows):
    """Whose the rows are that each distinct row stands for, on the disk.

    There a unit is a number, and so is a distinct row, that tell nothing without keys that nobody
    keeps.

    Parameters
    ----------
    table, apart
        The rows, and the distinct ones.
    unit
        The columns that name the unit.
    """

    def __init__(
        self, table: BatchedTable, apart: DistinctRecords, unit: tuple[str, ...], context: Context
    ) -> None:
        key, keys = AttributeKey(token_bytes(SECRET_BYTES)), KeyRing(token_bytes(SECRET_BYTES))
        places = np.arange(len(apart.counts), dtype=np.uint64)
        self._places = np.argsort(order_words(places, key)[:, 0])
        hidden = np.empty(len(places), dtype=np.uint32)
        hidden[self._places] = places
        self._buckets = Buckets(table.folder, table.rows, again=True)
        read = list(dict.fromkeys([*apart.names, *unit]))
        for batch, rows in table.read(read, "Looking at the units", context):
            with naming_rows(rows):
                units = units_in(batch, Unit(unit, 1), keys)
            known = hidden[apart.places(apart.codes(columns_of(batch, apart.names)))]
            self._buckets.add(pa.record_batch({"row": known, "unit": units}), units)
        found = [np.bincount(np.bincount(units)) for _, units in self.parts()]
        self._sizes = np.zeros(max(map(len, found), default=1), dtype=np.int64)
        for each in found:
            self._sizes[: len(each)] += each

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many units there are of 0, 1, 2, … rows."""
        return self._sizes

    def parts(self) -> Iterator[tuple[IntArray, npt.NDArray[np.int64]]]:
        """Yield which distinct row each row is, and its unit; all rows of a unit come together."""
        for bucket in self._buckets:
            units = pd.factorize(bucket["unit"].to_numpy())[0].astype(np.int64)
            yield self._places[bucket["row"].to_numpy()], units


@dataclass(frozen=True)
class BatchedView(Coarsened):
    """What a view makes of a long table; no column of it is kept.

    Parameters
    ----------
    apart
        The rows that the view was counted in; its suppressed rows are some of these.
    """

    apart: DistinctRecords = field(repr=False)

    def shown_in(self, table: Table) -> dict[str, pd.Series]:
        """Return the quasi-identifiers that the view shows as labels, of some rows, by name.

        Raises
        ------
        TableError, HierarchyError
            If they are no rows of the table.
        """
        if not self.changed:
            return {}
        codes = self.apart.codes(table)
        hidden = self._hidden(codes) if self.view.hides else None
        found = {}
        for axis, (quasi, ground) in enumerate(zip(self.apart.quasi, codes, strict=True)):
            if quasi.name in self.changed:
                kept = np.ones(len(ground), np.bool_) if hidden is None else ~hides(hidden, axis)
                level, present = self.coarsening.level(quasi.name), self._present[quasi.name]
                shown = shown_codes(quasi, ground, level, kept)
                found[quasi.name] = labelled(quasi, level, shown, present, table.frame.index)
        return found

    def hidden_among(self, table: Table) -> CellMasks:
        """Return which cells of some rows are hidden, shape (n,); raises what `shown_in` does."""
        return self._hidden(self.apart.codes(table))

    def _hidden(self, codes: Codes) -> CellMasks:
        hidden: CellMasks = self.view.hidden[self.apart.places(codes)]
        return hidden

    def commonest(self) -> dict[str, str]:
        """Return the label that most rows show of each column that is shown coarser."""
        found = {}
        for axis, quasi in enumerate(self.apart.quasi):
            level, kept = self.coarsening.level(quasi.name), ~self.view.hides_in(axis)
            if 0 < level < self.highest[quasi.name] and kept.any():
                codes = quasi.levels[level][quasi.codes[kept]]
                shown = np.bincount(codes, weights=self.apart.counts[kept])
                found[quasi.name] = str(quasi.labels[level][int(shown.argmax())])
        return found

    @cached_property
    def _present(self) -> Mapping[str, IntArray]:
        """The codes of each quasi-identifier that occur in the table, see `labelled`."""
        found = {}
        for axis, q in enumerate(self.apart.quasi):
            kept = ~self.view.hides_in(axis)
            found[q.name] = np.unique(shown_codes(q, q.codes, self.coarsening.level(q.name), kept))
        return found

    def marks(self, names: Iterable[str]) -> Marks:
        """Return each distinct row's mark by what is shown of some quasi-identifiers."""
        total = np.zeros(len(self.apart.counts), dtype=np.uint64)
        for axis, quasi in enumerate(self.apart.quasi):
            if quasi.name in names:
                level, codes = self.coarsening.level(quasi.name), quasi.codes
                if quasi.name in self.changed:
                    codes = quasi.label_numbers[level].take(codes)
                    codes[self.view.hides_in(axis)] = 0
                total += marks_of_numbers(quasi.name, int(codes.max()) + 1)[codes]
        return total


@dataclass(frozen=True)
class CountedView:
    """A view with what is unique on the columns that its recipient sees unperturbed.

    Parameters
    ----------
    seen
        The view.
    alone
        The records that are unique; None where every column is perturbed or left out.
    small
        How many classes of 0, 1, 2, … records there are on these columns.
    """

    seen: BatchedView
    alone: SampleUniques | None
    small: tuple[int, ...] = ()


def batched_view(
    table: BatchedTable, columns: Sequence[ColumnSpec], coarsening: Coarsening, context: Context
) -> BatchedView:
    """Return what a view makes of a long table.

    Raises
    ------
    PolicyError
        If a hierarchy has fewer levels than the view names.
    TableError
        If the quasi-identifiers differ too much to be counted in parts.
    HierarchyError, DomainError
        If a hierarchy or bins don't fit the table.
    """
    floor = {name: coarsening.steps[0].levels.get(name, 0) for name in coarsening.hierarchies}
    specs = [spec for spec in columns if spec.name in coarsening.hierarchies]
    asked = ("view", repr(specs), canonical_json(coarsening.to_dict()))

    def counted() -> BatchedView:
        recipes, unit = coarsening.hierarchies, coarsening.unit
        apart = rows_apart(table, columns, recipes, floor, context, unit)
        view = own_view(coarsening, apart.quasi, apart.units, apart.counts)
        changed = frozenset(
            q.name
            for axis, q in enumerate(apart.quasi)
            if coarsening.level(q.name) or view.hides_in(axis).any()
        )
        highest = {each.name: each.height for each in apart.quasi}
        return BatchedView(coarsening, {}, changed, view, highest, apart.number, apart)

    return table.keep(asked, counted)


def suppressed_in_parts(
    seen: BatchedView, table: BatchedTable, keys: KeyRing, context: Context
) -> tuple[str, ...]:
    """Return what a plan lists of all rows with suppressed cells, sorted; see `listed_rows`.

    Raises
    ------
    TableError
        If too many different rows are suppressed to be listed.
    """
    names, found = sorted(seen.coarsening.hierarchies), set[str]()
    if not seen.view.hides:
        return ()
    # By name, whatever the order of the columns.
    order = [list(seen.coarsening.hierarchies).index(name) for name in names]
    for batch, _ in table.read(names, "Listing suppressed rows", context):
        frame = pd.DataFrame({name: series_of(batch[name], name) for name in names})
        hidden = of_columns(seen.hidden_among(Table(frame, is_part=True)), order)
        # Rows that are alike hide the same.
        some = np.flatnonzero((hidden != 0) & ~frame.duplicated().to_numpy())
        found.update(listed_rows(frame.iloc[some], hidden[some], keys))
        if len(found) > _MOST_VALUES:
            raise TableError(
                "The view suppresses more than {most:,} {most:row|rows} that differ, too"
                " many to be listed in a plan.",
                "Show the quasi-identifiers more coarsely, so that fewer rows are suppressed.",
                most=_MOST_VALUES,
            )
    return tuple(sorted(found))


def suppressed_together(
    table: BatchedTable,
    columns: Sequence[ColumnSpec],
    views: Sequence[Coarsening],
    context: Context,
) -> list[CellMasks]:
    """Return which cells of the same distinct rows each of some views hides, each of shape (T,).

    The cells are in the order of all columns of the views, the first view's first.

    Raises the errors of `batched_view`.
    """
    recipes = {name: recipe for each in views for name, recipe in each.hierarchies.items()}
    floor = {
        name: min(each.steps[0].levels.get(name, 0) for each in views if name in each.hierarchies)
        for name in recipes
    }
    found = []
    for each in views:
        apart = rows_apart(table, columns, recipes, floor, context, each.unit)
        known = {quasi.name: quasi for quasi in apart.quasi}
        quasi = [known[name] for name in each.hierarchies]
        hidden = own_view(each, quasi, apart.units, apart.counts).hidden
        cells, names = np.zeros(len(hidden), dtype=np.uint64), list(each.hierarchies)
        for axis, name in enumerate(list(recipes)[:MOST_COLUMNS]):
            if name in names:
                own = hides(hidden, names.index(name))
                cells |= own.astype(np.uint64) << np.uint64(axis)
        found.append(cells)
    return found


def rows_apart(
    table: BatchedTable,
    columns: Sequence[ColumnSpec],
    recipes: Mapping[str, Recipe],
    floor: Mapping[str, int],
    context: Context,
    unit: tuple[str, ...] | None = None,
    sensitive: ColumnSpec | None = None,
) -> DistinctRecords:
    """Return the rows that levels tell apart, or lower ones that are known already.

    Where columns name a `unit`, whose the rows are is known, too. The values of a `sensitive`
    attribute with a domain tell rows apart as well. Raises the errors of `batched_view`.
    """
    specs = tuple(spec for name in recipes for spec in columns if spec.name == name)
    plain_recipes = {name: recipe.to_dict() for name, recipe in recipes.items()}
    made_of = (repr(specs), canonical_json(plain_recipes))
    asked = ("apart", repr(sensitive), *made_of)
    if unit:
        part = Part(context, 0.0, 0.6)
        apart = rows_apart(table, columns, recipes, floor, part, sensitive=sensitive)
        whose, part = ("units", unit, apart.floor, *asked), Part(context, 0.6, 1.0)
        units = table.keep(whose, lambda: UnitIndex(table, apart, unit, part))
        return replace(apart, units=units)
    known: list[DistinctRecords] = table.keep(asked, list)
    wanted = tuple(floor[spec.name] for spec in specs)
    for each in known:
        if all(low <= high for low, high in zip(each.floor, wanted, strict=True)):
            return each
    hierarchies = table.keep(
        ("hierarchies", *made_of),
        lambda: _hierarchies(table, specs, recipes, Part(context, 0, 0.5)),
    )
    counting = Part(context, 0.5, 1.0)
    known.append(_grouped(table, specs, hierarchies, wanted, counting, sensitive))
    return known[-1]


def _hierarchies(
    table: BatchedTable,
    specs: Sequence[ColumnSpec],
    recipes: Mapping[str, Recipe],
    context: Context,
) -> tuple[Hierarchy, ...]:
    """Return the hierarchies of all values that occur, found in one pass."""
    values: dict[str, dict[Value, None]] = {spec.name: {} for spec in specs}
    for batch, rows in table.read(list(values), "Looking at the quasi-identifiers", context):
        with naming_rows(rows):
            for spec in specs:
                positions, uniques = factorize(spec.shown(series_of(batch[spec.name], spec.name)))
                met = np.bincount(positions.astype(np.intp) + 1, minlength=len(uniques) + 1) > 0
                found = values[spec.name]
                found.update(dict.fromkeys(map(plain, uniques[met[1:]])))
                found.update(dict.fromkeys([None] * int(met[0])))
                if len(found) > table.most_held(_MOST_VALUES):
                    raise TableError(
                        "Column {column} has more than {most:,} different {most:value|values}, too"
                        " many to be shown more coarsely in parts.",
                        "Give it bins, or let more memory be taken.",
                        column=spec.name,
                        most=_MOST_VALUES,
                    )
    return tuple(
        recipes[spec.name].build(spec.name, _ground(spec, values[spec.name])) for spec in specs
    )


def _ground(spec: ColumnSpec, found: Mapping[Value, None]) -> tuple[Value, ...]:
    """Return what a hierarchy has to cover, by the values that were found as they leave."""
    if spec.binning is not None:
        return (*spec.binning.names, *((None,) if None in found else ()))
    return ground_values(replace(spec, coding=None), pd.Series(list(found), dtype=object))


def _grouped(
    table: BatchedTable,
    specs: tuple[ColumnSpec, ...],
    hierarchies: tuple[Hierarchy, ...],
    wanted: Node,
    context: Context,
    sensitive: ColumnSpec | None,
) -> DistinctRecords:
    """Return the rows that levels, and a sensitive attribute, tell apart, found in one pass."""
    none = np.zeros(0, dtype=np.int32)
    quasi = tuple(
        QuasiIdentifier(
            each.column,
            none,
            tuple(each.codes(level).astype(np.intp) for level in range(each.height)),
            tuple(each.names(level) for level in range(each.height)),
        ).with_one_group_on_top()
        for each in hierarchies
    )
    floor = tuple(min(at, each.height) for at, each in zip(wanted, quasi, strict=True))
    counts = np.zeros(0, dtype=np.int64)
    apart = DistinctRecords(specs, hierarchies, quasi, floor, none, counts, None, sensitive)
    most = table.most_held(MOST_APART)
    counted = _Counted(most, _too_many_seen if sensitive is None else _too_many_together)
    for batch, rows in table.read(apart.names, "Counting classes", context):
        with naming_rows(rows):
            counted.add(apart.keys_of(apart.codes(columns_of(batch, apart.names))))
    return apart.counted(*counted.finished())


def counted_view(
    table: BatchedTable, document: Document, recipient: Recipient, context: Context
) -> CountedView:
    """Return a recipient's view with what it leaves unique.

    Raises the errors of `coarsening_of` and `batched_view`.
    """
    coarsening = coarsening_of(document, recipient)
    assert coarsening is not None
    seen = batched_view(table, document.columns, coarsening, Part(context, 0.0, 0.5))
    specs = [document.column(name) for name in public_names(document)]
    return table.keep(
        ("counted", repr(specs), canonical_json(coarsening.to_dict())),
        lambda: _with_unique(table, document, seen, Part(context, 0.5, 1.0)),
    )


def _with_unique(
    table: BatchedTable, document: Document, seen: BatchedView, context: Context
) -> CountedView:
    """Return a view with what is unique on the columns that its recipient sees unperturbed."""
    names = public_names(document)
    if not names:
        return CountedView(seen, None)
    sizes = _sizes(table, document, seen, names, Part(context, 0.0, 0.6))
    recipient = seen.coarsening.own.recipient
    alone = replace(alone_by(sizes, table, document, names), recipient=recipient)
    marked = tuple(name for name in names if is_known_to_others(document.column(name)))
    if len(marked) not in (0, len(names)):
        unique = _sizes(table, document, seen, marked, Part(context, 0.6, 1.0)).unique
        alone = replace(alone, marked=marked, marked_alone=unique)
    return CountedView(seen, alone, sizes.small)


def _sizes(
    table: BatchedTable,
    document: Document,
    seen: BatchedView,
    names: Sequence[str],
    context: Context,
) -> ClassSizes:
    """Return how many classes of each size there are on some columns as they are shown."""
    if table.units is not None or not seen.coarsening.hierarchies.keys() >= set(names):
        return _sizes_in_rows(table, document, seen, names, context)
    _, classes = np.unique(seen.marks(names), return_inverse=True)
    counts = np.bincount(classes, weights=seen.apart.counts).astype(np.int64)
    return ClassSizes.of(counts)


def _sizes_in_rows(
    table: BatchedTable,
    document: Document,
    seen: BatchedView,
    names: Sequence[str],
    context: Context,
) -> ClassSizes:
    """Return what `_sizes` does where other columns or units count too, found in one pass."""
    others = {name: CountedOpenColumn(document.column(name)) for name in names}
    weights = [spec.name for spec in document.columns if spec.role is Role.WEIGHT]
    whose = () if table.units is None else table.units.unit.columns
    shown_of = dict.fromkeys([*names, *seen.coarsening.hierarchies])
    read = dict.fromkeys([*shown_of, *weights, *whose])
    key = AttributeKey(token_bytes(SECRET_BYTES))
    with Buckets(table.folder, table.rows) as buckets:
        for batch, rows in table.read(list(read), "Looking at the rows", Part(context, 0.0, 0.8)):
            part = columns_of(batch, list(shown_of))
            shown = seen.shown_in(part)
            marks = np.zeros(len(batch), dtype=np.uint64)
            for name in names:
                if name in shown:
                    found, places = value_marks(shown[name].rename(name))
                    marks += found if places is None else found[places]
                else:
                    marks += others[name].marks(part.column(name), False)
            units = None if table.units is None else table.units.of(batch, rows)
            put_marks(buckets, marks, key, weights_in(batch, document), units)
        return class_sizes(buckets, table.rows, Part(context, 0.8, 1.0), key)


def _at(quasi: Sequence[QuasiIdentifier], node: Node, codes: Codes) -> list[IntArray]:
    """Return generalized codes of rows at a node."""
    return [
        each.levels[level].take(ground)
        for each, level, ground in zip(quasi, node, codes, strict=True)
    ]


def _too_many_seen(most: int) -> TableError:
    return TableError(
        "The quasi-identifiers take more than {most:,} different {most:combination|combinations}"
        " of values as the most trusted recipient with a view sees them, too many to be counted in"
        " parts.",
        "Show them more coarsely, or let more memory be taken.",
        most=most,
    )


def _too_many_together(most: int) -> TableError:
    return TableError(
        "The columns that are generalized take, with the sensitive one, more than {most:,}"
        " different {most:combination|combinations} of values, too many to be counted in parts.",
        "Group numbers and dates into bins, leave a column out of the generalization, or let more"
        " memory be taken.",
        most=most,
    )


class _Counted:
    """How many rows have each key, in whatever batches they come."""

    def __init__(self, most: int, refusal: Callable[[int], TableError]) -> None:
        self._most, self._refusal = most, refusal
        self._parts: list[tuple[npt.NDArray[np.generic], npt.NDArray[np.int64]]] = []
        self._known = self._pending = 0

    def add(self, keys: npt.NDArray[np.generic]) -> None:
        """Count some rows; raises `TableError` where too many differ."""
        found = np.unique(keys, return_counts=True)
        self._parts.append((found[0], found[1].astype(np.int64)))
        self._pending += len(found[0])
        if self._pending > max(_PENDING, self._known):
            self.finished()

    def finished(self) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.int64]]:
        """Return the keys, ascending, and how many rows have each."""
        every = np.concatenate([keys for keys, _ in self._parts])
        keys, places = np.unique(every, return_inverse=True)
        weights = np.concatenate([counts for _, counts in self._parts])
        counts = np.bincount(places, weights=weights).astype(np.int64)
        if len(keys) > self._most:
            raise self._refusal(self._most)
        self._parts, self._known, self._pending = [(keys, counts)], len(keys), 0
        return keys, counts
