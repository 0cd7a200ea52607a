"""Finding a person in a table that is too long for memory.

What a fact comes to follows from a column's values, so that these are found in one pass. In the
next, rows are counted by what they show of the facts, and those that fit are kept; only their
released values are made again. All counts are of all rows; figures are those of `find_person`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.analysis.find_person import Among, check_holders, person_among
from sfumato.analysis.holdings import Basis
from sfumato.analysis.person_facts import Told, told_by
from sfumato.analysis.person_found import Knowledge, NumberBelief, PersonFound
from sfumato.engine.core.errors import PolicyError, TableError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Attribute, EncodedColumn, Table, encode_attribute
from sfumato.formats.columns.buffers import Distinct
from sfumato.project.adoption.rows import Rungs
from sfumato.project.document.model import Document
from sfumato.project.ledger.records import ReleaseRecord
from sfumato.project.release.groups import check_knowledge
from sfumato.project.release.long_leaving import leaving_rows
from sfumato.project.release.long_table import (
    SAMPLE,
    LongTable,
    Summary,
    frame_of,
)
from sfumato.project.release.long_views import LongView, long_view
from sfumato.project.release.regenerate import PartOf, Regenerator
from sfumato.project.release.value_counts import series_of
from sfumato.project.release.views import Coarsening, coarsening_of, finest_of

MOST_FITTING: Final = 1 << 21
"""So many rows are weighed one by one at most."""
_MOST_VALUES: Final = 1 << 20
"""The values of a column of which something is known are not listed if there are more."""

Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]


def why_sought_whole(knowledge_of_others: bool) -> str:
    """Return why a person is looked for with all rows in memory; empty where it can be in parts."""
    return Sentence("other holders' tables are compared with it") if knowledge_of_others else ""


def find_in_parts(
    document: Document,
    table: LongTable,
    keys: KeyRing,
    knowledge: Knowledge,
    releases: Sequence[ReleaseRecord],
    basis: Basis,
    context: Context,
) -> tuple[PersonFound, Table]:
    """Return what `find_person` does of a long table, and the rows that fit, the likeliest first.

    Parameters
    ----------
    document, table, keys
        The policy that is weighed, the rows, and the project's keys.
    knowledge, releases, basis, context
        As for `find_person`.

    Raises
    ------
    PolicyError
        As `find_person`, or if other holders' tables need all rows at once.
    TableError
        If more rows fit than can be weighed, or a known column has too many values.
    SfumatoError
        If the policy and the table don't fit together.
    """
    check_holders(knowledge)
    check_knowledge(document, [fact.column for fact in knowledge.facts])
    if why := why_sought_whole(bool(knowledge.classes)):
        raise PolicyError(
            "The table is too long to hold all its rows at once, which finding a person needs"
            " here: {why}.",
            "Read all of the table, on a machine with the memory for it.",
            why=why,
        )
    left = leaving_rows(table, document, keys, Part(context, 0.0, 0.1))
    finest = finest_of(document, knowledge.holders)
    coarsening = None if finest is None else coarsening_of(document, finest)
    seen = None
    if coarsening is not None:
        seen = long_view(left, document.columns, coarsening, Part(context, 0.1, 0.3))
    search = _Search(document, left, knowledge, coarsening, seen)
    search.find_values(Part(context, 0.3, 0.4))
    search.find_rows(Part(context, 0.4, 0.6))
    summary = left.summary(document, Part(context, 0.6, 0.8), for_checks=False)
    maker = _Maker(document, left, search, keys, summary)
    among = Among(
        np.arange(len(search.places)),
        search.places,
        search.weights(),
        int(np.count_nonzero(search.hidden)),
        left.rows,
        None if left.units is None else left.units.number,
        "" if coarsening is None else coarsening.own.recipient,
    )
    found = person_among(maker, knowledge, releases, basis, among, Part(context, 0.8, 1.0))
    frame = search.part.frame.iloc[np.searchsorted(search.places, found.rows)]
    return found, replace(search.part, frame=frame.reset_index(drop=True))


def attributes_and_types(
    document: Document, table: LongTable, keys: KeyRing, counted: bool, context: Context
) -> tuple[Mapping[str, Attribute], Table]:
    """Return the policy's attributes, where they are to be counted, and a table without rows.

    Raises the errors of `find_in_parts`.
    """
    types, attributes = frame_of([], table.batches.types), {}
    if counted:
        left = leaving_rows(table, document, keys, Part(context, 0.0, 0.3))
        summary = left.summary(document, Part(context, 0.3, 1.0), for_checks=False)
        attributes = {name: column.attribute for name, column in summary.encoded.items()}
    return attributes, Table(types, is_part=True)


def left_out_in_parts(document: Document, rows: int, found: PersonFound) -> tuple[str, ...]:
    """Return what is estimated from some of a long table's rows, or left out, in sentences."""
    told = []
    if rows > SAMPLE and any(isinstance(each, NumberBelief) for each in found.beliefs):
        told.append(
            Sentence(
                "The table is read in parts: which numbers are common is known from {some:,} of its"
                " {rows:,} {rows:row|rows}, drawn evenly.",
                some=SAMPLE,
                rows=rows,
            )
        )
    if document.generalization is not None and document.generalization.others:
        told.append(
            Sentence(
                "The table is read in parts: what other holders' tables tell of the person is left"
                " out."
            )
        )
    return tuple(told)


