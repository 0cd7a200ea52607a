"""Units of protection: whose rows belong together, and what a release does to all of them.

A unit is a person with many visits, a household with its members, a company with its sites. An
attribute that is the same in all rows of a unit is drawn once for the unit, whose key takes the
record's place: all its rows show the same value, and the unit loses one ε. An attribute that varies
is drawn row by row; at most K rows of a unit leave, chosen by key, and each row's level is so low
that K of them together tell no more than one release at the level stated for the unit.

Of a table that is too long for memory one bit a row is kept, where not all rows leave, and how
often each value of an attribute occurs that is drawn once for a unit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import Domain, Role
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.core.values import factorize
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Promise, PromiseFigure
from sfumato.engine.mechanisms.promise_words import TELL_OF_EACH_OTHER, at_most, told_by_all
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import unit_ids
from sfumato.engine.randomness.row_order import Positions, release_order
from sfumato.engine.table.combinations import Marks, value_marks
from sfumato.engine.table.repeated_units import units_of, varying_units
from sfumato.engine.table.table import (
    Attribute,
    EncodedColumn,
    MeasuredRows,
    MeasuredUnit,
    Table,
    no_column,
)
from sfumato.formats.bundles.contents import UnitTold
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.document.model import Document, Unit
from sfumato.project.release.bucket_counts import RowsUnits, series_of

Codes = npt.NDArray[np.int64]
RecordIds = npt.NDArray[np.uint64]


def by_unit(unit: Unit, codes: Codes, column: EncodedColumn) -> EncodedColumn:
    """Return a column as it is released: one that is drawn once for a unit counts units.

    Parameters
    ----------
    unit
        What is stated of units.
    codes
        Each row's unit, shape (n,), see `units_of`.
    column
        The column with its rows.

    Raises
    ------
    PolicyError
        If the column is stated to be the same in all rows of a unit, and is not.
    """
    attribute = column.attribute
    measured = MeasuredRows(MeasuredUnit(unit.columns, 1), attribute.at_rows(one_of_each(codes)))
    column = replace(column, attribute=replace(attribute, units=measured))
    if attribute.name not in unit.constant:
        return column
    varying = varying_units(codes, column.values)
    if varying.any():
        rows = np.flatnonzero(varying[codes])
        first = rows[codes[rows] == codes[rows[0]]]
        other = int(first[np.flatnonzero(_differs(column.values[first]))[0]])
        count = int(varying.sum())
        raise varies_within(unit, attribute.name, count, len(varying), int(first[0]), other)
    if attribute.domain is None:
        return column
    firsts = np.unique(codes, return_index=True)[1]
    counts = np.bincount(column.values[firsts], minlength=attribute.domain.size)
    by_units = replace(column.attribute, counts=counts.astype(np.int64), counted=firsts)
    return replace(column, attribute=by_units)


def one_of_each(codes: Codes) -> Codes:
    """Return one row of each unit, which statistics are measured in: they cost the unit ε0 once.

    Units take turns, the first with its first row, the second with its second, so that no place
    within a unit (the head of a household, say) stands for all. Values have no part in it.

    Parameters
    ----------
    codes
        Each row's unit, shape (n,), see `units_of`.

    Returns
    -------
    numpy.ndarray
        Places of rows, ascending, shape (u,).
    """
    sizes = np.bincount(codes)
    rank = pd.Series(codes).groupby(codes).cumcount().to_numpy()
    return np.flatnonzero(rank == codes % sizes[codes])


def varies_within(
    unit: Unit, column: str, count: int, units: int, one: int, other: int
) -> PolicyError:
    """Return the refusal of a column that is stated to be the same in all rows of a unit.

    It differs in so many of all units, first in two rows, counted from 0.
    """
    return PolicyError(
        "{column} is stated to be the same in all rows with the same {unit}, but it differs in"
        " {count:,} of {units:,} {units:group|groups} of rows, first in rows {one:,} and"
        " {other:,}.",
        "Correct these rows, or randomise {column} row by row.",
        column=column,
        unit=unit.name,
        count=count,
        units=units,
        one=one + 1,
        other=other + 1,
    )


def _differs(values: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
    differs: npt.NDArray[np.bool_] = values != values[0]
    return differs


def encoded_by_unit(
    document: Document, table: Table, encoded: Mapping[str, EncodedColumn]
) -> dict[str, EncodedColumn]:
    """Return the attributes of a policy as they are released, see `by_unit`.

    Raises
    ------
    TableError
        If a row's unit is missing.
    PolicyError
        If an attribute is not the same in all rows of a unit although that is stated.
    """
    if document.unit is None:
        return dict(encoded)
    codes = units_of(table, document.unit.columns)
    return {name: by_unit(document.unit, codes, column) for name, column in encoded.items()}


def unit_ids_of(unit: Unit | None, table: Table, keys: KeyRing) -> RecordIds | None:
    """Return the identifier of each row's unit, shape (n,); None where rows stand alone.

    Raises
    ------
    TableError
        If a row's unit is missing.
    """
    if unit is None:
        return None
    codes = units_of(table, unit.columns)
    firsts = np.unique(codes, return_index=True)[1]
    named = [table.column(name).iloc[firsts] for name in unit.columns]
    return unit_ids(named, keys)[codes]


def rows_that_leave(
    unit: Unit | None, unit_ids: RecordIds | None, record_ids: RecordIds, keys: KeyRing
) -> Positions:
    """Return the rows that leave: at most K of a unit, chosen by key, in the table's order.

    Parameters
    ----------
    unit
        What is stated of units; None for every row.
    unit_ids, record_ids
        The identifiers of each row's unit and record, shape (n,).
    keys
        The project's keys.
    """
    if unit is None or unit_ids is None:
        return np.arange(len(record_ids))
    order = release_order(record_ids, keys.for_unit_rows(), Silent())
    rank = pd.Series(unit_ids[order]).groupby(unit_ids[order]).cumcount().to_numpy()
    kept: Positions = np.sort(order[rank < unit.most_rows])
    return kept


def promise_by_unit(
    document: Document, plan: EntryPlan, attributes: Sequence[Attribute]
) -> Promise:
    """Return what a release promises about a policy entry: of a row, and of a whole unit."""
    mechanism = mechanism_called(plan.mechanism)
    promise = mechanism.promise(plan.level, attributes, plan.settings)
    unit = document.unit
    if unit is None:
        return promise
    rows = PromiseFigure(
        "K", "Rows of a unit", float(unit.most_rows), "At most this many leave together."
    )
    if plan.by_unit:
        said = Sentence(
            "All rows with the same {unit} show the same released value, so this holds for all of"
            " them together.",
            unit=unit.name,
        )
        return replace(promise, sentence=joined(promise.sentence, said))
    odds = mechanism.odds_factor(plan.level, attributes, plan.settings)
    whole = None
    if odds is not None:
        whole = _odds_of_rows(odds, mechanism.byproduct_epsilon(plan.settings), unit.most_rows)
    said = _said_of_rows(plan, attributes, unit, whole)
    facts = (*promise.facts, rows)
    if whole is not None:
        loss = PromiseFigure(
            "ε of a unit",
            "Privacy loss of all rows of a unit",
            float(np.log(whole)),
            "The sum over the rows that leave.",
        )
        facts = (*facts, loss)
    more = Sentence(
        "Which rows of a unit leave is decided for each edition of the table: over several"
        " editions more than {rows} of them may leave.",
        rows=unit.most_rows,
    )
    return Promise(joined(promise.sentence, said), facts, (*promise.limits, more))


def _said_of_rows(
    plan: EntryPlan, attributes: Sequence[Attribute], unit: Unit, whole: float | None
) -> Sentence:
    """Return what a promise of a row means for all rows of a unit; `whole` are their odds."""
    if unit.most_rows == 1:
        return Sentence(
            "At most 1 row with the same {unit} leaves, so this holds for all of them together.",
            unit=unit.name,
        )
    if whole is None:
        mechanism = mechanism_called(plan.mechanism)
        stated = mechanism.level(plan.statement, attributes, plan.settings)
        return Sentence(
            "This is said of one row. At most {rows} {rows:row|rows} with the same {unit}"
            " {rows:leaves|leave}, and together they tell no more about it than one row of which"
            " this would be said: {one}",
            rows=unit.most_rows,
            unit=unit.name,
            one=mechanism.promise(stated, attributes, plan.settings).sentence,
        )
    return Sentence(
        "This is said of one row. At most {rows} {rows:row|rows} with the same {unit}"
        " {rows:leaves|leave}, and together they multiply the odds on anything about it by at"
        " most {gamma}.",
        rows=unit.most_rows,
        unit=unit.name,
        gamma=at_most(whole),
    )


def loss_by_unit(
    document: Document, plan: EntryPlan, attributes: Sequence[Attribute]
) -> float | None:
    """Return ε: what a release of a policy entry tells of a unit, or of a row that stands alone.

    None where the mechanism bounds no odds; infinite where it shows true values.
    """
    mechanism = mechanism_called(plan.mechanism)
    odds = mechanism.odds_factor(plan.level, attributes, plan.settings)
    if odds is None:
        return None
    unit = document.unit
    rows = 1 if unit is None or plan.by_unit else unit.most_rows
    return math.log(_odds_of_rows(odds, mechanism.byproduct_epsilon(plan.settings), rows))


def whose_rows(document: Document) -> str:
    """Return what a loss is of: a person, or a unit's rows."""
    if document.unit is None:
        return Sentence("one person")
    return Sentence("all rows with the same {unit}", unit=document.unit.name)


