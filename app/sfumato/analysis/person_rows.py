"""The rows of a table that can be a person's, and how likely each of them is.

What a fact comes to follows from a column's values, which are found in one pass. In the next, rows
are counted by what they show of the facts, and those that fit are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.analysis.all_rows import AllRows, RowsPart
from sfumato.analysis.person_facts import Fact, Told, told_by
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.table.micro_groups import ValuesMet
from sfumato.engine.table.table import Table
from sfumato.project.release.views import Coarsened, Coarsening

MOST_FITTING: Final = 1 << 21
"""Of rows that are read in parts, so many are weighed one by one at most."""
_MOST_VALUES: Final = 1 << 20
"""A column of such rows has at most so many values, if something is known of it."""

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Fitting:
    """The rows that can be a person's.

    Parameters
    ----------
    part, rows
        Rows of the table, and which of them they are, shape (k,).
    weights
        How likely each is the person's before any sensitive value is looked at, shape (k,),
        summing to 1.
    hidden
        How many of them show * and fit everybody.
    records
        How many rows leave.
    """

    part: RowsPart
    rows: Places = field(repr=False)
    weights: Floats = field(repr=False)
    hidden: int
    records: int

    @property
    def places(self) -> Places:
        """Where they stand in the table, from 0, shape (k,)."""
        return self.rows if self.part.places is None else self.part.places[self.rows]


def fitting_rows(
    rows: AllRows, facts: Sequence[Fact], coarsening: Coarsening | None, context: Context
) -> Fitting:
    """Return the rows that can be the person's, by what somebody's files show.

    Parameters
    ----------
    rows
        All rows of the table.
    facts
        What is known, a fact for each column at most.
    coarsening
        The view by which the quasi-identifiers are shown; None for as they are.
    context
        Progress and cancelling.

    Raises
    ------
    PolicyError
        If a column has no such value.
    TableError
        If more rows fit than can be weighed, or a known column has too many values.
    SfumatoError
        If the view can't be made.
    """
    seen = None
    if coarsening is not None:
        seen = rows.seen(coarsening, Part(context, 0.0, 0.4), leaving=True)
    search = _Search(rows, facts, coarsening, seen)
    search.find_values(Part(context, 0.4, 0.6))
    return search.find_rows(Part(context, 0.6, 1.0))


class _Search:
    """Looks for the rows that fit, and counts all by what they show of the facts."""

    def __init__(
        self,
        rows: AllRows,
        facts: Sequence[Fact],
        coarsening: Coarsening | None,
        seen: Coarsened | None,
    ) -> None:
        self._rows, self._facts = rows, facts
        self._coarsening = coarsening
        self._seen = seen if seen is not None and bool(seen.view.suppressed.any()) else None
        self._values = [ValuesMet() for _ in facts]
        self._told: list[Told] = []
        self._labels = list(range(len(facts)))
        self._counts = pd.DataFrame({each: pd.Series(dtype=np.int64) for each in self._labels})
        self._counts[["all", "true"]] = 0

    def find_values(self, context: Context) -> None:
        """Find what the facts come to, by the values that occur."""
        names = [fact.column for fact in self._facts]
        text = "Looking at what is known"
        for part, leaving in self._rows.leaving(names, text, context) if names else ():
            for name, values in zip(names, self._values, strict=True):
                values.codes(_at(part.table.column(name), leaving))
                if self._rows.most_alike is not None and len(values.known) > _MOST_VALUES:
                    raise TableError(
                        "Column {column} has more than {most:,} different {most:value|values}, too"
                        " many to look for a person by it in parts.",
                        "Leave out what is known of it, or let more memory be taken.",
                        column=name,
                        most=_MOST_VALUES,
                    )
        for fact, values in zip(self._facts, self._values, strict=True):
            table = Table(values.series(fact.column).to_frame(), is_part=True)
            self._told.append(told_by(self._rows.document, table, fact, self._coarsening))

    def find_rows(self, context: Context) -> Fitting:
        """Return the rows that fit.

        Raises
        ------
        TableError
            If they are too many, or the table changed.
        """
        records = found = 0
        kept: list[tuple[RowsPart, Places]] = []
        labels, shown, hidden = [], [], 0
        for part, leaving in self._rows.leaving(self._needed(), "Looking for the person", context):
            stars = self._suppressed(part, leaving)
            own_labels, own_shown, fits = self._look_at(part, leaving, stars)
            records, found = records + len(leaving), found + int(fits.sum())
            if self._rows.most_alike is not None and max(found, len(self._counts)) > MOST_FITTING:
                raise TableError(
                    "More than {most:,} {most:row|rows} of the table can be the person's, too many"
                    " to be weighed one by one in parts.",
                    "Say more of the person, or let more memory be taken.",
                    most=MOST_FITTING,
                )
            if fits.any() or not kept:
                kept.append(self._rows.gathered([(part, leaving[fits])]))
                labels.append(own_labels[fits])
                shown.append(own_shown[fits])
                hidden += int(np.count_nonzero(stars[fits]))
        whole, rows = self._rows.gathered(kept)
        weights = self._weights(np.concatenate(labels), np.concatenate(shown))
        return Fitting(whole, rows, weights, hidden, records)

    def _needed(self) -> set[str]:
        """Return the columns of the rows that fit."""
        document, unit = self._rows.document, self._rows.document.unit
        wanted = {fact.column for fact in self._facts}
        wanted |= {name for entry in document.policy for name in entry.attributes}
        wanted |= {document.record_key} if document.record_key else set()
        wanted |= set(() if unit is None else unit.columns)
        if self._coarsening is not None:
            wanted |= set(self._coarsening.hierarchies)
        return wanted

    def _suppressed(self, part: RowsPart, leaving: Places) -> Flags:
        if self._seen is None:
            return np.zeros(len(leaving), dtype=np.bool_)
        return self._rows.suppressed(part, self._seen)

    def _look_at(
        self, part: RowsPart, leaving: Places, stars: Flags
    ) -> tuple[npt.NDArray[np.intp], Flags, Flags]:
        """Count some rows; return what each shows of each fact, where it does, and which fit."""
        shape = len(leaving), len(self._facts)
        labels, shown = np.zeros(shape, np.intp), np.zeros(shape, np.bool_)
        fits, told, true = (np.ones(len(leaving), dtype=np.bool_) for _ in range(3))
        known = np.full(shape, -1, dtype=np.intp)
        for at, (fact, told_of, values) in enumerate(
            zip(self._facts, self._told, self._values, strict=True)
        ):
            rows = values.looked_up(_at(part.table.column(fact.column), leaving))
            if rows.max(initial=0) >= len(told_of.label):
                raise TableError("The table changed while it was read.", "Start again.")
            label = labels[:, at] = told_of.label[rows]
            seen = shown[:, at] = told_of.told[rows] & ~(stars & self._viewed(fact.column))
            here = (label >= 0) & told_of.possible[label]
            known[here, at] = label[here]
            fits &= ~seen | here
            told &= told_of.told[rows]
            true &= told_of.true[rows]
        if self._facts:
            counted = pd.DataFrame(known[told])
            counted["all"], counted["true"] = 1, true[told].astype(np.int64)
            both = pd.concat([self._counts, counted], ignore_index=True)
            self._counts = both.groupby(self._labels, sort=False, as_index=False).sum()
        return labels, shown, fits

    def _viewed(self, name: str) -> bool:
        return self._coarsening is not None and name in self._coarsening.hierarchies

    def _weights(self, labels: npt.NDArray[np.intp], shown: Flags) -> Floats:
        """Return how likely the facts are true of each row that fits by what it shows, shape (k,).

        Among all rows of which everything is told and that have the same classes, it is the share
        of those of which the facts are true.
        """
        count, counts = len(labels), self._counts
        found = np.ones(count)
        if not self._told:
            return found / max(count, 1)
        patterns, of_row = np.unique(shown, axis=0, return_inverse=True)
        for place, pattern in enumerate(patterns):
            chosen, names = of_row.ravel() == place, np.flatnonzero(pattern).tolist()
            if not names:
                found[chosen] = counts["true"].sum() / max(int(counts["all"].sum()), 1)
                continue
            alike = counts.groupby(names, as_index=False)[["all", "true"]].sum()
            rows = pd.DataFrame(labels[chosen][:, names], columns=names)
            beside = rows.merge(alike, on=names, how="left").fillna(0)
            share = beside["true"].to_numpy() / np.maximum(beside["all"].to_numpy(), 1)
            found[chosen] = share
        total = float(found.sum())
        # Where the facts are true of nobody, every row that fits is as likely as any other.
        return found / total if total > 0.0 else np.full(count, 1.0 / max(count, 1))


def _at(column: pd.Series, rows: Places) -> pd.Series:
    """Return some rows of a column, ascending; itself where these are all."""
    return column if len(rows) == len(column) else column.iloc[rows]