class _Maker(Regenerator):
    """Makes some rows of a long table again, with what is known of all rows."""

    def __init__(
        self,
        document: Document,
        left: LongTable,
        search: _Search,
        keys: KeyRing,
        summary: Summary,
    ) -> None:
        known, part = {}, search.part
        for name, column in summary.encoded.items():
            attribute, spec = column.attribute, document.column(name)
            if attribute.domain is None:
                attribute = encode_attribute(summary.every, spec).attribute
            own = encode_attribute(part, replace(spec, domain=attribute.domain))
            known[name] = EncodedColumn(attribute, own.values)
        # Adopted files that have moved with the project are beside it.
        rungs = Rungs(left.to_match(Silent()), (left.folder,))
        part_of = PartOf(search.places, rungs)
        super().__init__(document, part, keys, encoded=known, part_of=part_of)


class _Values:
    """The values of a column, each once, in whatever batches its rows come."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._distinct: Distinct | None = None
        self._met = np.zeros(0, dtype=np.bool_)
        self._missing = False

    def places(self, column: pa.Array) -> Places:
        """Return which value each row has, shape (n,); −1 where it is missing."""
        encoded = column.dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        if self._distinct is None:
            self._distinct = Distinct(encoded.dictionary.type)
        known = self._distinct.places_of(encoded.dictionary)
        if len(self._distinct) > _MOST_VALUES:
            raise TableError(
                "Column {column} has more than {most:,} different {most:value|values}, too many to"
                " look for a person by it in parts.",
                "Leave out what is known of it, or let more memory be taken.",
                column=self.name,
                most=_MOST_VALUES,
            )
        found: Places = np.append(known, -1).astype(np.int64)[codes]
        return found

    def add(self, column: pa.Array) -> None:
        """Meet some rows."""
        found = self.places(column)
        assert self._distinct is not None
        met = np.zeros(len(self._distinct), dtype=np.bool_)
        met[: len(self._met)] = self._met
        met[found[found >= 0]] = True
        self._met, self._missing = met, self._missing or bool((found < 0).any())

    def table(self) -> Table:
        """Return the values that rows have, each once; a missing one at the end if there is any."""
        assert self._distinct is not None
        values = self._distinct.values.filter(pa.array(self._met))
        none = pa.nulls(int(self._missing), values.type)
        series = series_of(pa.concat_arrays([values, none]), self.name)
        return Table(series.to_frame(self.name), is_part=True)

    def rows(self, column: pa.Array) -> Places:
        """Return the row of `table` that has the value of each row of the column, shape (n,)."""
        found = self.places(column)
        if (found >= len(self._met)).any():
            raise TableError("The table changed while it was read.", "Start again.")
        return np.append(np.cumsum(self._met) - 1, int(self._met.sum()))[found]


class _Search:
    """Looks for the rows that fit, and counts all by what they show of the facts."""

    def __init__(
        self,
        document: Document,
        left: LongTable,
        knowledge: Knowledge,
        coarsening: Coarsening | None,
        seen: LongView | None,
    ) -> None:
        self._document, self._left, self._facts = document, left, knowledge.facts
        self._coarsening = coarsening
        self._seen = seen if seen is not None and bool(seen.view.suppressed.any()) else None
        self._values = [_Values(fact.column) for fact in knowledge.facts]
        self._told: list[Told] = []
        self._labels = list(range(len(knowledge.facts)))
        self._counts = pd.DataFrame({each: pd.Series(dtype=np.int64) for each in self._labels})
        self._counts[["all", "true"]] = 0
        self._fitting = self._shown = np.zeros((0, len(self._labels)))

    def find_values(self, context: Context) -> None:
        """Find what the facts come to, by the values that occur."""
        names = list(dict.fromkeys(each.name for each in self._values))
        if not names:
            return
        for batch, _ in self._left.read(names, "Looking at what is known", context):
            for each in self._values:
                each.add(batch[each.name])
        self._told = [
            told_by(self._document, values.table(), fact, self._coarsening)
            for fact, values in zip(self._facts, self._values, strict=True)
        ]

    def find_rows(self, context: Context) -> None:
        """Keep the rows that fit.

        Raises
        ------
        TableError
            If they are too many, or the table changed.
        """
        names, kept, where = self._needed(), [], [np.empty(0, dtype=np.int64)]
        labels, shown = [np.empty((0, len(self._facts)), np.intp)], [self._shown.astype(bool)]
        hidden, found = [np.empty(0, dtype=np.bool_)], 0
        for batch, rows in self._left.read(names, "Looking for the person", context):
            stars = self._suppressed(batch)
            own_labels, own_shown, fits = self._look_at(batch, stars)
            found += int(fits.sum())
            if max(found, len(self._counts)) > MOST_FITTING:
                raise TableError(
                    "More than {most:,} {most:row|rows} of the table can be the person's, too many"
                    " to be weighed one by one in parts.",
                    "Say more of the person, or let more memory be taken.",
                    most=MOST_FITTING,
                )
            if fits.any():
                kept.append(batch.filter(pa.array(fits)))
                where.append(rows[fits])
                labels.append(own_labels[fits])
                shown.append(own_shown[fits])
                hidden.append(stars[fits])
        types = {name: self._left.batches.types[name] for name in names}
        self.places, self.hidden = np.concatenate(where), np.concatenate(hidden)
        frame = frame_of(kept, types, max(len(self.places), 1))
        self.part = Table(frame, self._left.batches.value_labels, is_part=True)
        self._fitting, self._shown = np.concatenate(labels), np.concatenate(shown)

    def _needed(self) -> list[str]:
        """Return the columns of the rows that fit, in the table's order."""
        document, unit = self._document, self._document.unit
        wanted = {fact.column for fact in self._facts} | {document.record_key}
        wanted |= {name for entry in document.policy for name in entry.attributes}
        wanted |= set(() if unit is None else unit.columns)
        if self._seen is not None:
            wanted |= set(self._seen.coarsening.hierarchies)
        return [name for name in self._left.columns if name in wanted]

    def _suppressed(self, batch: pa.RecordBatch) -> Flags:
        if self._seen is None:
            return np.zeros(len(batch), dtype=np.bool_)
        names = self._seen.coarsening.hierarchies
        frame = pd.DataFrame({name: series_of(batch[name], name) for name in names})
        return self._seen.suppressed_among(Table(frame, is_part=True))

    def _look_at(
        self, batch: pa.RecordBatch, stars: Flags
    ) -> tuple[npt.NDArray[np.intp], Flags, Flags]:
        """Count some rows; return what each shows of each fact, where it does, and which fit."""
        shape = len(batch), len(self._facts)
        labels, shown = np.zeros(shape, np.intp), np.zeros(shape, np.bool_)
        fits, told, true = (np.ones(len(batch), dtype=np.bool_) for _ in range(3))
        known = np.full(shape, -1, dtype=np.intp)
        for at, (fact, values) in enumerate(zip(self._told, self._values, strict=True)):
            rows = values.rows(batch[values.name])
            label = labels[:, at] = fact.label[rows]
            seen = shown[:, at] = fact.told[rows] & ~(stars & self._viewed(values.name))
            here = (label >= 0) & fact.possible[label]
            known[here, at] = label[here]
            fits &= ~seen | here
            told &= fact.told[rows]
            true &= fact.true[rows]
        if self._told:
            counted = pd.DataFrame(known[told])
            counted["all"], counted["true"] = 1, true[told].astype(np.int64)
            both = pd.concat([self._counts, counted], ignore_index=True)
            self._counts = both.groupby(self._labels, sort=False, as_index=False).sum()
        return labels, shown, fits

    def _viewed(self, name: str) -> bool:
        return self._coarsening is not None and name in self._coarsening.hierarchies

    def weights(self) -> npt.NDArray[np.float64]:
        """Return how likely the facts are true of each row that fits by what it shows, shape (k,).

        Among all rows of which everything is told and that have the same classes, it is the share
        of those of which the facts are true.
        """
        count, counts = len(self.places), self._counts
        found = np.ones(count)
        if not self._told:
            return found / max(count, 1)
        patterns, of_row = np.unique(self._shown, axis=0, return_inverse=True)
        for place, pattern in enumerate(patterns):
            chosen, names = of_row.ravel() == place, np.flatnonzero(pattern).tolist()
            if not names:
                found[chosen] = counts["true"].sum() / max(int(counts["all"].sum()), 1)
                continue
            alike = counts.groupby(names, as_index=False)[["all", "true"]].sum()
            rows = pd.DataFrame(self._fitting[chosen][:, names], columns=names)
            beside = rows.merge(alike, on=names, how="left").fillna(0)
            share = beside["true"].to_numpy() / np.maximum(beside["all"].to_numpy(), 1)
            found[chosen] = share
        total = float(found.sum())
        return found / total if total > 0.0 else np.full(count, 1.0 / max(count, 1))
