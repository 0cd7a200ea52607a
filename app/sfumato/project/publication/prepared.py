"""What a search for safe generalizations works on, and what one of them makes of the rows.

Rows are read some at a time, and known by their class again whenever they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import field
from functools import cached_property
from secrets import token_bytes

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import DiversityError, TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Flags, Value
from sfumato.engine.generalization.checker import PublicationCheck, PublishedRows
from sfumato.engine.generalization.coded import (
    CodedTable,
    IntArray,
    codes_at,
    labelled,
    shown_codes,
)
from sfumato.engine.generalization.counts_checker import LabelledCounts
from sfumato.engine.generalization.criteria import Criterion, Suppressed
from sfumato.engine.generalization.hierarchies import Hierarchy
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.others import HolderClasses, OtherTable
from sfumato.engine.generalization.public_counts import PublicTable
from sfumato.engine.generalization.publication import EquivalenceClasses
from sfumato.engine.generalization.shared_columns import SharedColumn, Unaligned
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey, KeyRing
from sfumato.engine.table.combinations import Marks
from sfumato.engine.table.repeated_units import units_among
from sfumato.engine.table.table import Table
from sfumato.formats.hierarchies import table_of
from sfumato.project.document.generalization import Generalization
from sfumato.project.document.model import Document
from sfumato.project.release.batched_table import BatchedTable, naming_rows
from sfumato.project.release.batched_views import DistinctRecords
from sfumato.project.release.bucket_counts import (
    Buckets,
    Packing,
    RowsUnits,
    class_sizes,
    columns_of,
    put_marks,
    units_by_class,
)
from sfumato.project.release.release_stream import RowSelection
from sfumato.project.release.uniqueness import AloneInPublication, published_as_they_are
from sfumato.project.release.units import row_marks, units_in


@dataclass(frozen=True)
class Prepared:
    """Everything a search needs.

    Parameters
    ----------
    document, table
        What is decided, and the rows.
    coded
        Quasi-identifiers with their levels, and the sensitive attribute; rows that are alike
        are one.
    hierarchies
        One for each quasi-identifier.
    criteria
        What is asked; beside other tables, distinct diversity counts what remains.
    others, holders
        The other holders' tables, and their equivalence classes.
    values
        The sensitive attribute's domain as it is in the tables, None for missing; `coded.values`
        are their names.
    apart
        How rows are told apart by their quasi-identifiers.
    public
        Public counts of how many people several tables share.
    shared, unaligned
        Columns of the others' tables that are aligned with ours, and those that are not though
        they have the same name.
    """

    document: Document = field(repr=False)
    table: BatchedTable = field(repr=False)
    coded: CodedTable
    hierarchies: tuple[Hierarchy, ...]
    criteria: tuple[Criterion, ...]
    others: tuple[OtherTable, ...]
    holders: tuple[HolderClasses, ...]
    values: tuple[Value, ...] = field(repr=False)
    apart: DistinctRecords = field(repr=False)
    public: tuple[PublicTable, ...] = ()
    shared: tuple[SharedColumn, ...] = ()
    unaligned: tuple[Unaligned, ...] = ()

    @property
    def decided(self) -> Generalization:
        """What is decided about the generalized table."""
        return decided_in(self.document)

    @property
    def labelled_counts(self) -> tuple[LabelledCounts, ...]:
        """The public counts as they are written, with what our labels cover."""
        covers = self.covers if self.public else {}
        return tuple(
            LabelledCounts(
                each.places,
                [
                    (tuple(t[c] for t, c in zip(each.labels, row, strict=True)), int(count))
                    for row, count in zip(each.codes, each.counts, strict=True)
                ],
                covers,
            )
            for each in self.public
        )

    @property
    def covers(self) -> dict[str, dict[str, frozenset[str]]]:
        """The original values that each label covers, by quasi-identifier."""
        found: dict[str, dict[str, frozenset[str]]] = {}
        for hierarchy in self.hierarchies:
            own: dict[str, set[str]] = {}
            for row in table_of(hierarchy):
                for label in row:
                    own.setdefault(label, set()).add(row[0])
            found[hierarchy.column] = {label: frozenset(each) for label, each in own.items()}
        return found

    def ground(self, table: Table) -> list[npt.NDArray[np.integer]]:
        """Return the ground codes of some rows, by quasi-identifier."""
        return self.apart.codes(table)


def decided_in(document: Document) -> Generalization:
    """Return what is decided about the generalized table.

    Raises
    ------
    DiversityError
        If nothing is.
    """
    if document.generalization is None:
        raise DiversityError(
            "Nothing is decided about a generalized table yet.",
            "Give the quasi-identifiers hierarchies, and say what is asked of every class.",
        )
    return document.generalization


@dataclass(frozen=True)
class ClassedRows:
    """What a node makes of a table's rows.

    Parameters
    ----------
    prepared
        What was searched.
    node
        The level of each quasi-identifier.
    classes
        Its classes, and which of them are kept.
    suppressed
        What becomes of the records that stand out.
    """

    prepared: Prepared
    node: Node
    classes: EquivalenceClasses = field(repr=False)
    suppressed: Suppressed

    @property
    def changed(self) -> tuple[str, ...]:
        """The columns that hold labels in place of their values."""
        return self.prepared.coded.names

    @property
    def left_out(self) -> frozenset[str]:
        """The columns of which every row shows `*`."""
        levels = zip(self.prepared.coded.quasi_identifiers, self.node, strict=True)
        return frozenset(quasi.name for quasi, level in levels if level == quasi.height)

    @property
    def drops(self) -> bool:
        """Whether some records are left out."""
        return self.suppressed is Suppressed.DROPPED and not bool(self.classes.kept.all())

    @property
    def rows(self) -> int:
        """How many records are published."""
        return self.prepared.coded.rows - (self.classes.suppressed if self.drops else 0)

    @property
    def units(self) -> int:
        """How many units these belong to; the records where they stand alone."""
        if self.classes.whose is None:
            return self.rows
        leave = self.classes.kept_rows | (not self.drops)
        return sum(units_among(units, leave[rows]) for rows, units in self.classes.whose.parts())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are published, in the table's order.

        Identifying columns and other sensitive attributes are left out.
        """
        document, decided = self.prepared.document, self.prepared.decided
        hidden = {Role.IDENTIFYING, Role.SENSITIVE}
        named = {*decided.quasi_identifiers, decided.sensitive}
        return tuple(
            name
            for name in self.prepared.table.columns
            if name in named or document.column(name).role not in hidden
        )

    def classes_of(self, table: Table) -> IntArray:
        """Return each row's class, shape (n,); raises what `shown_in` does."""
        return self._classes_at(self.prepared.ground(table))

    def leaves(self, table: Table) -> Flags:
        """Return which of some rows are published, shape (n,); raises what `shown_in` does."""
        if not self.drops:
            return np.ones(table.rows, dtype=np.bool_)
        kept: Flags = self.classes.kept[self.classes_of(table)]
        return kept

    def chosen(self) -> RowSelection | None:
        """Return which rows are published, where not all are."""
        if not self.drops:
            return None
        return RowSelection(self.rows, lambda batch: self.leaves(columns_of(batch, self.changed)))

    def shown_in(self, table: Table) -> Mapping[str, pd.Series]:
        """Return the quasi-identifiers of some rows as they are published, by name.

        Raises
        ------
        TableError, HierarchyError
            If they are no rows of the table.
        """
        codes, kept = self.prepared.ground(table), np.ones(table.rows, dtype=np.bool_)
        if not self.classes.kept.all():
            kept = self.classes.kept[self._classes_at(codes)]
        found, index = {}, table.frame.index
        for place, quasi in enumerate(self.prepared.coded.quasi_identifiers):
            level, present = self.node[place], self._present[quasi.name]
            shown = shown_codes(quasi, codes[place], level, kept)
            found[quasi.name] = labelled(quasi, level, shown, present, index)
        return found

    def published(self, table: Table) -> tuple[pd.DataFrame, IntArray]:
        """Return those of some rows that are published, as they are, and which these are.

        Raises
        ------
        SfumatoError
            If they are no rows of the table, or don't fit a column's bins.
        """
        left = np.flatnonzero(self.leaves(table))
        if len(left) < table.rows:
            table = Table(table.frame.iloc[left], table.value_labels, is_part=True)
        shown, document = self.shown_in(table), self.prepared.document
        columns = {
            name: shown[name] if name in shown else document.column(name).shown(table.column(name))
            for name in self.columns
        }
        return pd.DataFrame(columns, index=table.frame.index, copy=False), left

    def labels(self, name: str) -> tuple[str, ...]:
        """Return the different labels that a quasi-identifier shows."""
        place = self.changed.index(name)
        quasi, present = self.prepared.coded.quasi_identifiers[place], self._present[name]
        nothing = pd.RangeIndex(0)
        shown = labelled(quasi, self.node[place], np.zeros(0, dtype=np.intp), present, nothing)
        return tuple(map(str, shown.cat.categories))

    @cached_property
    def _present(self) -> dict[str, IntArray]:
        """The codes of each quasi-identifier that are shown, see `labelled`."""
        kept = self.classes.kept_rows
        found = {}
        for quasi, level in zip(self.prepared.coded.quasi_identifiers, self.node, strict=True):
            codes = quasi.codes[kept] if self.drops else quasi.codes
            shown = shown_codes(quasi, codes, level, kept[kept] if self.drops else kept)
            found[quasi.name] = np.unique(shown)
        return found

    @cached_property
    def _lookup(self) -> tuple[Packing, np.ndarray, IntArray]:
        """How classes are told apart: by which keys, ascending, and the class of each."""
        quasi = self.prepared.coded.quasi_identifiers
        packing = Packing([q.sizes[at] for q, at in zip(quasi, self.node, strict=True)])
        own = list(codes_at(quasi, self.node, [q.codes for q in quasi]))
        keys, firsts = np.unique(packing.pack(own), return_index=True)
        return packing, keys, self.classes.of_row[firsts]

    def _classes_at(self, ground: list[np.ndarray]) -> IntArray:
        packing, keys, classes = self._lookup
        shown = codes_at(self.prepared.coded.quasi_identifiers, self.node, ground)
        asked = packing.pack(list(shown))
        found = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        if not bool((keys[found] == asked).all()):
            raise TableError("The table changed while it was read.", "Start again.")
        return classes[found]


