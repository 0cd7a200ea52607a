"""The rows of a source table that a leaked file is compared with.

One pass looks for the rows that are like a leaked one in what no release perturbs, and counts in
all rows what chance is judged by. Only these rows are then compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.disclosure.tracing import ABSENT, RowGroups
from sfumato.engine.table.table import Table
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.bucket_counts import CountedOpenColumn
from sfumato.project.release.leaving_units import look_at_units
from sfumato.project.release.regenerate import columns_for
from sfumato.project.release.units import units_in
from sfumato.project.release.witnesses import frame_of
from sfumato.project.verification.leak_candidates import LeakCandidate, made_again, opened
from sfumato.project.verification.leak_comparison import (
    LeakSource,
    UnitsLeft,
    alike,
    occurrences,
    split_by,
)
from sfumato.project.verification.policies import PartMaker, TablePolicies

MOST_ALIKE: Final = 1 << 21
"""So many rows of the table are compared at most."""


class LeakRows:
    """All rows of a source table, of which some may be in a leaked file.

    Parameters
    ----------
    project, table
        The project, and its source table.
    context
        Progress and cancelling.
    """

    def __init__(self, project: ProjectFile, table: BatchedTable, context: Context) -> None:
        self._table, self._keys = table, project.keys
        self.policies = TablePolicies(project, table, context)
        self._units: dict[tuple[int, str], UnitsLeft] = {}

    def parts(self, names: Sequence[str], context: Context) -> Iterator[Table]:
        """Yield all rows with some columns, those that the table has."""
        known = [name for name in names if name in self._table.columns]
        for batch, _ in self._table.read(known, "Making pseudonyms again", context):
            yield self._part([batch], known)

    def shown(
        self, names: Sequence[str], candidates: tuple[LeakCandidate, ...], context: Context
    ) -> Iterator[tuple[LeakCandidate, ...]]:
        """Yield candidates that make some columns of all rows, part by part."""
        needed = self._needed(names, candidates)
        for each in candidates:
            if each.view is not None:
                self.policies.context_of(each.maker).look_through_view(each.view)
        for batch, rows in self._table.read(needed, "Comparing the columns", context):
            yield self._made_of(self._part([batch], needed), rows, candidates)

    def like(
        self,
        leak: Table,
        telling: Sequence[str],
        candidates: tuple[LeakCandidate, ...],
        context: Context,
    ) -> LeakSource:
        """Return the rows that are like a leaked one in what a release does not perturb.

        Raises
        ------
        TableError
            If they are too many, or the table changed.
        """
        names, search = (
            self._needed(leak.columns, candidates),
            _LeakSearch(leak, telling, candidates),
        )
        for each in candidates:
            self.policies.context_of(each.maker).look_through(each, self._keys)
        kept: list[pa.RecordBatch] = []
        where: list[npt.NDArray[np.int64]] = []
        found = 0
        for batch, rows in self._table.read(names, "Comparing the rows", context):
            part = self._part([batch], names)
            alike = search.look_at(self._made_of(part, rows, candidates))
            found += int(alike.sum())
            if found > self._table.most_held(MOST_ALIKE):
                raise TableError(
                    "More than {most:,} {most:row|rows} of the table are like the leaked ones in"
                    " what releases show unperturbed, too many to be compared in parts.",
                    "Give the file the names of more of its columns, or let more memory be taken.",
                    most=MOST_ALIKE,
                )
            if alike.any():
                kept.append(batch.filter(pa.array(alike)))
                where.append(rows[alike])
        places = np.concatenate([np.empty(0, dtype=np.int64), *where])
        those = self._made_of(self._part(kept, names), places, candidates)
        told = search.told(those)
        return LeakSource(those[0].maker.table, self._table.rows, those, *told, self._units_left)

    def _units_left(self, candidate: LeakCandidate, shown: Mapping[str, pd.Series]) -> UnitsLeft:
        """Return what is known of units that leave; found once for a view."""
        if candidate.seen not in self._units:
            self._units[candidate.seen] = self._look_at_units(candidate, shown)
        return self._units[candidate.seen]

    def _look_at_units(self, candidate: LeakCandidate, shown: Mapping[str, pd.Series]) -> UnitsLeft:
        maker, view, names = candidate.maker, candidate.view, list(shown)
        assert isinstance(maker, PartMaker)
        settled, unit = maker.settled, maker.document.unit
        assert unit is not None
        assert maker.unit_ids is not None
        whose, of_rows = np.unique(maker.unit_ids, return_inverse=True)
        sizes = np.zeros(len(whose), dtype=np.int64)
        for batch, _ in settled.left.read(unit.columns, "Looking at the units", Silent()):
            units = units_in(batch, unit, self._keys)
            sizes += np.bincount(
                np.searchsorted(whose, units[np.isin(units, whose)]), None, len(whose)
            )
        leave = np.isin(np.arange(len(of_rows)), maker.leaving)
        wanted = {*names, *(() if view is None else view.hierarchies)}
        read = [name for name in self._table.columns if name in wanted]

        def as_seen(batch: pa.RecordBatch, rows: npt.NDArray[np.int64]) -> Mapping[str, pd.Series]:
            part = self._part([batch.select(read)], read)
            return opened(PartMaker(settled, part, self._keys, rows), names, view)

        same, most = look_at_units(settled.left, unit.columns, names, Silent(), as_seen, read)
        return UnitsLeft(np.where(leave, sizes[of_rows], 0), most, same)

    def _part(self, batches: Sequence[pa.RecordBatch], names: Sequence[str]) -> Table:
        types = {name: self._table.batches.types[name] for name in names}
        frame = frame_of(batches, types, max(sum(map(len, batches)), 1))
        return Table(frame, self._table.batches.value_labels, is_part=True)

    def _needed(self, columns: Sequence[str], candidates: Sequence[LeakCandidate]) -> list[str]:
        """Return the columns that the comparison needs, in the table's order."""
        wanted = set(columns)
        for candidate in candidates:
            wanted |= set(() if candidate.view is None else candidate.view.hierarchies)
            wanted |= columns_for(candidate.maker.document, candidate.plans)
        return [name for name in self._table.columns if name in wanted]

    def _made_of(
        self,
        part: Table,
        places: npt.NDArray[np.int64],
        candidates: Sequence[LeakCandidate],
    ) -> tuple[LeakCandidate, ...]:
        """Return the candidates as they make columns of rows that stand in some places."""
        makers = {
            id(maker): PartMaker(self.policies.context_of(maker), part, self._keys, places)
            for maker in {id(each.maker): each.maker for each in candidates}.values()
        }
        return tuple(replace(each, maker=makers[id(each.maker)]) for each in candidates)