def not_promised_of_one(
    document: Document, plans: Sequence[EntryPlan], attributes: Mapping[str, Attribute]
) -> tuple[str, ...]:
    """Return what the promise of each policy entry leaves open where several are released."""
    if len(plans) < 2:
        return ()
    losses = {
        plan.key: loss_by_unit(document, plan, [attributes[name] for name in plan.attributes])
        for plan in plans
    }
    return (joined(TELL_OF_EACH_OTHER, told_by_all(losses, whose_rows(document))),)


def _odds_of_rows(odds: float, byproducts: float, rows: int) -> float:
    """Return by what several rows multiply anyone's odds, which one row multiplies by `odds`.

    What is told beside the rows, of a loss of `byproducts` for all of them, is told once.
    """
    if math.isinf(odds) or math.isinf(byproducts):
        return math.inf
    told = min(byproducts, math.log(odds))
    return math.exp((math.log(odds) - told) * rows + told)


class SearchedRows(Protocol):
    """What is known of a table's rows: a survey, as far as units depend on it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names, in order."""

    def constant_columns(
        self, columns: Sequence[str], names: Sequence[str], context: Context
    ) -> tuple[tuple[str, ...], int]:
        """Return what `constant_columns` does."""


def unit_of_columns(
    document: Document,
    source: SearchedRows,
    columns: Sequence[str],
    most_rows: int | None,
    context: Context,
) -> tuple[Unit, int]:
    """Return a unit named by some columns, with what is the same in all its rows.

    Parameters
    ----------
    document, source
        What is decided, and what is known of the rows.
    columns
        The columns that name the unit; none of them is sensitive.
    most_rows
        K; None for as many as the largest unit has, so that every row leaves.
    context
        Progress and cancelling.

    Returns
    -------
    tuple
        The unit, and how many rows the largest one has.

    Raises
    ------
    TableError
        If there is no such column, or it is missing in a row.
    PolicyError
        If a column is sensitive, or no two rows belong together.
    """
    check_unit(document, source.columns, columns, most_rows)
    names = [spec.name for spec in document.sensitive if spec.name in source.columns]
    constant, largest = source.constant_columns(columns, names, context)
    return stated_unit(columns, most_rows, largest, constant), largest


