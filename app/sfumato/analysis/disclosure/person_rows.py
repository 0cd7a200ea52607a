"""What somebody knows of a person, and which rows of the released files can be the person's.

A row fits where what it shows can be true of the person: a number's interval that holds what is
known, a class of a hierarchy with a value that is known. A row that shows * instead, or whose value
is missing, fits everybody. How likely a row that fits is the person's follows from the table: among
the rows that look alike, the share of those of which the facts are true.

What a fact comes to follows from a column's values, which are found in one pass. In the next, rows
are counted by what they show of the facts, and those that fit are kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.analysis.all_rows import AllRows, RowsPart
from sfumato.engine.core.columns import ColumnSpec, Kind
from sfumato.engine.core.errors import PolicyError, SfumatoError, TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Flags, Floats, factorize, plain
from sfumato.engine.generalization.cells import WHOLE, CellMasks, hides
from sfumato.engine.generalization.hierarchies import Recipe, ground_series, hierarchy_of
from sfumato.engine.table.micro_groups import ValuesMet
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document
from sfumato.project.release.batched_views import BatchedView
from sfumato.project.release.views import Coarsening, coded

_NUMBER: Final = r"([-+\u2212]?\d+(?:[.,]\d+)?)"
_ABOUT: Final = re.compile(rf"{_NUMBER}\s*(?:±|\+/?-)\s*{_NUMBER}")
_RANGE: Final = re.compile(rf"{_NUMBER}\s*(?:\.\.|to|bis|\u2013|-)\s*{_NUMBER}")
_BOUND: Final = re.compile(rf"(<=|>=|≤|≥|<|>)\s*{_NUMBER}")
_DATES: Final = re.compile(
    r"(\d{4}(?:-\d\d){0,2})(?:\s*(?:\.\.|to|bis|\u2013)\s*(\d{4}(?:-\d\d){0,2}))?"
)


@dataclass(frozen=True)
class KnownFact:
    """Something known of a person: a column, and what it is or between what.

    Parameters
    ----------
    column
        The column's name.
    low, high
        For numbers and dates (as numbers, see `_measured`), the ends, both included.
    texts
        For anything else, the values or the hierarchy's labels, one of which is true.
    """

    column: str
    low: float = -np.inf
    high: float = np.inf
    texts: tuple[str, ...] = ()


def fact_of(spec: ColumnSpec, series: pd.Series, text: str) -> KnownFact:
    """Read what is known of a column: ``40``, ``40 ± 2``, ``38 to 42``, ``1980``, ``a | b``.

    Raises
    ------
    PolicyError
        If it can't be read, or a range has its ends the wrong way round.
    """
    stated = text.strip()
    if _is_date(spec, series) and (found := _DATES.fullmatch(stated)):
        with suppress(ValueError):
            first, last = found[1], found[2] or found[1]
            start, end = pd.Period(first).start_time, pd.Period(last).end_time
            return _checked(KnownFact(spec.name, float(start.value), float(end.value)))
    if _is_number(series) and (ends := _ends(stated)) is not None:
        return _checked(KnownFact(spec.name, *ends))
    texts = tuple(part.strip() for part in stated.split("|") if part.strip())
    if not texts:
        raise PolicyError(
            "Nothing is said of {column}.",
            "Give a value, a number with a tolerance such as 40 ± 2, or a range such as 38 to 42.",
            column=spec.name,
        )
    return KnownFact(spec.name, texts=texts)


def _checked(fact: KnownFact) -> KnownFact:
    if fact.low > fact.high:
        raise PolicyError(
            "The range known of {column} ends before it begins.",
            "Give the lower end first.",
            column=fact.column,
        )
    return fact


def _ends(text: str) -> tuple[float, float] | None:
    if found := _ABOUT.fullmatch(text):
        middle, off = _float(found[1]), abs(_float(found[2]))
        return middle - off, middle + off
    if found := re.fullmatch(_NUMBER, text):
        return _float(found[1]), _float(found[1])
    if found := _RANGE.fullmatch(text):
        return _float(found[1]), _float(found[2])
    if found := _BOUND.fullmatch(text):
        end = _float(found[2])
        if found[1] in ("<", ">"):  # the number itself is left out
            end = np.nextafter(end, -np.inf if found[1] == "<" else np.inf)
        return (-np.inf, end) if found[1] in ("<=", "≤", "<") else (end, np.inf)
    return None


def _float(text: str) -> float:
    return float(text.replace(",", ".").replace("\u2212", "-"))


def _is_number(series: pd.Series) -> bool:
    dtype = series.dtype
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def _is_date(spec: ColumnSpec, series: pd.Series) -> bool:
    return spec.kind is Kind.DATE or pd.api.types.is_datetime64_any_dtype(series.dtype)


def _measured(series: pd.Series) -> npt.NDArray[np.float64]:
    """Return numbers as they are and dates as nanoseconds since 1970; not a number where none."""
    if _is_number(series):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    dates = pd.to_datetime(series, errors="coerce").astype("datetime64[ns]")
    return np.where(dates.isna(), np.nan, dates.astype("int64").astype(np.float64))


@dataclass(frozen=True)
class ToldFact:
    """What a column tells of a fact, row by row or value by value.

    Parameters
    ----------
    true, told
        Where the fact holds, and where the cell is not missing, shape (n,).
    label
        The class that is shown where the row is not suppressed, by number, shape (n,).
    possible
        Which classes can be the person's, by their number.
    """

    true: Flags = field(repr=False)
    told: Flags = field(repr=False)
    label: npt.NDArray[np.intp] = field(repr=False)
    possible: Flags = field(repr=False)


def told_by(
    document: Document, table: Table, fact: KnownFact, coarsening: Coarsening | None
) -> ToldFact:
    """Return what the rows of a table tell of a fact; it follows from their values alone.

    Parameters
    ----------
    document
        The columns as they are specified.
    table
        The rows.
    fact
        What is known of a column.
    coarsening
        The view by which the quasi-identifiers are shown; None for as they are.

    Raises
    ------
    PolicyError
        If the column has no such value.
    SfumatoError
        If the view can't be made.
    """
    name, recipes = fact.column, document.hierarchies
    if coarsening is not None:
        recipes = coarsening.hierarchies
    spec, series = document.column(name), table.column(name)
    true, told = _truth(spec, series, fact, recipes.get(name))
    if coarsening is not None and name in recipes and (level := coarsening.level(name)):
        (quasi,) = coded(document.columns, {name: recipes[name]}, table)
        codes, names = _one_by_text(quasi.levels[level][quasi.codes], quasi.labels[level])
        possible = np.isin(names, _end_labels(spec, series, fact, recipes[name], coarsening))
    else:
        positions, uniques = factorize(spec.shown(series))
        codes = positions.astype(np.intp)
        texts = np.array([str(plain(value)) for value in uniques], dtype=object)
        possible = np.isin(texts, _shown_ends(spec, series, fact))
    possible[np.unique(codes[true & told])] = True
    return ToldFact(true, told, codes, possible)


def _one_by_text(
    codes: npt.NDArray[np.intp], names: Sequence[str]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.object_]]:
    """Return codes and labels with classes of one label joined: nobody can tell them apart."""
    texts, of_name = np.unique(np.array(names, dtype=object), return_inverse=True)
    return of_name[codes], texts


def _truth(
    spec: ColumnSpec, series: pd.Series, fact: KnownFact, recipe: Recipe | None
) -> tuple[Flags, Flags]:
    """Return of which rows a fact is true, and of which the column says anything."""
    told = ~series.isna().to_numpy(bool)
    if not fact.texts:
        numbers = _measured(series)
        return (numbers >= fact.low) & (numbers <= fact.high), told
    wanted = {text.casefold() for text in fact.texts}
    true = np.zeros(len(series), dtype=np.bool_)
    known: set[str] = set()
    columns = [series, spec.shown(series)]
    if recipe is not None:
        with suppress(SfumatoError):
            ground = ground_series(spec, series)
            hierarchy = hierarchy_of(recipe, spec, series)
            columns += [hierarchy.generalize(ground, at) for at in range(1, hierarchy.height)]
    for column in columns:
        codes, uniques = factorize(column)
        names = [str(plain(value)).casefold() for value in uniques]
        known |= wanted.intersection(names)
        chosen = np.array([*(name in wanted for name in names), False])
        true |= chosen[codes]
    if known != wanted:
        raise PolicyError(
            "What is said of {column} is no value of the column, and no label of its hierarchy.",
            "Give it as the table spells it; several are parted by |.",
            column=spec.name,
        )
    return true & told, told


def _ends_in(series: pd.Series, fact: KnownFact) -> list[float]:
    """Return the ends of what is known, whole where the column's numbers are."""
    if fact.texts or not _is_number(series):
        return []
    whole = pd.api.types.is_integer_dtype(series.dtype)
    ends = [end for end in (fact.low, fact.high) if np.isfinite(end)]
    if whole:
        ends = [float(end) for end in (np.ceil(fact.low), np.floor(fact.high)) if np.isfinite(end)]
        if np.ceil(fact.low) > np.floor(fact.high):
            return []
    return ends


