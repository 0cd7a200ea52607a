"""All rows of a project's table, a part at a time, with what was released of them.

A table in memory is one part of it, and a longer one is read in batches; whoever asks of all rows
asks for a part after the other, and keeps what it counts.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.progress import Context, Part, Silent
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
from sfumato.project.adoption.rows import Rungs
from sfumato.project.document.entry_plan import EntryPlan, check_policy
from sfumato.project.document.model import Document
from sfumato.project.release.groups import MOST_COMBINATIONS, GroupsInParts
from sfumato.project.release.long_counts import series_of
from sfumato.project.release.long_leaving import leaving_rows
from sfumato.project.release.long_release import drawn_groups
from sfumato.project.release.long_table import (
    SAMPLE,
    LongTable,
    Summary,
    frame_of,
    naming_rows,
)
from sfumato.project.release.long_views import LongView, long_view
from sfumato.project.release.regenerate import PartOf, Regenerator
from sfumato.project.release.release_columns import check_columns, material_with, plan_for
from sfumato.project.release.views import Coarsened, Coarsening, coarsened

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
        Where they stand in the table, from 0, shape (k,); None where they are all rows.
    """

    maker: Regenerator
    places: Places | None = field(default=None, repr=False)

    @property
    def table(self) -> Table:
        """The rows."""
        return self.maker.table

    def naming_rows(self) -> AbstractContextManager[None]:
        """Let errors in these rows name the table's."""
        return nullcontext() if self.places is None else naming_rows(self.places)

    def codes(self, attribute: Attribute) -> Codes:
        """Return each row's value of a categorical attribute, shape (k,)."""
        if self.places is None and attribute.codes is not None:
            return attribute.codes
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


class AllRows(ABC):
    """All rows of a table by a policy.

    Parameters
    ----------
    document, keys
        What is decided, and the project's keys.
    folders
        Where adopted files are looked for that are not in their places.
    """

    most_alike: int | None = None
    """How many rows that differ are counted at most; None for any number."""

    def __init__(self, document: Document, keys: KeyRing, folders: Sequence[Path]) -> None:
        self.document, self.keys, self.folders = document, keys, folders

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many there are, n."""

    @property
    def sampled(self) -> int | None:
        """How many of them, drawn evenly, tell which numbers there are; None for all."""
        return None

    @abstractmethod
    def attributes(self, context: Context) -> Mapping[str, Attribute]:
        """Return what mechanisms know about every attribute of the policy.

        Raises
        ------
        SfumatoError
            If the policy and the table don't fit together.
        """

    @abstractmethod
    def part_at(self, place: int, context: Context) -> tuple[RowsPart, int]:
        """Return a part that has the row at a place, and where in it."""

    @abstractmethod
    def parts(self, names: Iterable[str], text: str, context: Context) -> Iterator[RowsPart]:
        """Yield all rows, with some columns at least, in the table's order.

        Raises
        ------
        TableError
            If the table changed meanwhile.
        """

    @abstractmethod
    def leaving(
        self, names: Iterable[str], text: str, context: Context
    ) -> Iterator[tuple[RowsPart, Places]]:
        """Yield parts as `parts` does, and which of their rows leave; raises its errors as well.

        Raises
        ------
        TableError
            If a row's unit or record key is missing, or a record key is repeated.
        """

    @abstractmethod
    def units(self, context: Context) -> int | None:
        """Return how many units the rows that leave belong to; None where rows stand alone."""

    @abstractmethod
    def gathered(self, some: Sequence[tuple[RowsPart, Places]]) -> tuple[RowsPart, Places]:
        """Return some rows of parts, by where they are in these, as one part and where in it."""

    @abstractmethod
    def most_of_a_unit(self, context: Context) -> int:
        """Return how many rows of a unit leave, at most; raises what `leaving_rows` does."""

    @abstractmethod
    def draw(self, plans: Sequence[EntryPlan], context: Context) -> None:
        """Get ready to make policy entries again, of which parts of rows tell too little.

        Raises
        ------
        TableError
            If a group of records has too many of them to be drawn from.
        """

    @abstractmethod
    def seen(self, coarsening: Coarsening, context: Context, leaving: bool = False) -> Coarsened:
        """Return what a view makes of all rows, or of those that leave.

        Raises what `coarsened` does.
        """

    @abstractmethod
    def suppressed(self, part: RowsPart, seen: Coarsened) -> npt.NDArray[np.bool_]:
        """Return which of a part's rows that leave show * in a view of these, shape (k,)."""

    @property
    @abstractmethod
    def maker(self) -> Regenerator:
        """What tells whether a policy entry can be made again, whatever rows it has."""

    def shown(
        self, part: RowsPart, names: Iterable[str], seen: Coarsened | None = None
    ) -> dict[str, pd.Series]:
        """Return columns that are released unperturbed of some rows, by name, as a view has them.

        Raises
        ------
        DomainError
            If a row does not fit a column's bins.
        """
        viewed = {} if seen is None else self._viewed(part, seen)
        return {
            name: viewed[name]
            if name in viewed
            else self.document.column(name).shown(part.table.column(name))
            for name in names
        }

    def _viewed(self, part: RowsPart, seen: Coarsened) -> Mapping[str, pd.Series]:
        return seen.shown_in(part.table) if isinstance(seen, LongView) else seen.columns

    def read_for(self, plans: Sequence[EntryPlan]) -> set[str]:
        """Return the columns that rows need for policy entries to be made again."""
        names = {name for plan in plans for name in plan.attributes}
        unit, key = self.document.unit, self.document.record_key
        names |= set(() if unit is None else unit.columns) | ({key} if key else set())
        for plan in plans:
            names |= set(self.grouped_by.get(plan.key, ()))
        return names

    @property
    def grouped_by(self) -> Mapping[str, Sequence[str]]:
        """For the key of a policy entry that is released by groups, the columns of these."""
        return {}