def check_unit(
    document: Document, known: Sequence[str], columns: Sequence[str], most_rows: int | None
) -> None:
    """Refuse columns of those `known` that can't name units, as `unit_of_columns` does."""
    for name in columns:
        if name not in known:
            raise no_column(name)
        if document.column(name).role is Role.SENSITIVE:
            raise PolicyError(
                "{column} is sensitive, so it can't say which rows belong together.",
                "Choose a column that names a person, a household or a company.",
                column=name,
            )
    if most_rows is not None and most_rows < 1:
        raise PolicyError(
            "At most {rows} {rows:row|rows} of a unit {rows:is|are} to be released.",
            "Give a whole number from 1 on.",
            rows=most_rows,
        )


def stated_unit(
    columns: Sequence[str], most_rows: int | None, largest: int, constant: Sequence[str]
) -> Unit:
    """Return the unit as it was found, the largest of so many rows; see `unit_of_columns`."""
    if largest < 2:
        raise PolicyError(
            "No two rows share {column}, so no rows belong together.",
            "Choose a column that several rows of one person or household share, or use it as the"
            " record key.",
            column=" + ".join(columns),
        )
    return Unit(tuple(columns), largest if most_rows is None else most_rows, tuple(constant))


def with_once_drawn(
    document: Document, before: Document, source: SearchedRows, context: Context
) -> Document:
    """Let the unit draw once what has become sensitive and is the same in all of its rows.

    Parameters
    ----------
    document, before
        What is decided now, and what was: attributes that were sensitive already stay as they are.
    source
        What is known of the rows, which are looked through.
    context
        Progress and cancelling.

    Raises
    ------
    TableError
        If a column that names the unit is missing in a row.
    """
    unit, new = document.unit, newly_sensitive(document, before)
    if unit is None or not new:
        return document
    names = [name for name in new if name in source.columns]
    return drawn_once(document, new, source.constant_columns(unit.columns, names, context)[0])


def newly_sensitive(document: Document, before: Document) -> tuple[str, ...]:
    """Return the attributes that are sensitive now and were not before."""
    known = {spec.name for spec in before.sensitive}
    return tuple(spec.name for spec in document.sensitive if spec.name not in known)


def drawn_once(document: Document, new: Sequence[str], found: Sequence[str]) -> Document:
    """Return a document whose unit draws those once that were found so of the new attributes."""
    assert document.unit is not None
    kept = tuple(name for name in document.unit.constant if name not in new)
    return replace(document, unit=replace(document.unit, constant=(*kept, *found)))