class _LeakSearch:
    """Looks for rows like a leaked one, and counts in all rows what chance is judged by."""

    def __init__(
        self, leak: Table, telling: Sequence[str], candidates: Sequence[LeakCandidate]
    ) -> None:
        self._leak, self._telling = leak, telling
        self._names = [name for name in leak.columns if name not in telling]
        self._makers = list(dict.fromkeys(id(each.maker) for each in candidates))
        self._of_maker = [self._makers.index(id(each.maker)) for each in candidates]
        self._counted: dict[tuple[object, str], CountedOpenColumn] = {}
        self._occurs: dict[tuple[int, str], npt.NDArray[np.int64]] = {}

    def look_at(self, candidates: Sequence[LeakCandidate]) -> npt.NDArray[np.bool_]:
        """Return which of the rows that candidates make are like a leaked one, shape (n,)."""
        rows = candidates[0].maker.table.rows
        found = np.zeros(rows, dtype=np.bool_)
        done: dict[object, None] = {}
        for place, (number, each) in enumerate(zip(self._of_maker, candidates, strict=True)):
            seen = number, each.seen[1]
            if seen not in done:
                done[seen] = None
                groups = RowGroups.before_any_column(self._leak.rows, rows)
                for name, column in opened(each.maker, self._names, each.view).items():
                    self._count(seen, name, column)
                    groups = split_by(groups, column, self._leak.column(name), {})
                found |= groups.table != ABSENT
            for name, column in made_again(each, self._telling, Silent()).items():
                self._count(place, name, column)
            for name in self._telling:
                true = None if (number, name) in done else each.maker.unperturbed(name)
                if true is not None:
                    done[number, name] = None
                    here = occurrences(true, self._leak.column(name))
                    self._occurs[number, name] = self._occurs.get((number, name), 0) + here
        return found

    def _count(self, of: object, name: str, column: pd.Series) -> None:
        known = self._counted.setdefault(
            (of, name), CountedOpenColumn(ColumnSpec(name, Role.INSENSITIVE))
        )
        known.marks(alike(column, self._leak.column(name))[0].rename(name), True)

    def told(
        self, candidates: Sequence[LeakCandidate]
    ) -> tuple[dict[str, int], dict[tuple[int, str], npt.NDArray[np.int64]]]:
        """Return how many values columns have, and how often leaked ones occur (`LeakSource`)."""
        different: dict[str, int] = {}
        for (_, name), column in self._counted.items():
            facts = column.facts()
            values = facts.distinct + bool(facts.missing)
            different[name] = max(different.get(name, 1), values)
        makers = {
            number: id(each.maker) for number, each in zip(self._of_maker, candidates, strict=True)
        }
        occurs = {(makers[number], name): each for (number, name), each in self._occurs.items()}
        return different, occurs