def rows_of(
    document: Document,
    table: Table | LongTable,
    keys: KeyRing,
    folders: Sequence[Path] = (),
    today: Document | None = None,
    encoded: Mapping[str, EncodedColumn] | None = None,
) -> AllRows:
    """Return all rows of a table by a policy.

    Parameters
    ----------
    document, table, keys
        What is decided, the rows, in memory or not, and the project's keys.
    folders, today
        Where adopted files are looked for, see `Regenerator`.
    encoded
        What is known of the policy's attributes.
    """
    if isinstance(table, LongTable):
        known = {name: each.attribute for name, each in (encoded or {}).items()}
        return _RowsInParts(document, table, keys, folders, known)
    maker = Regenerator(document, table, keys, folders, today, encoded)
    return _RowsInMemory(maker, keys, folders)


class _RowsInMemory(AllRows):
    """Rows that are in memory: one part."""

    def __init__(self, maker: Regenerator, keys: KeyRing, folders: Sequence[Path]) -> None:
        super().__init__(maker.document, keys, folders)
        self._part = RowsPart(maker)

    @property
    def rows(self) -> int:
        return self._part.table.rows

    @property
    def maker(self) -> Regenerator:
        return self._part.maker

    def attributes(self, context: Context) -> Mapping[str, Attribute]:
        context.report(0.0, "Encoding the table")
        return self.maker.attributes()

    def part_at(self, place: int, context: Context) -> tuple[RowsPart, int]:
        context.report(0.0, "Encoding the table")
        return self._part, place

    def parts(self, names: Iterable[str], text: str, context: Context) -> Iterator[RowsPart]:
        del names
        context.report(0.0, text)
        yield self._part

    def leaving(
        self, names: Iterable[str], text: str, context: Context
    ) -> Iterator[tuple[RowsPart, Places]]:
        for part in self.parts(names, text, context):
            yield part, self.maker.leaving

    def units(self, context: Context) -> int | None:
        del context
        if self.document.unit is None:
            return None
        return len(np.unique(self.maker.units[self.maker.leaving]))

    def gathered(self, some: Sequence[tuple[RowsPart, Places]]) -> tuple[RowsPart, Places]:
        [found] = some
        return found

    def most_of_a_unit(self, context: Context) -> int:
        context.report(0.0, "Looking at the units")
        return int(np.bincount(self.maker.units[self.maker.leaving]).max())

    def draw(self, plans: Sequence[EntryPlan], context: Context) -> None:
        """Do nothing: all rows are there."""

    def seen(self, coarsening: Coarsening, context: Context, leaving: bool = False) -> Coarsened:
        context.report(0.0, "Encoding the quasi-identifiers")
        table = self._part.table
        if leaving and len(rows := self.maker.leaving) < table.rows:
            table = replace(table, frame=table.frame.iloc[rows].reset_index(drop=True))
        return coarsened(coarsening, self.document.columns, table)

    def suppressed(self, part: RowsPart, seen: Coarsened) -> npt.NDArray[np.bool_]:
        del part
        return seen.view.suppressed