@dataclass(frozen=True)
class CountedRows:
    """What was counted of a generalized table.

    Parameters
    ----------
    check
        What an independent check of its rows found.
    alone
        The records that are alone by columns it shows exactly; None where it shows none so.
    """

    check: PublicationCheck
    alone: AloneInPublication | None


class PromisedRows:
    """Checks rows that are published, as many at a time as they come, with their units if any.

    Parameters
    ----------
    prepared
        What is promised, and of which table.
    stack
        Closes what was put aside on the disk.
    """

    def __init__(self, prepared: Prepared, stack: ExitStack) -> None:
        self._prepared, self._by_unit = prepared, prepared.document.unit is not None
        decided, table = prepared.decided, prepared.table
        self._rows = PublishedRows(decided.quasi_identifiers, decided.sensitive)
        self._key = AttributeKey(token_bytes(SECRET_BYTES))
        self._pairs = stack.enter_context(Buckets(table.folder, table.rows))

    def add(self, frame: pd.DataFrame, whose: RowsUnits | None) -> None:
        """Count some rows; see `PublishedRows.add`."""
        classes = self._rows.add(frame).astype(np.uint64)
        if self._by_unit:
            put_marks(self._pairs, classes, self._key, whose=whose)

    def checked(self, by_unit: bool = True) -> PublicationCheck:
        """Return whether they keep what is promised; see `PublishedRows.checked`.

        Units are counted, where there are such, if it was known whose the rows are.
        """
        prepared, units = self._prepared, None
        if self._by_unit and by_unit:
            units = [int(n) for bucket in self._pairs for n in units_by_class(bucket)[2]]
        others, known = prepared.others, prepared.labelled_counts
        covers = prepared.covers if prepared.shared else {}
        asked = (prepared.criteria, others, prepared.values, units, known, covers)
        return self._rows.checked(*asked)


