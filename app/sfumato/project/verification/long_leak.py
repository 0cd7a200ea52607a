"""Tracing a leak against a table that is too long for memory.

One pass looks for the rows that are like a leaked one in what no release perturbs, and counts in
all rows what chance is judged by. Only these rows are then compared, as those of a table in memory
are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import SfumatoError, TableError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.disclosure.tracing import ABSENT, RowGroups
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.row_order import Positions
from sfumato.engine.table.table import EncodedColumn, Table, encode_attribute
from sfumato.project.adoption.rows import Rungs
from sfumato.project.document.model import Document
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.groups import GroupsInParts, public_columns
from sfumato.project.release.long_counts import OpenColumn
from sfumato.project.release.long_leaving import leaving_rows, look_at_units
from sfumato.project.release.long_release import drawn_groups
from sfumato.project.release.long_table import LongTable, frame_of
from sfumato.project.release.long_views import LongView, long_view
from sfumato.project.release.plan import open_column
from sfumato.project.release.regenerate import PartOf, PoliciesInForce, Regenerator
from sfumato.project.release.release_columns import Material, material_with, plan_for
from sfumato.project.release.units import units_in
from sfumato.project.release.views import Coarsening
from sfumato.project.verification.leak import (
    Candidate,
    LeakReport,
    Source,
    Sources,
    UnitsLeft,
    alike,
    made_again,
    occurrences,
    opened,
    split_by,
    trace_file,
    traced_in,
)

MOST_ALIKE: Final = 1 << 21
"""So many rows of the table are compared at most."""


@dataclass(eq=False)
class _Settled:
    """What makes columns of a long table again by a policy that was in force.

    Parameters
    ----------
    material
        The policy, with every domain, and rows of every sort.
    today
        Today's, which knows where adopted files are.
    left
        The rows that leave by it.
    rungs
        The adopted releases, matched to all rows.
    counted
        The groups of its entries that need them, by the entry's key.
    groups
        Those with what is dealt to their rows, by the attributes.
    views
        What its views make of these; None for those that don't fit the table.
    """

    material: Material
    today: Document
    left: LongTable
    rungs: Rungs
    counted: Mapping[str, GroupsInParts]
    groups: dict[tuple[str, ...], GroupsInParts] = field(default_factory=dict)
    views: dict[str, LongView | None] = field(default_factory=dict)

    def look_through(self, candidate: Candidate, keys: KeyRing) -> None:
        """Find what a candidate shows of the rows that depends on others, unless that is known."""
        plan = plan_for(self.material, candidate.plans, "")
        counted = {key: self.counted[key] for key in plan.groups}
        drawn = drawn_groups(plan, keys, counted, self.left, Silent())
        self.groups |= {
            each.attributes: drawn[each.key] for each in plan.entries if each.key in drawn
        }
        if (view := candidate.view) is not None:
            self._look_through(view)

    def _look_through(self, view: Coarsening) -> None:
        if repr(view) not in self.views:
            try:
                columns = self.material.document.columns
                seen = long_view(self.left, columns, view, Silent())
            except TableError:
                raise
            except SfumatoError:
                seen = None
            self.views[repr(view)] = seen


class LongPolicies(PoliciesInForce):
    """Knows of each policy in force what its attributes come to in all rows."""

    def __init__(self, project: ProjectFile, table: LongTable, context: Context) -> None:
        self._long, self._context = table, context
        self._rungs = Rungs(table.to_match(Silent()), (project.path.parent,))
        self.settled: dict[int, _Settled] = {}
        """By the place of what makes columns again."""
        nothing = Table(pd.DataFrame({"": []}), is_part=True)
        super().__init__(project.document, nothing, project.keys, (project.path.parent,))

    def maker(self, policy: Document, today: Document) -> Regenerator:
        """Return what tells which releases can be made again, by rows of every sort."""
        left = leaving_rows(self._long, policy, self._keys, self._context)
        found = left.summary(policy, self._context, for_checks=False)
        encoded = dict(found.encoded)
        for name, column in found.encoded.items():
            if column.attribute.domain is None:  # its few witnesses tell little of numbers
                sampled = encode_attribute(found.sample, policy.column(name))
                encoded[name] = replace(column, attribute=sampled.attribute)
        part_of = PartOf(found.places, self._rungs)
        given = (policy, found.witnesses, self._keys, self._folders, today, encoded)
        made = Regenerator(*given, part_of)
        material = material_with(policy, found.witnesses, found.encoded)
        settled = _Settled(material, today, left, self._rungs, found.groups)
        self.settled[id(made)] = settled
        return made


class _PartMaker(Regenerator):
    """Makes columns of some rows again."""

    def __init__(
        self, settled: _Settled, part: Table, keys: KeyRing, places: npt.NDArray[np.int64]
    ) -> None:
        part_of = PartOf(places, settled.rungs)
        document, today = settled.material.document, settled.today
        super().__init__(document, part, keys, today=today, part_of=part_of)
        self.settled, self._places = settled, places

    def _grouped(
        self, attributes: tuple[str, ...], mechanism: str, settings: Settings
    ) -> dict[str, EncodedColumn]:
        """Return a policy entry's columns with what was dealt to their rows' groups."""
        groups = self.settled.groups.get(attributes)
        if groups is None:
            return super()._grouped(attributes, mechanism, settings)
        return {name: groups.column(self.table, self._encode(name)) for name in attributes}

    @cached_property
    def leaving(self) -> Positions:
        """The places of the rows that leave; which these are all rows of the table decide."""
        units = self.settled.left.units
        everybody = np.arange(self.table.rows)
        return everybody if units is None else everybody[units.leave(self._places)]

    def unperturbed(self, name: str, coarsening: Coarsening | None = None) -> pd.Series | None:
        """Return a column as it is released unperturbed; see `Regenerator.unperturbed`."""
        if coarsening is None or name not in coarsening.hierarchies:
            return super().unperturbed(name)
        seen = self.settled.views[repr(coarsening)]
        if seen is None:
            return None
        frame = self.table.frame.iloc[self.leaving].reset_index(drop=True)
        left = replace(self.table, frame=frame)
        shown = seen.shown_in(left)[name] if name in seen.changed else None
        if shown is None:
            shown = open_column(left, self.document.column(name))
        return shown.set_axis(self.leaving).reindex(self.table.frame.index)


def trace_long(project: ProjectFile, table: LongTable, leak: Table, context: Context) -> LeakReport:
    """Say which of a project's releases a leaked table comes from, as `trace_file` does.

    Raises
    ------
    NotTraceable
        See `trace_file`.
    SfumatoError
        If a row does not fit a policy in force, too many are like leaked ones, or groups of
        records can't be drawn in parts.
    """
    rows = _LongRows(project, table, Part(context, 0.0, 0.3))
    sources = Sources(rows.policies, rows.parts, rows.like)
    return traced_in(project, sources, leak, Part(context, 0.3, 1.0))


def trace_leak(
    project: ProjectFile, table: Table | LongTable, leak: Table, context: Context
) -> LeakReport:
    """Say which of a project's releases a leaked table comes from; see `trace_file`."""
    if isinstance(table, LongTable):
        return trace_long(project, table, leak, context)
    return trace_file(project, table, leak, context)


