"""The policies that releases were made by, and what each comes to in all rows of the table.

What depends on other rows (views, groups, adopted releases, which rows leave) is found for all of
them; columns of any rows of the table, some at a time, are then made again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import SfumatoError, TableError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.row_order import Positions
from sfumato.engine.table.table import EncodedColumn, Table, encode_attribute
from sfumato.formats.table_format import RowStream
from sfumato.project.adoption.rows import AdoptedReleaseReader
from sfumato.project.document.model import Document
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable, ReleaseSummary
from sfumato.project.release.batched_views import BatchedView, batched_view
from sfumato.project.release.groups import GroupsInParts
from sfumato.project.release.leaving_units import leaving_rows
from sfumato.project.release.plan import Plan, open_column
from sfumato.project.release.prepared import recall_summary
from sfumato.project.release.regenerate import PartOf, PoliciesInForce, Regenerator, columns_for
from sfumato.project.release.release_columns import EncodedTable, material_with, plan_for
from sfumato.project.release.release_stream import UNIT, WHERE, drawn_groups, stream_of
from sfumato.project.release.views import Coarsening
from sfumato.project.release.witnesses import frame_of
from sfumato.project.verification.leak_candidates import LeakCandidate
from sfumato.project.verification.recognition import RecognizedRelease


@dataclass(eq=False)
class PolicyContext:
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
    keys
        The project's.
    counted
        The groups of its entries that need them, by the entry's key.
    groups
        Those with what is dealt to their rows, by the attributes.
    views
        What its views make of these; None for those that don't fit the table.
    """

    material: EncodedTable
    today: Document
    left: BatchedTable
    rungs: AdoptedReleaseReader
    keys: KeyRing = field(repr=False)
    counted: Mapping[str, GroupsInParts]
    groups: dict[tuple[str, ...], GroupsInParts] = field(default_factory=dict)
    views: dict[str, BatchedView | None] = field(default_factory=dict)

    def look_through(self, candidate: LeakCandidate, keys: KeyRing) -> None:
        """Find what a candidate shows of the rows that depends on others, unless that is known."""
        plan = plan_for(self.material, candidate.plans, "")
        self._drawn(plan, keys, Silent())
        if (view := candidate.view) is not None:
            self.look_through_view(view)

    def rows_again(
        self,
        maker: Regenerator,
        match: RecognizedRelease,
        context: Context,
        only: Sequence[str] = (),
    ) -> RowStream:
        """Return the rows of a release, to be made again, with where they stand in the table.

        What can't be made again is left out, and so is all but some columns where these are given.
        """
        material, left = self.material, self.left
        entries = [each for each in match.plans if not maker.obstacle(each)]
        plan = plan_for(material, entries, match.recipient, match.view)
        drawn = {name for each in entries for name in each.attributes}
        known = {*drawn, *(s.name for s in maker.document.columns if s.role is not Role.SENSITIVE)}
        if not match.recipient:
            known -= plan.pseudonyms.keys()  # whose they would be is not known
        plan = replace(
            plan,
            released=tuple(n for n in plan.released if n in (only or known)),
            release_id=match.ordered_for or "",
            rows_as_in_table=match.ordered_for is None,
        )
        seen = None
        if match.view is not None:
            seen = batched_view(
                left, material.document.columns, match.view, Part(context, 0.0, 0.5)
            )
        groups = self._drawn(plan, self.keys, Part(context, 0.5, 1.0))
        adopted = {each.key: maker.rungs_of(each) for each in entries}
        releaser = plan.bind(self.keys, seen, groups, adopted, placed=True)
        beside, units = dict(WHERE), left.units
        if units is not None:
            beside[UNIT] = lambda batch, rows: units.of(batch, rows).units
        return stream_of(releaser, left, beside)

    def part_at(self, places: Positions, match: RecognizedRelease, context: Context) -> PartMaker:
        """Return what makes the perturbed columns of rows that stand in some places again."""
        needed = columns_for(self.material.document, match.plans)
        names = [name for name in self.left.columns if name in needed]
        kept = list[pa.RecordBatch]()
        order = np.argsort(places)
        ordered = places[order]
        for batch, rows in self.left.read(names, "Examining the rows", context):
            wanted = ordered[slice(*np.searchsorted(ordered, [rows[0], rows[-1] + 1]))]
            kept.append(batch.take(pa.array(np.searchsorted(rows, wanted))))
        batches, back = self.left.batches, np.argsort(order)
        types = {name: batches.types[name] for name in names}
        orders = {name: each for name, each in batches.orders.items() if name in names}
        frame = frame_of(kept, types, max(len(places), 1), orders).iloc[back]
        part = batches.table(frame.reset_index(drop=True), is_part=True)
        return PartMaker(self, part, self.keys, places.astype(np.int64))

    def _drawn(self, plan: Plan, keys: KeyRing, context: Context) -> dict[str, GroupsInParts]:
        """Return the groups of a plan's entries with what is dealt to their rows."""
        counted = {key: self.counted[key] for key in plan.groups}
        drawn = drawn_groups(plan, keys, counted, self.left, context)
        self.groups |= {
            each.attributes: drawn[each.key] for each in plan.entries if each.key in drawn
        }
        return drawn

    def look_through_view(self, view: Coarsening) -> None:
        """Find what a view shows of the rows that depends on others, unless that is known."""
        if repr(view) not in self.views:
            try:
                columns = self.material.document.columns
                seen = batched_view(self.left, columns, view, Silent())
            except TableError:
                raise
            except SfumatoError:
                seen = None
            self.views[repr(view)] = seen