def _shown_ends(spec: ColumnSpec, series: pd.Series, fact: KnownFact) -> list[str]:
    """Return what a column would show of the ends of what is known, also where no row has them."""
    ends = _ends_in(series, fact)
    with suppress(SfumatoError, TypeError, ValueError):
        shown = spec.shown(pd.Series(ends, name=spec.name).astype(series.dtype))
        return [str(plain(value)) for value in shown]
    return []


def _end_labels(
    spec: ColumnSpec, series: pd.Series, fact: KnownFact, recipe: Recipe, coarsening: Coarsening
) -> list[str]:
    """Return the classes that a view shows of the ends, where its hierarchy knows of them."""
    ends = _ends_in(series, fact)
    if not ends:
        return []
    with suppress(SfumatoError, TypeError, ValueError):
        further = pd.Series(ends, name=spec.name).astype(series.dtype)
        both = pd.concat([series, further], ignore_index=True)
        hierarchy = hierarchy_of(recipe, spec, both)
        level = min(coarsening.level(spec.name), hierarchy.height - 1)
        shown = hierarchy.generalize(ground_series(spec, both).iloc[len(series) :], level)
        return [str(plain(value)) for value in shown]
    return []


MOST_FITTING: Final = 1 << 21
"""Of rows that are read in parts, so many are weighed one by one at most."""
_MOST_VALUES: Final = 1 << 20
"""A column of such rows has at most so many values, if something is known of it."""

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
        return self.part.places[self.rows]


