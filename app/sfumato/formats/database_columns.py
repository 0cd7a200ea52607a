"""Columns of databases: how they are asked for, and what their values are read as."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pandas as pd
import pyarrow as pa

from sfumato.engine.core.frozen import dataclass
from sfumato.formats.columns.arrays import ArrowColumn, in_stated_order
from sfumato.formats.columns.exact import first_altered
from sfumato.formats.columns.parsing import holds_zones
from sfumato.formats.columns.settling import altered_note, gathered, mixed_note, zone_note
from sfumato.formats.notes import Note
from sfumato.formats.options import ColumnType, ReadOptions


@dataclass(frozen=True)
class DatabaseColumn:
    """A column of what is read.

    Parameters
    ----------
    name
        Its name.
    type
        The Arrow type that it comes as.
    expression
        What is selected for it.
    order
        What rows are put in order by, after the columns before it.
    later
        What its texts are read as, where all of them can be: numbers whose digits a decimal
        number may not hold, and dates that are kept as texts.
    texts, others
        How many of its values are texts, where others are none, and what these are.
    zoned
        Whether its times of day have a time zone, which is left out.
    categories
        Its values in their order, where the database states one.
    """

    name: str
    type: pa.DataType
    expression: str
    order: str
    later: ColumnType | None = None
    texts: int = 0
    others: ColumnType = ColumnType.INTEGER
    zoned: bool = False
    categories: tuple[str, ...] = ()


def frame_as_described(
    frame: pd.DataFrame, described: Sequence[DatabaseColumn], options: ReadOptions
) -> tuple[pd.DataFrame, tuple[Note, ...]]:
    """Return columns as what their values stand for, and what is to be said of them.

    Parameters
    ----------
    frame, described
        The columns as they came, and what the database tells of each.
    options
        How they are read; columns whose types these fix stay as they are.
    """
    changed, notes = {}, []
    for name, each in zip(map(str, frame.columns), described, strict=True):
        if name in options.column_types:
            continue
        note = None
        if each.later is not None:
            changed[name], note = _settled(frame[name], each, options)
        elif options.version > 1:
            note = _note_on(name, each, options)
            if each.categories:
                changed[name] = in_stated_order(frame[name], each.categories)
        if note is not None and options.version > 1:
            notes.append(note)
    columns = {str(name): series for name, series in frame.items()}
    return pd.DataFrame({**columns, **changed}, copy=False), tuple(notes)


def _note_on(name: str, column: DatabaseColumn, options: ReadOptions) -> Note | None:
    """Return what is said of how a column is read, by what the database tells of all its values."""
    if column.texts:
        return mixed_note(name, column.others, options, column.texts)
    if column.zoned:
        words = (
            "Column {column} holds times of day with a time zone, which is left out. Read a query"
            " that turns the column into text, to keep it."
        )
        return Note(words, {"column": name}, caution=True, columns=(name,))
    return None


def _first_altered(texts: pd.Series) -> int:
    """Return the first row whose number 64 bits would not give back, from 0; -1 if none."""
    block = ArrowColumn(str(texts.name), texts).block(slice(None)).cast(pa.string())
    with suppress(pa.ArrowInvalid):  # what is no number stays text
        return first_altered(block)
    return -1


def _settled(
    texts: pd.Series, described: DatabaseColumn, options: ReadOptions
) -> tuple[Any, Note | None]:
    """Return texts as what they stand for; as they are, where that would alter one, and say so."""
    name, kind = str(texts.name), described.later
    assert kind is not None
    if kind is ColumnType.NUMBER and options.version > 1:
        altered = _first_altered(texts)
        if altered >= 0:
            return texts, altered_note(name, altered + 1, options)
    # A number is found out, not fixed: what is fixed may lose digits.
    wanted = options if kind is ColumnType.NUMBER else options.with_type(name, kind)
    if kind is ColumnType.DATE and holds_zones(ArrowColumn(name, texts).block(slice(None))):
        return texts, zone_note(name, options)
    column = gathered(texts, name, wanted)
    if column.given_up or column.code_at >= 0 or len(column.bad):
        note = mixed_note(name, kind, options, len(column.bad)) if len(column.bad) else None
        return texts, note
    return column.finish(None), None
