"""The rows of a generalized table, as many at a time as they come: which leave, and as what.

A row's class, and with it whether the row stands out and how it is shown, follows from its
quasi-identifiers alone. So classes are found from the rows that differ, and each row by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.values import Flags
from sfumato.engine.generalization.coded import IntArray, codes_at
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.publication import (
    EquivalenceClasses,
    Suppressed,
    labelled,
    shown_codes,
)
from sfumato.engine.table.repeated_units import units_among
from sfumato.engine.table.table import Table
from sfumato.project.publication.prepared import Prepared
from sfumato.project.release.long_counts import Packing, columns_of
from sfumato.project.release.long_release import Chosen


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

    def chosen(self) -> Chosen | None:
        """Return which rows are published, where not all are."""
        if not self.drops:
            return None
        return Chosen(self.rows, lambda batch: self.leaves(columns_of(batch, self.changed)))

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
        own = codes_at(quasi, self.node, [q.codes for q in quasi])
        keys, firsts = np.unique(packing.pack(own), return_index=True)
        return packing, keys, self.classes.of_row[firsts]

    def _classes_at(self, ground: list[np.ndarray]) -> IntArray:
        packing, keys, classes = self._lookup
        asked = packing.pack(codes_at(self.prepared.coded.quasi_identifiers, self.node, ground))
        found = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        if not bool((keys[found] == asked).all()):
            raise TableError("The table changed while it was read.", "Start again.")
        return classes[found]