def constant_columns(
    table: Table, columns: Sequence[str], names: Sequence[str]
) -> tuple[tuple[str, ...], int]:
    """Return the columns that are the same in all rows of every unit, and the largest's rows.

    Raises
    ------
    TableError
        If a column that names the unit is missing in a row.
    """
    codes = units_of(table, columns)
    found = tuple(
        name for name in names if not varying_units(codes, factorize(table.column(name))[0]).any()
    )
    return found, int(np.bincount(codes).max())


def beyond_largest(unit: Unit, largest: int) -> str:
    """Say that K is larger than the largest unit, of so many rows; empty where it is not."""
    if unit.most_rows <= largest:
        return ""
    return Sentence(
        "No {unit} has more than {largest:,} {largest:row|rows}, and K is {rows:,}: attributes"
        " that are randomised row by row get more noise than they need. Set K to {largest:,} or"
        " less.",
        unit=unit.name,
        largest=largest,
        rows=unit.most_rows,
    )


def unit_sentence(document: Document) -> str:
    """Say how rows that belong together are protected; empty where each row stands alone."""
    unit = document.unit
    if unit is None:
        return ""
    once = [spec.name for spec in document.sensitive if spec.name in unit.constant]
    apart = [spec.name for spec in document.sensitive if spec.name not in unit.constant]
    return joined(
        Sentence(
            "Rows with the same {unit} are protected together; at most {rows:,} of them leave.",
            unit=unit.name,
            rows=unit.most_rows,
        ),
        Sentence("Drawn once for all of them: {names}.", names=listed(once)) if once else "",
        Sentence(
            "Randomised row by row, at a level that is stated for all of them: {names}.",
            names=listed(apart),
        )
        if apart
        else "",
    )


def told_of_unit(document: Document, plans: Sequence[EntryPlan]) -> UnitTold | None:
    """Return what recipients are told of units; None where rows stand alone."""
    if document.unit is None:
        return None
    once = [name for plan in plans if plan.by_unit for name in plan.attributes]
    apart = [name for plan in plans if not plan.by_unit for name in plan.attributes]
    columns = [document.column(name) for name in document.unit.columns]
    shown = tuple(spec.name for spec in columns if spec.as_pseudonym is not None)
    return UnitTold(document.unit.name, document.unit.most_rows, tuple(once), tuple(apart), shown)


Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LeavingUnits:
    """The units of a long table, and which of their rows leave.

    Parameters
    ----------
    unit
        What is stated of them.
    number
        How many there are.
    rows
        How many rows leave.
    sizes
        How many units have so many rows that leave, by their number.
    """

    unit: Unit
    number: int
    rows: int
    sizes: Mapping[int, int]
    _held_back: npt.NDArray[np.uint8] | None = field(repr=False)
    _counts: Mapping[str, Mapping[int, int]] = field(repr=False)
    _keys: KeyRing = field(repr=False)

    def leave(self, rows: Places) -> npt.NDArray[np.bool_]:
        """Return which of the rows that stand in these places of the table leave, shape (n,)."""
        if self._held_back is None:
            return np.ones(len(rows), dtype=np.bool_)
        found: npt.NDArray[np.bool_] = self._held_back[rows >> 3] >> (rows & 7) & 1 == 0
        return found

    def of(self, batch: pa.RecordBatch, rows: Places) -> RowsUnits:
        """Return whose some rows are, by numbers under a key that nobody keeps.

        Raises
        ------
        TableError
            If a row's unit is missing.
        """
        return RowsUnits(units_in(batch, self.unit, self._keys), rows)

    def counts(self, seen: pd.Series, domain: Domain, name: str) -> npt.NDArray[np.int64] | None:
        """Return how many units have each value of a domain, shape (m,).

        None where the attribute is drawn row by row. `seen` has each value once, as it is drawn.
        """
        known = self._counts.get(name)
        if known is None:
            return None
        weights = [known.get(mark, 0) for mark in row_marks(seen).tolist()]
        counts = np.bincount(domain.encode(seen, name), weights=weights, minlength=domain.size)
        found: npt.NDArray[np.int64] = counts.astype(np.int64)
        return found


def units_in(batch: pa.RecordBatch, unit: Unit, keys: KeyRing) -> Marks:
    """Return the identifier of each row's unit under some keys, shape (n,)."""
    columns = {name: series_of(batch[name], name) for name in unit.columns}
    found = unit_ids_of(unit, Table(pd.DataFrame(columns, copy=False), is_part=True), keys)
    assert found is not None
    return found


def row_marks(column: pd.Series) -> Marks:
    """Return each row's mark by a column, the same wherever the table is cut."""
    found, places = value_marks(column)
    return found if places is None else found[places]