def fitting_rows(
    rows: AllRows, facts: Sequence[KnownFact], coarsening: Coarsening | None, context: Context
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
    search = _FactSearch(rows, facts, coarsening, seen)
    search.find_values(Part(context, 0.4, 0.6))
    return search.find_rows(Part(context, 0.6, 1.0))


class _FactSearch:
    """Looks for the rows that fit, and counts all by what they show of the facts."""

    def __init__(
        self,
        rows: AllRows,
        facts: Sequence[KnownFact],
        coarsening: Coarsening | None,
        seen: BatchedView | None,
    ) -> None:
        self._rows, self._facts = rows, facts
        self._coarsening = coarsening
        self._seen = seen if seen is not None and seen.view.hides else None
        self._values = [ValuesMet() for _ in facts]
        self._told: list[ToldFact] = []
        # Texts: by whole numbers pandas (3.1.1) takes one column's keys for another's.
        self._labels = [f"fact {place}" for place in range(len(facts))]
        self._counts = pd.DataFrame({each: pd.Series(dtype=np.int64) for each in self._labels})
        self._counts[["all", "true"]] = 0

    def find_values(self, context: Context) -> None:
        """Find what the facts come to, by the values that occur."""
        names = [fact.column for fact in self._facts]
        text = "Looking at what is known"
        for part, leaving in self._rows.leaving(names, text, context) if names else ():
            for name, values in zip(names, self._values, strict=True):
                values.codes(_at(part.table.column(name), leaving))
                if len(values.known) > self._rows.most_held(_MOST_VALUES):
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
            stars = self._hidden(part, leaving)
            own_labels, own_shown, fits = self._look_at(part, leaving, stars)
            records, found = records + len(leaving), found + int(fits.sum())
            if max(found, len(self._counts)) > self._rows.most_held(MOST_FITTING):
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
                hidden += int(np.count_nonzero(stars[fits] == WHOLE))
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

    def _hidden(self, part: RowsPart, leaving: Places) -> CellMasks:
        if self._seen is None:
            return np.zeros(len(leaving), dtype=np.uint64)
        return self._rows.hidden(part, self._seen)

    def _look_at(
        self, part: RowsPart, leaving: Places, stars: CellMasks
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
            seen = shown[:, at] = told_of.told[rows] & ~self._starred(stars, fact.column)
            here = (label >= 0) & told_of.possible[label]
            known[here, at] = label[here]
            fits &= ~seen | here
            told &= told_of.told[rows]
            true &= told_of.true[rows]
        if self._facts:
            counted = pd.DataFrame(known[told], columns=self._labels)
            counted["all"], counted["true"] = 1, true[told].astype(np.int64)
            both = pd.concat([self._counts, counted], ignore_index=True)
            self._counts = both.groupby(self._labels, sort=False, as_index=False).sum()
        return labels, shown, fits

    def _starred(self, stars: CellMasks, name: str) -> Flags:
        """Return which of some rows show * for a column."""
        names = () if self._coarsening is None else tuple(self._coarsening.hierarchies)
        if name not in names:
            return np.zeros(len(stars), dtype=np.bool_)
        return hides(stars, names.index(name))

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
            chosen = of_row.ravel() == place
            names = [name for name, seen in zip(self._labels, pattern, strict=True) if seen]
            if not names:
                found[chosen] = counts["true"].sum() / max(int(counts["all"].sum()), 1)
                continue
            alike = counts.groupby(names, as_index=False)[["all", "true"]].sum()
            rows = pd.DataFrame(labels[chosen][:, pattern], columns=names)
            beside = rows.merge(alike, on=names, how="left").fillna(0)
            share = beside["true"].to_numpy() / np.maximum(beside["all"].to_numpy(), 1)
            found[chosen] = share
        total = float(found.sum())
        # Where the facts are true of nobody, every row that fits is as likely as any other.
        return found / total if total > 0.0 else np.full(count, 1.0 / max(count, 1))


def _at(column: pd.Series, rows: Places) -> pd.Series:
    """Return some rows of a column, ascending; itself where these are all."""
    return column if len(rows) == len(column) else column.iloc[rows]