def counted_rows(made: ClassedRows, context: Context) -> CountedRows:
    """Count the rows of a generalized table, in one pass.

    Raises
    ------
    SfumatoError
        If a row does not fit what is decided.
    """
    prepared, table = made.prepared, made.prepared.table
    document = prepared.document
    exact = published_as_they_are(document)
    names = (*prepared.decided.quasi_identifiers, *exact)
    unit, keys = document.unit, KeyRing(token_bytes(SECRET_BYTES))
    key = AttributeKey(token_bytes(SECRET_BYTES))
    read = dict.fromkeys([*made.columns, *(() if unit is None else unit.columns)])
    with ExitStack() as stack:
        promised = PromisedRows(prepared, stack)
        before, after = (stack.enter_context(Buckets(table.folder, table.rows)) for _ in "ba")
        reading, rest = Part(context, 0.0, 0.9), Part(context, 0.9, 1.0)
        for batch, rows in table.read(list(read), "Generalizing the table", reading):
            whose = None if unit is None else RowsUnits(units_in(batch, unit, keys), rows)
            part = columns_of(batch, list(read))
            with naming_rows(rows):
                frame, left = made.published(part)
            stay = None if whose is None else RowsUnits(whose.units[left], rows[left])
            if len(left):
                promised.add(frame, stay)
            if exact:
                put_marks(before, _agreeing(part.frame, names), key, whose=whose)
                if len(left):
                    put_marks(after, _agreeing(frame, names), key, whose=stay)
        check = promised.checked()
        if not exact:
            return CountedRows(check, None)
        alone = class_sizes(before, table.rows, rest, key).unique
        sizes = class_sizes(after, table.rows, rest, key)
    found = (made.rows, sizes.unique, alone, sizes.smallest)
    units = () if unit is None else (unit.name, made.units)
    return CountedRows(check, AloneInPublication(exact, prepared.decided.sensitive, *found, *units))


def _agreeing(frame: pd.DataFrame, names: Iterable[str]) -> Marks:
    """Return one number a row, the same where rows agree on columns, shape (n,)."""
    total: npt.NDArray[np.uint64] = np.zeros(len(frame), dtype=np.uint64)
    for name in names:
        total += row_marks(frame[name].rename(name))
    return total