class _RowsInParts(AllRows):
    """Rows that are read anew, a batch at a time."""

    most_alike = MOST_COMBINATIONS

    def __init__(
        self,
        document: Document,
        table: LongTable,
        keys: KeyRing,
        folders: Sequence[Path],
        known: Mapping[str, Attribute],
    ) -> None:
        super().__init__(document, keys, folders)
        self._long, self._attributes = table.whole, dict(known)
        self._summary: Summary | None = None
        self._groups: dict[str, GroupsInParts] = {}

    @property
    def rows(self) -> int:
        return self._long.rows

    @property
    def sampled(self) -> int | None:
        return SAMPLE if self.rows > SAMPLE else None

    @cached_property
    def maker(self) -> Regenerator:
        none = Table(frame_of([], self._long.batches.types), is_part=True)
        return self._made_of(none, np.zeros(0, dtype=np.int64))

    def attributes(self, context: Context) -> Mapping[str, Attribute]:
        names = {name for entry in self.document.policy for name in entry.attributes}
        if not names <= self._attributes.keys():
            check_policy(self.document)
            check_columns(self.document, self._long)
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
        first, batch = self._long.batches.around(place, context)
        here = batch.slice(place - first, 1)
        return self._part(here, self._long.columns, np.array([place])), 0

    def parts(self, names: Iterable[str], text: str, context: Context) -> Iterator[RowsPart]:
        return self._read(self._long, names, text, context)

    def leaving(
        self, names: Iterable[str], text: str, context: Context
    ) -> Iterator[tuple[RowsPart, Places]]:
        left = self._left(Part(context, 0.0, 0.4))
        for part in self._read(left, names, text, Part(context, 0.4, 1.0)):
            yield part, np.arange(part.table.rows)

    def _left(self, context: Context) -> LongTable:
        return leaving_rows(self._long, self.document, self.keys, context)

    def units(self, context: Context) -> int | None:
        left = self._left(context)
        return None if left.units is None else left.units.number

    def _read(
        self, table: LongTable, names: Iterable[str], text: str, context: Context
    ) -> Iterator[RowsPart]:
        read = [name for name in table.columns if name in set(names)]
        for batch, places in table.read(read, text, context):
            yield self._part(batch, read, places)

    def _part(self, batch: pa.RecordBatch, names: Sequence[str], places: Places) -> RowsPart:
        frame = pd.DataFrame({name: series_of(batch[name], name) for name in names}, copy=False)
        part = Table(frame, self._long.batches.value_labels, is_part=True)
        return RowsPart(self._made_of(part, places), places)

    def gathered(self, some: Sequence[tuple[RowsPart, Places]]) -> tuple[RowsPart, Places]:
        frames = [part.table.frame.iloc[rows] for part, rows in some]
        places = np.concatenate([_places_of(part)[rows] for part, rows in some])
        frame = frames[0] if len(frames) == 1 else pd.concat(frames)
        part = replace(some[0][0].table, frame=frame.reset_index(drop=True))
        return RowsPart(self._made_of(part, places), places), np.arange(len(places))

    def most_of_a_unit(self, context: Context) -> int:
        left = self._left(context)
        return 1 if left.units is None else max(left.units.sizes)

    @cached_property
    def rungs(self) -> Rungs:
        """The adopted releases, matched to all rows."""
        return Rungs(self._long.to_match(Silent()), self.folders)

    def _made_of(self, part: Table, places: Places) -> Regenerator:
        return _PartMaker(self, part, places)

    def draw(self, plans: Sequence[EntryPlan], context: Context) -> None:
        wanted = [plan for plan in plans if mechanism_called(plan.mechanism).needs_groups]
        if not wanted or all(plan.key in self._groups for plan in wanted):
            return
        summary = self._found(Part(context, 0.0, 0.5))
        material = material_with(self.document, summary.witnesses, summary.encoded)
        recipient = self.document.recipients[0].name
        plan = plan_for(material, wanted, recipient)
        part = Part(context, 0.5, 1.0)
        self._groups |= drawn_groups(plan, self.keys, summary.groups, self._long, part)
        self._grouped_by = plan.groups

    _grouped_by: Mapping[str, Sequence[str]] = {}

    @property
    def grouped_by(self) -> Mapping[str, Sequence[str]]:
        return self._grouped_by

    def with_groups(self, table: Table, column: EncodedColumn, key: str) -> EncodedColumn:
        """Return an attribute of some rows with what was dealt to their groups, if anything."""
        groups = self._groups.get(key)
        return column if groups is None else groups.column(table, column)

    def seen(self, coarsening: Coarsening, context: Context, leaving: bool = False) -> Coarsened:
        table = self._left(Part(context, 0.0, 0.4)) if leaving else self._long
        return long_view(table, self.document.columns, coarsening, Part(context, 0.4, 1.0))

    def suppressed(self, part: RowsPart, seen: Coarsened) -> npt.NDArray[np.bool_]:
        assert isinstance(seen, LongView)
        return seen.suppressed_among(part.table)


def _places_of(part: RowsPart) -> Places:
    return np.arange(part.table.rows) if part.places is None else part.places


class _PartMaker(Regenerator):
    """Makes some rows of a long table again, with what is known of all rows."""

    def __init__(self, rows: _RowsInParts, part: Table, places: Places) -> None:
        part_of = PartOf(places, rows.rungs)
        super().__init__(rows.document, part, rows.keys, rows.folders, part_of=part_of)
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
