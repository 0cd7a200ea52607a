"""Texts that people read as the same and programs tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.formats.columns.arrays import ArrowColumn, TextBuffer, is_ordered
from sfumato.formats.columns.parsing import trimmed
from sfumato.formats.errors import Way, grouped
from sfumato.formats.notes import Note
from sfumato.formats.options import ReadOptions

_INVISIBLE: Final = "[\u00ad\u200b\u2060\ufeff]"
"""Characters that no letter's form depends on: soft hyphens, blanks without a width."""


def as_they_look(texts: pa.Array) -> pa.Array:
    """Return texts so that those that look alike are the same.

    Blanks at their ends and characters that nobody sees are taken away, and a letter with an
    accent is one character where Unicode has it.
    """
    if pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_decode()
    seen = pc.replace_substring_regex(texts, _INVISIBLE, "")
    return pc.utf8_trim_whitespace(pc.utf8_normalize(seen, "NFC"))


def batch_as_it_looks(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows whose texts are the same where they look alike; see `as_they_look`."""
    columns = [as_they_look(each) if are_texts(each.type) else each for each in batch.columns]
    return pa.record_batch(columns, names=batch.schema.names)


def frame_as_it_looks(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table's columns; texts are the same where they look alike, see `as_they_look`.

    Categories in an order stay as they are: two of them may look alike and mean different things.
    """
    found = {}
    for name, series in frame.items():
        source = None if is_ordered(series) else _texts_of(str(name), series)
        if source is None:
            continue
        texts = TextBuffer(len(series))
        for start in range(0, len(series), _ROWS):
            texts.add(as_they_look(source.block(slice(start, start + _ROWS))))
        found[name] = texts.finish(None)
    return pd.DataFrame({name: found.get(name, frame[name]) for name in frame}, copy=False)


_ROWS: Final = 1 << 18


def notes_on_alike(frame: pd.DataFrame, options: ReadOptions) -> tuple[Note, ...]:
    """Say which columns hold texts that look alike, of those whose texts repeat."""
    found = []
    for name, series in frame.items():
        if isinstance(series.dtype, pd.CategoricalDtype):
            source = _texts_of(str(name), series)
            if source is not None and (rows := _alike(source)):
                way = Way("Make texts that look alike the same", replace(options, same_texts=True))
                found.append(_note(str(name), rows, () if is_ordered(series) else (way,)))
    return tuple(found)


def _alike(source: ArrowColumn) -> Mapping[int, int]:
    """Return the first row of each category that looks like another one, from 0, by its place."""
    texts = pa.array(source.values.to_list(), pa.string())
    if pc.all(pc.string_is_ascii(texts)).as_py() and trimmed(texts) is texts:
        return {}
    seen = as_they_look(texts).dictionary_encode().indices.to_numpy()
    several = np.flatnonzero(np.bincount(seen)[seen] > 1)
    if not len(several):
        return {}
    codes = source.series.cat.codes.to_numpy()
    met, firsts = np.unique(codes, return_index=True)
    rows = dict(zip(met.tolist(), firsts.tolist(), strict=True))
    present = {place: rows[place] for place in several.tolist() if place in rows}
    # Of categories that no row has, nobody is told.
    return present if len({seen[place] for place in present}) < len(present) else {}


def notes_on_first_alike(
    batch: pa.RecordBatch, options: ReadOptions, *, numbered: bool, of_more: bool
) -> tuple[Note, ...]:
    """Say which columns hold texts that look alike among the first rows of a longer table.

    Parameters
    ----------
    batch
        These rows.
    options
        How they are read.
    numbered
        Whether they are numbered as in the file.
    of_more
        Whether others follow.
    """
    encoded = {
        name: (values if pa.types.is_dictionary(values.type) else values.dictionary_encode())
        for name, values in zip(batch.schema.names, batch.columns, strict=True)
        if are_texts(values.type)
    }
    repeating = {
        name: values.to_pandas()
        for name, values in encoded.items()
        if 2 * len(values.dictionary) <= len(values)
    }
    found = notes_on_alike(pd.DataFrame(repeating, copy=False), options)
    if not numbered:
        found = tuple(replace(note, rows=()) for note in found)
    if not of_more:
        return found
    words = (
        "Column {column}: among the first {first} {first:row|rows}, {count} of its texts look like"
        " others of them, and are told apart: they differ in blanks at their ends, in characters"
        " that nobody sees, or in how letters with accents are stored. The rows that follow were"
        " not looked at."
    )
    return tuple(
        replace(note, template=words, details={**note.details, "first": len(batch)})
        for note in found
    )


def _note(name: str, rows: Mapping[int, int], ways: tuple[Way, ...]) -> Note:
    return Note(
        "Column {column}: {count} of its texts look like others of them, and are told apart: they"
        " differ in blanks at their ends, in characters that nobody sees, or in how letters with"
        " accents are stored.",
        {"column": name, "count": grouped(len(rows))},
        columns=(name,),
        count=len(rows),
        rows=tuple(sorted(row + 1 for row in rows.values())[:_NAMED]),
        ways=ways,
    )


_NAMED: Final = 5


def _texts_of(name: str, series: pd.Series) -> ArrowColumn | None:
    source = ArrowColumn(name, series)
    return source if source.type == pa.string() else None


def are_texts(kind: pa.DataType) -> bool:
    """Whether values are texts, and not categories in an order."""
    if pa.types.is_dictionary(kind):
        return bool(pa.types.is_string(kind.value_type)) and not kind.ordered
    return bool(pa.types.is_string(kind))
