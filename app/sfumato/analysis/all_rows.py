"""All rows of a project's table, a part at a time, with what was released of them.

Whoever asks of all rows asks for a part after the other, and keeps what it counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.generalization.cells import CellMasks
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import GroupProtection, ReleaseRequest, Settings
from sfumato.engine.table.combinations import combined, combined_codes, sizes_of, with_counts
from sfumato.engine.table.table import (
    Attribute,
    EncodedColumn,
    Table,
    encode_attribute,
)
from sfumato.engine.table.table import Rows as Chosen
from sfumato.project.adoption.rows import AdoptedReleaseReader
from sfumato.project.document.entry_plan import EntryPlan, check_policy
from sfumato.project.document.model import Document
from sfumato.project.release.batched_table import (
    BatchedTable,
    Summary,
    naming_rows,
)
from sfumato.project.release.batched_views import BatchedView, batched_view
from sfumato.project.release.bucket_counts import series_of
from sfumato.project.release.groups import MOST_COMBINATIONS, GroupsInParts
from sfumato.project.release.leaving_units import leaving_rows
from sfumato.project.release.regenerate import PartOf, Regenerator, columns_for
from sfumato.project.release.release_columns import (
    check_columns,
    material_of,
    material_with,
    plan_for,
)
from sfumato.project.release.release_stream import drawn_groups
from sfumato.project.release.views import Coarsening
from sfumato.project.release.witnesses import frame_of

if TYPE_CHECKING:
    from sfumato.engine.randomness.keys import KeyRing

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RowsPart:
    """Some rows of a table.

    Parameters
    ----------
    maker
        Has them, and makes their released columns again.
    places
        Where they stand in the table, from 0, shape (k,).
    """

    maker: Regenerator
    places: Places = field(repr=False)

    @property
    def table(self) -> Table:
        """The rows."""
        return self.maker.table

    def naming_rows(self) -> AbstractContextManager[None]:
        """Let errors in these rows name the table's."""
        return naming_rows(self.places)

    def codes(self, attribute: Attribute) -> Codes:
        """Return each row's value of a categorical attribute, shape (k,)."""
        spec = self.maker.specification(attribute.name)
        assert spec is not None
        column = encode_attribute(self.table, replace(spec, domain=attribute.domain))
        return cast(Codes, column.values)

    def request(self, plan: EntryPlan, rows: Chosen) -> ReleaseRequest:
        """Return what a mechanism is asked for some of the rows, each released by itself.

        Of an entry that is released by groups, what is dealt to all rows is found first.
        """
        whole, mechanism = self.maker.request(plan), mechanism_called(plan.mechanism)
        [first, *others] = whole.columns
        if isinstance(mechanism, GroupProtection) and first.dealt is None:
            drawn = mechanism.rows_to_draw(whole, Silent())
            dealt = mechanism.dealt(drawn, whole.attributes, whole.settings)
            whole = replace(whole, columns=(replace(first, dealt=dealt), *others))
        return whole.at(rows)