class TablePolicies(PoliciesInForce):
    """Knows of each policy in force what its attributes come to in all rows."""

    def __init__(self, project: ProjectFile, table: BatchedTable, context: Context) -> None:
        self.table, self._context = table, context
        self._rungs = AdoptedReleaseReader(table.to_match(Silent()), (project.path.parent,))
        self._contexts: dict[int, PolicyContext] = {}
        super().__init__(project.document, project.keys)

    def context_of(self, maker: Regenerator) -> PolicyContext:
        """Return what one that tells which releases can be made again knows of all rows."""
        return self._contexts[id(maker)]

    def maker(self, policy: Document, today: Document) -> Regenerator:
        """Return what tells which releases can be made again, by rows of every sort.

        Raises
        ------
        SfumatoError
            If a row does not fit the policy.
        """
        left = leaving_rows(self.table, policy, self._keys, self._context)
        known = _of_columns(policy, left.columns)
        found, encoded = self._looked_through(known, left)
        part_of = PartOf(found.places, self._rungs)
        made = Regenerator(policy, found.witnesses, self._keys, part_of, today, encoded)
        material = material_with(known, found.witnesses, found.encoded)
        self._contexts[id(made)] = PolicyContext(
            material, today, left, self._rungs, self._keys, found.groups
        )
        return made

    def _looked_through(
        self, policy: Document, left: BatchedTable
    ) -> tuple[ReleaseSummary, dict[str, EncodedColumn]]:
        """Return what is known of the table, and of the policy's attributes."""
        found = left.summary(policy, self._context, for_checks=False)
        encoded = dict(found.encoded)
        for name, column in found.encoded.items():
            if column.attribute.domain is None:  # its few witnesses tell little of numbers
                sampled = encode_attribute(found.sample, policy.column(name))
                encoded[name] = replace(column, attribute=sampled.attribute)
        return found, encoded


class RecalledPolicies(TablePolicies):
    """Knows of numbers only what a release has to, so that a table need not be looked through."""

    def __init__(self, project: ProjectFile, table: BatchedTable, context: Context) -> None:
        super().__init__(project, table, context)
        self._remembered, self._source = project.remembered, project.document.source

    def _looked_through(
        self, policy: Document, left: BatchedTable
    ) -> tuple[ReleaseSummary, dict[str, EncodedColumn]]:
        recall_summary(self._remembered, replace(policy, source=self._source), left)
        found = left.for_release(policy, self._context, for_checks=False)
        return found, dict(found.encoded)


def _of_columns(policy: Document, names: Collection[str]) -> Document:
    """Return what a policy decides about columns that a table has."""
    entries = (each for each in policy.policy if set(each.attributes) <= set(names))
    columns = (each for each in policy.columns if each.name in names)
    return replace(policy, columns=tuple(columns), policy=tuple(entries))


class PartMaker(Regenerator):
    """Makes columns of some rows again."""

    def __init__(
        self, settled: PolicyContext, part: Table, keys: KeyRing, places: npt.NDArray[np.int64]
    ) -> None:
        part_of = PartOf(places, settled.rungs)
        document, today = settled.material.document, settled.today
        super().__init__(document, part, keys, part_of, today)
        self.settled, self._places = settled, places

    def with_keys(self, keys: KeyRing) -> PartMaker:
        """Return one that draws the same rows with other keys."""
        return PartMaker(self.settled, self.table, keys, self._places)

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