class _LongRows:
    """The rows of a table that is too long for memory; see `Sources`."""

    def __init__(self, project: ProjectFile, table: LongTable, context: Context) -> None:
        self._long, self._keys = table, project.keys
        self.policies = LongPolicies(project, table, context)
        self._units: dict[tuple[int, str], UnitsLeft] = {}

    def parts(self, names: Sequence[str], context: Context) -> Iterator[Table]:
        """Yield all rows with some columns, those that the table has."""
        known = [name for name in names if name in self._long.columns]
        for batch, _ in self._long.read(known, "Making pseudonyms again", context):
            yield self._table([batch], known)

    def like(
        self,
        leak: Table,
        telling: Sequence[str],
        candidates: tuple[Candidate, ...],
        context: Context,
    ) -> Source:
        """Return the rows that are like a leaked one in what a release does not perturb.

        Raises
        ------
        TableError
            If they are too many, or the table changed.
        """
        names, search = self._needed(leak, candidates), _Search(leak, telling, candidates)
        for each in candidates:
            self.policies.settled[id(each.maker)].look_through(each, self._keys)
        kept: list[pa.RecordBatch] = []
        where: list[npt.NDArray[np.int64]] = []
        found = 0
        for batch, rows in self._long.read(names, "Comparing the rows", context):
            part = self._table([batch], names)
            alike = search.look_at(self._made_of(part, rows, candidates))
            found += int(alike.sum())
            if found > MOST_ALIKE:
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
        those = self._made_of(self._table(kept, names), places, candidates)
        told = search.told(those)
        return Source(those[0].maker.table, self._long.rows, those, *told, self._units_left)

    def _units_left(self, candidate: Candidate, shown: Mapping[str, pd.Series]) -> UnitsLeft:
        """Return what is known of units that leave, see `units_left`; found once for a view."""
        if candidate.seen not in self._units:
            self._units[candidate.seen] = self._look_at_units(candidate, shown)
        return self._units[candidate.seen]

    def _look_at_units(self, candidate: Candidate, shown: Mapping[str, pd.Series]) -> UnitsLeft:
        maker, view, names = candidate.maker, candidate.view, list(shown)
        assert isinstance(maker, _PartMaker)
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
        read = [name for name in self._long.columns if name in wanted]

        def as_seen(batch: pa.RecordBatch, rows: npt.NDArray[np.int64]) -> Mapping[str, pd.Series]:
            part = self._table([batch.select(read)], read)
            return opened(_PartMaker(settled, part, self._keys, rows), names, view)

        same, most = look_at_units(settled.left, unit.columns, names, Silent(), as_seen, read)
        return UnitsLeft(np.where(leave, sizes[of_rows], 0), most, same)

    def _table(self, batches: Sequence[pa.RecordBatch], names: Sequence[str]) -> Table:
        types = {name: self._long.batches.types[name] for name in names}
        frame = frame_of(batches, types, max(sum(map(len, batches)), 1))
        return Table(frame, self._long.batches.value_labels, is_part=True)

    def _needed(self, leak: Table, candidates: Sequence[Candidate]) -> list[str]:
        """Return the columns that the comparison needs, in the table's order."""
        wanted = set(leak.columns)
        for candidate in candidates:
            wanted |= {name for plan in candidate.plans for name in plan.attributes}
            wanted |= set(() if candidate.view is None else candidate.view.hierarchies)
            document = candidate.maker.document
            for plan in candidate.plans:
                if mechanism_called(plan.mechanism).needs_groups:
                    wanted |= set(public_columns(document, plan.settings, plan.mechanism))
            wanted |= {document.record_key or "", *(document.unit.columns if document.unit else ())}
        return [name for name in self._long.columns if name in wanted]

    def _made_of(
        self,
        part: Table,
        places: npt.NDArray[np.int64],
        candidates: Sequence[Candidate],
    ) -> tuple[Candidate, ...]:
        """Return the candidates as they make columns of rows that stand in some places."""
        makers = {
            place: _PartMaker(settled, part, self._keys, places)
            for place, settled in self.policies.settled.items()
        }
        return tuple(replace(each, maker=makers[id(each.maker)]) for each in candidates)


class _Search:
    """Looks for rows like a leaked one, and counts in all rows what chance is judged by."""

    def __init__(
        self, leak: Table, telling: Sequence[str], candidates: Sequence[Candidate]
    ) -> None:
        self._leak, self._telling = leak, telling
        self._names = [name for name in leak.columns if name not in telling]
        self._makers = list(dict.fromkeys(id(each.maker) for each in candidates))
        self._of_maker = [self._makers.index(id(each.maker)) for each in candidates]
        self._counted: dict[tuple[object, str], OpenColumn] = {}
        self._occurs: dict[tuple[int, str], npt.NDArray[np.int64]] = {}

    def look_at(self, candidates: Sequence[Candidate]) -> npt.NDArray[np.bool_]:
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
        known = self._counted.setdefault((of, name), OpenColumn(ColumnSpec(name, Role.INSENSITIVE)))
        known.marks(alike(column, self._leak.column(name))[0].rename(name), True)

    def told(
        self, candidates: Sequence[Candidate]
    ) -> tuple[dict[str, int], dict[tuple[int, str], npt.NDArray[np.int64]]]:
        """Return how many values columns have, and how often leaked ones occur; see `Source`."""
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