class AllRows:
    """All rows of a table by a policy, read anew whenever they are needed.

    Parameters
    ----------
    document, table, keys
        What is decided, the rows, and the project's keys.
    folders
        Where adopted files are looked for that are not in their places.
    today
        Where adopted files are today, if the document is an earlier one.
    known
        What mechanisms know about attributes of the policy, as far as that was found before.
    """

    def __init__(
        self,
        document: Document,
        table: BatchedTable,
        keys: KeyRing,
        folders: Sequence[Path] = (),
        today: Document | None = None,
        known: Mapping[str, Attribute] | None = None,
    ) -> None:
        self.document, self.keys, self.folders, self.today = document, keys, folders, today
        self._table, self._attributes = table.whole, dict(known or {})
        self._summary: Summary | None = None
        self._groups: dict[str, GroupsInParts] = {}

    @property
    def rows(self) -> int:
        """How many there are, n."""
        return self._table.rows

    @property
    def fits(self) -> bool:
        """Whether they may be in memory together."""
        return self._table.fits

    @property
    def sampled(self) -> int | None:
        """How many of them, drawn evenly, tell which numbers there are; None for all."""
        return self._table.most_sampled if self.rows > self._table.most_sampled else None

    @property
    def most_alike(self) -> int:
        """How many rows that differ are counted at most."""
        return self.most_held(MOST_COMBINATIONS)

    def most_held(self, most: int) -> int:
        """Return how many rows may be in memory together; see `BatchedTable`."""
        return self._table.most_held(most)

    @cached_property
    def maker(self) -> Regenerator:
        """What tells whether a policy entry can be made again, whatever rows it has."""
        none = Table(frame_of([], self._table.batches.types), is_part=True)
        return self._made_of(none, np.zeros(0, dtype=np.int64))

    def attributes(self, context: Context) -> Mapping[str, Attribute]:
        """Return what mechanisms know about every attribute of the policy.

        Raises
        ------
        SfumatoError
            If the policy and the table don't fit together.
        """
        names = {name for entry in self.document.policy for name in entry.attributes}
        if not names <= self._attributes.keys():
            check_policy(self.document)
            check_columns(self.document, self._table.columns)
            if (held := self._table.held_rows()) is not None:
                self._attributes = material_of(self.document, held).attributes
                return self._attributes
            found = self._found(Part(context, 0.0, 0.6))
            for name, column in found.encoded.items():
                attribute = column.attribute
                if attribute.domain is None:  # the few rows of every sort tell little of numbers
                    attribute = encode_attribute(found.every, self.document.column(name)).attribute
                self._attributes.setdefault(name, attribute)
            self._count_combinations(Part(context, 0.6, 1.0))
        return self._attributes

    def _count_combinations(self, context: Context) -> None:
        """Count the combinations of values of attributes that are protected together."""
        asked = []
        for entry in self.document.policy:
            chosen = tuple(self._attributes[name] for name in entry.attributes)
            drawn_once = self.document.unit and self.document.unit.draws_once(entry.attributes)
            if combined(chosen).counts is None and chosen[0].numbers is None and not drawn_once:
                asked.append((chosen, np.zeros(math.prod(sizes_of(chosen)), dtype=np.int64)))
        names = {attribute.name for chosen, _ in asked for attribute in chosen}
        for part in self.parts(names, "Counting combinations of values", context) if asked else ():
            with part.naming_rows():
                for chosen, counts in asked:
                    codes = combined_codes([part.codes(each) for each in chosen], sizes_of(chosen))
                    counts[:] += np.bincount(codes, minlength=len(counts))
        for chosen, counts in asked:
            with_counts(chosen, counts)

    def _found(self, context: Context) -> Summary:
        if self._summary is None:
            left, part = self._left(Part(context, 0.0, 0.4)), Part(context, 0.4, 1.0)
            self._summary = left.summary(self.document, part, for_checks=False)
        return self._summary

    def part_at(self, place: int, context: Context) -> tuple[RowsPart, int]:
        """Return a part that has the row at a place, and where in it."""
        first, batch = self._table.batches.around(place, context)
        here = batch.slice(place - first, 1)
        return self._part(here, self._table.columns, np.array([place])), 0

    def parts(self, names: Iterable[str], text: str, context: Context) -> Iterator[RowsPart]:
        """Yield all rows, with some columns at least, in the table's order.

        Raises
        ------
        TableError
            If the table changed meanwhile.
        """
        return self._read(self._table, names, text, context)

    def leaving(
        self, names: Iterable[str], text: str, context: Context
    ) -> Iterator[tuple[RowsPart, Places]]:
        """Yield parts as `parts` does, and which of their rows leave; raises its errors as well.

        Raises
        ------
        TableError
            If a row's unit or record key is missing, or a record key is repeated.
        """
        left = self._left(Part(context, 0.0, 0.4))
        for part in self._read(left, names, text, Part(context, 0.4, 1.0)):
            yield part, np.arange(part.table.rows)

    def _left(self, context: Context) -> BatchedTable:
        return leaving_rows(self._table, self.document, self.keys, context)

    def units(self, context: Context) -> int | None:
        """Return how many units the rows that leave belong to; None where rows stand alone."""
        left = self._left(context)
        return None if left.units is None else left.units.number

    def _read(
        self, table: BatchedTable, names: Iterable[str], text: str, context: Context
    ) -> Iterator[RowsPart]:
        read = [name for name in table.columns if name in set(names)]
        for batch, places in table.read(read, text, context):
            yield self._part(batch, read, places)

    def _part(self, batch: pa.RecordBatch, names: Sequence[str], places: Places) -> RowsPart:
        frame = pd.DataFrame({name: series_of(batch[name], name) for name in names}, copy=False)
        part = Table(frame, self._table.batches.value_labels, is_part=True)
        return RowsPart(self._made_of(part, places), places)

    def gathered(self, some: Sequence[tuple[RowsPart, Places]]) -> tuple[RowsPart, Places]:
        """Return some rows of parts, by where they are in these, as one part and where in it."""
        frames = [part.table.frame.iloc[rows] for part, rows in some]
        places = np.concatenate([part.places[rows] for part, rows in some])
        frame = frames[0] if len(frames) == 1 else pd.concat(frames)
        part = replace(some[0][0].table, frame=frame.reset_index(drop=True))
        return RowsPart(self._made_of(part, places), places), np.arange(len(places))

    def most_of_a_unit(self, context: Context) -> int:
        """Return how many rows of a unit leave, at most; raises what `leaving_rows` does."""
        left = self._left(context)
        return 1 if left.units is None else max(left.units.sizes)

    @cached_property
    def rungs(self) -> AdoptedReleaseReader:
        """The adopted releases, matched to all rows."""
        return AdoptedReleaseReader(self._table.to_match(Silent()), self.folders)

    def _made_of(self, part: Table, places: Places) -> Regenerator:
        return _PartMaker(self, part, places)

    def draw(self, plans: Sequence[EntryPlan], context: Context) -> None:
        """Get ready to make policy entries again, of which parts of rows tell too little.

        Raises
        ------
        TableError
            If a group of records has too many of them to be drawn from.
        """
        wanted = [plan for plan in plans if mechanism_called(plan.mechanism).needs_groups]
        if not wanted or all(plan.key in self._groups for plan in wanted):
            return
        summary = self._found(Part(context, 0.0, 0.5))
        material = material_with(self.document, summary.witnesses, summary.encoded)
        recipient = self.document.recipients[0].name
        plan = plan_for(material, wanted, recipient)
        part = Part(context, 0.5, 1.0)
        self._groups |= drawn_groups(plan, self.keys, summary.groups, self._table, part)

    def with_groups(self, table: Table, column: EncodedColumn, key: str) -> EncodedColumn:
        """Return an attribute of some rows with what was dealt to their groups, if anything."""
        groups = self._groups.get(key)
        return column if groups is None else groups.column(table, column)

    def seen(self, coarsening: Coarsening, context: Context, leaving: bool = False) -> BatchedView:
        """Return what a view makes of all rows, or of those that leave.

        Raises what `batched_view` does.
        """
        table = self._left(Part(context, 0.0, 0.4)) if leaving else self._table
        return batched_view(table, self.document.columns, coarsening, Part(context, 0.4, 1.0))

    def hidden(self, part: RowsPart, seen: BatchedView) -> CellMasks:
        """Return which cells of a part's rows that leave show * in a view of these, shape (k,)."""
        return seen.hidden_among(part.table)

    def shown(
        self, part: RowsPart, names: Iterable[str], seen: BatchedView | None = None
    ) -> dict[str, pd.Series]:
        """Return columns that are released unperturbed of some rows, by name, as a view has them.

        Raises
        ------
        DomainError
            If a row does not fit a column's bins.
        """
        viewed = {} if seen is None else seen.shown_in(part.table)
        return {
            name: viewed[name]
            if name in viewed
            else self.document.column(name).shown(part.table.column(name))
            for name in names
        }

    def read_for(self, plans: Sequence[EntryPlan]) -> set[str]:
        """Return the columns that rows need for policy entries to be made again."""
        return columns_for(self.document, plans)


