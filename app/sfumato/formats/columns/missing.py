"""Values that stand for missing ones: those the custodian stated, and those to be asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.progress import Silent
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.table.missing_codes import SuspectedCodes, suspected_codes
from sfumato.engine.table.table import Table
from sfumato.formats.columns.alike import are_texts, notes_on_first_alike
from sfumato.formats.columns.arrays import ArrowColumn, column_of
from sfumato.formats.errors import BadOptions, Way
from sfumato.formats.notes import Note
from sfumato.formats.options import ReadOptions
from sfumato.formats.table_format import Batches, ReadResult

Stated = Mapping[str, tuple[str, ...]]
"""The texts that mean a missing value in single columns."""

_NAMED: Final = 4
_EACH: Final = 6
"""Of more columns than these, one remark tells together."""


def without_texts(batch: pa.RecordBatch, stated: Stated) -> pa.RecordBatch:
    """Return rows in which the texts and numbers that mean a missing value are missing."""
    for name, texts in stated.items():
        place = batch.schema.get_field_index(name)
        if place >= 0:
            values = _without(batch.column(place), texts)
            batch = batch.set_column(place, batch.schema.field(place), values)
    return batch


def _without(values: pa.Array, texts: Sequence[str]) -> pa.Array:
    if pa.types.is_dictionary(values.type):
        left = _without(values.dictionary, texts)
        if left.null_count == values.dictionary.null_count:
            return values
        return (
            left.take(values.indices)
            .cast(values.type.value_type)
            .dictionary_encode()
            .cast(values.type)
        )
    gone = pc.is_in(values, value_set=_as_values(texts, values.type))
    return pc.if_else(gone, pa.scalar(None, values.type), values)


def _as_values(texts: Sequence[str], kind: pa.DataType) -> pa.Array:
    """Return texts as values of a type, without those that are none."""
    found = []
    for text in texts:
        with suppress(pa.ArrowException):
            # A number is also written with decimals that say nothing more.
            number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
            value = pa.scalar(text)
            found.append(value.cast(pa.float64()).cast(kind) if number else value.cast(kind))
    return pa.array(found, type=kind)


def check_stated(names: Sequence[str], options: ReadOptions) -> None:
    """Refuse options that state missing values of a column that is not there.

    Raises
    ------
    BadOptions
        If there is such a column.
    """
    for name in options.column_missing:
        if name not in names:
            left = {other: t for other, t in options.column_missing.items() if other != name}
            raise BadOptions(
                "Missing values of column {column} are stated, but the file has no such column.",
                "Choose a file with this column, or leave it out.",
                ways=(Way("Leave it out", replace(options, column_missing=left)),),
                column=name,
            )


def _stated_in(names: Sequence[str], options: ReadOptions, everywhere: Sequence[str]) -> Stated:
    """Return what means a missing value in each column that has such texts or numbers.

    Raises
    ------
    BadOptions
        If a column that is named is not there.
    """
    check_stated(names, options)
    stated = options.column_missing
    if not everywhere:
        return stated
    return {name: tuple(dict.fromkeys((*stated.get(name, ()), *everywhere))) for name in names}


def with_stated_missing(
    found: ReadResult, options: ReadOptions, everywhere: Sequence[str] = ()
) -> ReadResult:
    """Return what was read, without the values that stand for missing ones in single columns.

    Parameters
    ----------
    found, options
        What was read, and how.
    everywhere
        Texts and numbers that mean a missing value in every column.

    Raises
    ------
    BadOptions
        If a column is not there.
    """
    table = found.table
    stated = _stated_in(table.columns, options, everywhere)
    changed = {
        name: series
        for name, texts in stated.items()
        if (series := _series_without(table.frame[name], name, texts)) is not None
    }
    if not changed:
        return found
    columns = {str(name): series for name, series in table.frame.items()}
    frame = pd.DataFrame({**columns, **changed}, copy=False)
    labels = {
        name: _left(texts, stated.get(name, ())) for name, texts in table.value_labels.items()
    }
    return replace(found, table=replace(table, frame=frame, value_labels=labels))


def _left(labels: Mapping[Any, str], texts: Sequence[str]) -> dict[Any, str]:
    """Return the labels of codes that are still values."""
    if not texts:
        return dict(labels)
    numbers = _as_values(texts, pa.float64()).to_pylist()
    return {code: t for code, t in labels.items() if code not in texts and code not in numbers}


def _series_without(series: pd.Series, name: str, texts: Sequence[str]) -> pd.Series | None:
    """Return a column without some values; None where no row has one."""
    source = ArrowColumn(name, series)
    values = pa.array(source.values.dropna().unique().tolist(), type=source.type)
    gone = values.filter(pc.is_in(values, value_set=_as_values(texts, source.type)))
    if not len(gone):
        return None
    if isinstance(series.dtype, pd.CategoricalDtype):
        return series.cat.remove_categories(gone.to_pylist())
    missing = (series.isin(gone.to_pandas()) | series.isna()).to_numpy(dtype=np.bool_)
    if series.dtype.kind in "iu":
        whole = series.fillna(0).to_numpy(dtype=np.int64, copy=True)
        return pd.Series(column_of(whole, missing), name=series.name, copy=False)
    if series.dtype == np.bool_:
        series = series.astype("boolean")
    return series.mask(missing)


# ----- rows that are read in parts


def batches_with_stated_missing(
    batches: Batches, options: ReadOptions, everywhere: Sequence[str] = ()
) -> Batches:
    """Return batches as `with_stated_missing` returns a table.

    Raises
    ------
    BadOptions
        If a column is not there.
    """
    stated = _stated_in(tuple(batches.types), options, everywhere)
    if not stated:
        return batches

    labels = {n: _left(texts, stated.get(n, ())) for n, texts in batches.value_labels.items()}
    orders = {
        name: tuple(text for text in order if text not in stated.get(name, ()))
        for name, order in batches.orders.items()
    }
    mapped = batches.mapped(partial(without_texts, stated=stated))
    return replace(mapped, value_labels=labels, orders=orders)


# ----- what is asked about


def asked_about_first(batches: Batches, options: ReadOptions) -> Batches:
    """Return batches with remarks on their first rows.

    See `code_notes` and `notes_on_first_alike`.
    """
    names = [
        name
        for name, kind in batches.types.items()
        if pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_temporal(kind)
        or (pa.types.is_dictionary(kind) and are_texts(kind))
    ]
    texts = not options.same_texts and any(map(are_texts, batches.types.values()))
    if not names and not texts:
        return batches
    batch = batches.around(0, Silent())[1]
    more, numbered = len(batch) < batches.rows, not batches.skipped
    notes: tuple[Note, ...] = ()
    if names:
        numbers = batch.select(names).to_pandas(date_as_object=False)
        table = Table(numbers, batches.value_labels, is_part=True)
        notes = tuple(code_notes(table, options, numbered=numbered, of_more=more))
    if texts:
        notes += notes_on_first_alike(batch, options, numbered=numbered, of_more=more)
    return replace(batches, notes=(*batches.notes, *notes))


def code_notes(
    table: Table, options: ReadOptions, *, numbered: bool = True, of_more: bool = False
) -> tuple[Note, ...]:
    """Return remarks on numbers and dates that look like codes for missing values, with the choice.

    No remark names one of them: what it offers to read as missing does.

    Parameters
    ----------
    table
        The table, or some rows of it.
    options
        How it is read.
    numbered
        Whether its rows are numbered as in the file.
    of_more
        Whether these are the first rows of a longer table.
    """
    found = list(suspected_codes(table))
    first = table.rows if of_more else 0
    notes: list[Note] = []
    for texts, dates, amid in _KINDS:
        alike = [one for one in found if (one.texts, one.dates, one.amid) == (texts, dates, amid)]
        if len(alike) > _EACH:
            notes.append(_note(alike, options, first, numbered=False))
        else:
            notes += [_note([each], options, first, numbered=numbered) for each in alike]
    return tuple(notes)


_KINDS: Final = (
    (False, False, False),
    (False, False, True),
    (False, True, False),
    (True, False, False),
)
"""Whether codes are texts, dates, or amid others: what is remarked on in words of its own."""
_TEXTS: Final = (
    "{count} {count:row has|rows have} a number that looks like a code for missing values in"
    " {columns}, where all others are words. Every figure counts it as a value of its own."
)
_TEXTS_OF_MORE: Final = (
    "Among the first {first} {first:row|rows}, {count} {count:has|have} a number that looks like a"
    " code for missing values in {columns}, where all others are words. Every figure counts it as a"
    " value of its own."
)
_DATES: Final = (
    "{count} {count:date|dates} of {columns} {count:looks|look} like codes for missing values: they"
    " repeat and lie far from all others. Every figure counts them."
)
_DATES_OF_MORE: Final = (
    "Among the first {first} {first:row|rows}, {count} {count:date|dates} of {columns}"
    " {count:looks|look} like codes for missing values: they repeat and lie far from all others."
    " Every figure counts them."
)


_AMID: Final = (
    "{count} {count:number|numbers} of {columns} {count:looks|look} like codes for missing values:"
    " all nines, and far more frequent than any number around them. Every figure counts them, and"
    " noise is measured by them."
)
_AMID_OF_MORE: Final = (
    "Among the first {first} {first:row|rows}, {count} {count:number|numbers} of {columns}"
    " {count:looks|look} like codes for missing values: all nines, and far more frequent than any"
    " number around them. Every figure counts them, and noise is measured by them."
)


def _text_of(code: float | str) -> str:
    if isinstance(code, str):
        return code
    return str(int(code) if code.is_integer() else code)


def _note(
    found: Sequence[SuspectedCodes], options: ReadOptions, first: int, *, numbered: bool
) -> Note:
    names = tuple(each.column for each in found)
    changed, count = options, sum(each.count for each in found)
    for each in found:
        texts = [_text_of(code) for code in each.codes]
        changed = changed.with_missing(each.column, texts)
    told = [*names]
    if len(names) > _EACH:
        more = len(names) - _NAMED
        told = [*names[:_NAMED], Sentence("{more} more {more:column|columns}", more=more)]
    if all(each.labelled for each in found):
        words = (
            "{count} {count:number|numbers} of {columns} {count:is|are} labelled as no answer."
            " Every figure counts them, and noise is measured by them."
        )
    elif found[0].texts:
        words = _TEXTS_OF_MORE if first else _TEXTS
    elif found[0].dates:
        words = _DATES_OF_MORE if first else _DATES
    elif found[0].amid:
        words = _AMID_OF_MORE if first else _AMID
    elif first:
        words = (
            "Among the first {first} {first:row|rows}, {count} {count:number|numbers} of {columns}"
            " {count:looks|look} like codes for missing values: they repeat and stand apart from"
            " all others. Every figure counts them, and noise is measured by them."
        )
    else:
        words = (
            "{count} {count:number|numbers} of {columns} {count:looks|look} like codes for missing"
            " values: they repeat and stand apart from all others. Every figure counts them, and"
            " noise is measured by them."
        )
    return Note(
        words,
        {"count": count, "columns": listed(told), "first": first},
        caution=True,
        columns=names,
        count=count,
        rows=tuple(row + 1 for row in found[0].rows) if numbered else (),
        ways=(Way(Sentence("Treat as missing in {columns}", columns=listed(told)), changed),),
    )