def rows_of(
    document: Document,
    table: BatchedTable,
    keys: KeyRing,
    folders: Sequence[Path] = (),
    today: Document | None = None,
    encoded: Mapping[str, EncodedColumn] | None = None,
) -> AllRows:
    """Return all rows of a table by a policy; see `AllRows`, with what is known as columns."""
    known = {name: each.attribute for name, each in (encoded or {}).items()}
    return AllRows(document, table, keys, folders, today, known)


class _PartMaker(Regenerator):
    """Makes some rows of a table again, with what is known of all rows."""

    def __init__(self, rows: AllRows, part: Table, places: Places) -> None:
        part_of = PartOf(places, rows.rungs)
        super().__init__(rows.document, part, rows.keys, part_of, rows.today)
        self._all = rows

    def attributes(self) -> dict[str, Attribute]:
        """Return what mechanisms know about every attribute of the present policy."""
        return dict(self._all.attributes(Silent()))

    def _encode(self, name: str) -> EncodedColumn:
        if name not in self._encoded:
            attribute = self._all.attributes(Silent())[name]
            spec = replace(self.document.column(name), domain=attribute.domain)
            column = EncodedColumn(attribute, encode_attribute(self.table, spec).values)
            entry = self.document.entry_for(name)
            if entry is not None:
                column = self._all.with_groups(self.table, column, entry.key)
            self._encoded[name] = column
        return self._encoded[name]

    def _grouped(
        self, attributes: tuple[str, ...], mechanism: str, settings: Settings
    ) -> dict[str, EncodedColumn]:
        del mechanism, settings
        return {name: self._encode(name) for name in attributes}
