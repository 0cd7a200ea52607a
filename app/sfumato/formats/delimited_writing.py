"""Tables written as delimited texts."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.parallel import made_ahead, made_side_by_side
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.table.table import Table
from sfumato.formats.columns.arrays import ArrowColumn, Chosen, precision
from sfumato.formats.files import HashedFile
from sfumato.formats.table_format import (
    PLACE,
    Rows,
    RowStream,
    SharedColumns,
    WrittenFile,
    arrays_of,
    in_blocks,
    rows_together,
)

_ROWS: Final = 1 << 17
_END: Final = "\r\n"
_MOST_KEPT: Final = 1 << 28
"""So many bytes of text that several files have are held at most."""
_SECOND: Final = "%Y-%m-%dT%H:%M:%S"


def write_delimited(table: Table, path: Path, context: Context, order: Rows = None) -> WrittenFile:
    """Write a table as RFC 4180 has it: UTF-8, commas, CR LF.

    Texts stand in quotes, so that an empty text differs from a missing value, which is an
    empty field; numbers, dates and ``true`` or ``false`` stand without. A decimal has as many
    digits as give it back exactly; infinity is ``INF``. Dates follow ISO 8601, and the time of
    day is left out where a column has none. The same table gives the same bytes.

    Raises
    ------
    UnsupportedColumn
        If a column holds something that is neither number, text, date nor yes/no.
    """
    alone = len(table.columns) == 1
    columns = {str(name): _CsvColumn(str(name), s, alone) for name, s in table.frame.items()}
    schema = pa.schema([(name, column.type) for name, column in columns.items()])
    style = {"eol": _END, "quoting_style": "needed"}

    def lines(arrays: Sequence[pa.Array], *, header: bool = False) -> pa.Buffer:
        sink = pa.BufferOutputStream()
        options = pa.csv.WriteOptions(include_header=header, **style)
        pa.csv.write_csv(pa.record_batch(arrays, schema=schema), sink, options)
        return sink.getvalue()

    with HashedFile(path) as file:
        file.write(lines(pa.RecordBatch.from_pylist([], schema).columns, header=True))
        rows = rows_together(_ROWS, len(columns))
        ready, left, folder = Part(context, 0.0, 0.3), Part(context, 0.3, 1.0), path.parent
        parts: Iterator[pa.Buffer]
        if (shared := _SharedLines.of(columns, order, ready, folder)) is not None:
            made = in_blocks(shared.columns.others(left, folder), rows)
            parts = made_side_by_side(shared.lines, made_ahead(made), pa.cpu_count())
        else:
            blocks = arrays_of(table, columns, order, rows, context, folder)
            parts = made_side_by_side(lines, made_ahead(blocks), pa.cpu_count())
        for part in parts:
            file.write(part)
    context.report(1.0, "Finishing the file")
    return WrittenFile(file.digest)


@dataclass(frozen=True)
class _SharedLines:
    """Lines of a file that are, but for some columns, those of the files before in another order.

    Neighbouring columns that are shared are one text of each row, which is made once.
    """

    by_name: Mapping[str, _CsvColumn]
    columns: SharedColumns
    texts: Sequence[pa.Array]

    @classmethod
    def of(
        cls, by_name: Mapping[str, _CsvColumn], rows: Rows, context: Context, folder: Path
    ) -> _SharedLines | None:
        """Return what makes the lines; None where nothing is shared, or too much to be kept."""
        if not isinstance(rows, RowStream) or (shared := rows.shared) is None:
            return None
        kept, key = shared.kept, tuple(each.way for each in by_name.values())
        if key not in kept:
            lines = cls(by_name, shared, ())
            found = lines._made(rows.rows, context, folder)
            if sum(text.nbytes for texts in kept.values() for text in texts or ()) > _MOST_KEPT:
                kept.clear()
            kept[key] = found
        texts = kept[key]
        return None if texts is None else cls(by_name, shared, texts)

    def _runs(self) -> Iterator[tuple[bool, dict[str, str]]]:
        """Yield neighbouring columns, whether they are shared, and what follows each."""
        last = list(self.by_name)[-1]
        for alike, names in groupby(self.by_name, self.columns.names.__contains__):
            yield alike, {name: "" if name != last else _END for name in names}

    def _made(self, rows: int, context: Context, folder: Path) -> Sequence[pa.Array] | None:
        """Return the texts of all rows; None where they would take too much memory."""
        if not all(_has_plain_text(self.by_name[name].type) for name in self.by_name):
            return None
        runs = [names for alike, names in self._runs() if alike]
        made: list[list[pa.Array]] = [[] for _ in runs]
        done, size = 0, 0
        for batch in self.columns.in_table(context, folder):
            for names, texts in zip(runs, made, strict=True):
                texts.append(_joined(self._texts_of(batch, names)))
            done, size = done + len(batch), size + sum(texts[-1].nbytes for texts in made)
            if size * rows > _MOST_KEPT * done:  # all of them would, if they are like these
                return None
        return [pa.concat_arrays(texts) for texts in made]

    def _texts_of(self, batch: pa.RecordBatch, ends: Mapping[str, str]) -> list[pa.Array]:
        return [self.by_name[name].text(batch[name], end) for name, end in ends.items()]

    def lines(self, batch: pa.RecordBatch) -> pa.Buffer:
        """Return the lines of some rows, of which the others' columns are given."""
        shared, parts = iter(self.texts), list[pa.Array]()
        for alike, names in self._runs():
            if alike:
                parts.append(next(shared).take(batch[PLACE]))
            else:
                parts += self._texts_of(batch, names)
        joined = _joined(parts)
        _, offsets, data = joined.buffers()
        return data.slice(0, int(np.frombuffer(offsets, dtype=np.int32)[len(joined)]))


def _joined(texts: Sequence[pa.Array]) -> pa.Array:
    return texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, ",")


def _has_plain_text(kind: pa.DataType) -> bool:
    """Whether Arrow writes values as it casts them to texts, but for the quotes of texts."""
    named = pa.types.is_string, pa.types.is_boolean, pa.types.is_integer, pa.types.is_date32
    return any(is_one(kind) for is_one in (*named, pa.types.is_float64))


class _CsvColumn:
    """A column as Arrow's CSV writer gets it."""

    def __init__(self, name: str, series: pd.Series, alone: bool) -> None:
        self.name = name
        self._source = ArrowColumn(name, series)
        self._moment = ""
        self._infinite = False
        # A missing value that is alone in its line must stand in quotes, or the line is lost.
        self._quoted = alone and self._source.has_missing
        self.type = self._source.type
        if pa.types.is_timestamp(self.type):
            self._moment = precision(self._source.values)
            self.type = pa.string() if self._moment else pa.date32()
        elif pa.types.is_floating(self.type):
            values = self._source.values.to_numpy(dtype=np.float64, na_value=np.nan)
            self._infinite = bool(np.isinf(values).any())
        if self._infinite or self._quoted:
            self.type = pa.string()

    def block(self, rows: Chosen) -> pa.Array:
        """Return some rows as Arrow writes them."""
        return self.fitted(self._source.block(rows))

    def fitted(self, array: pa.Array) -> pa.Array:
        """Return rows that were made elsewhere as Arrow writes them."""
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if self._moment:
            array = pc.strftime(array.cast(pa.timestamp(self._moment)), format=_SECOND)
        elif pa.types.is_timestamp(array.type):
            array = array.cast(pa.date32())
        if array.type != self.type:
            array = array.cast(self.type)
        if self._infinite:
            array = pc.replace_substring(array, "inf", "INF")
        return array.fill_null("") if self._quoted else array

    @property
    def way(self) -> Hashable:
        """All that its text depends on, beside its values."""
        return self.name, str(self.type), self._moment, self._infinite

    def text(self, array: pa.Array, end: str) -> pa.Array:
        """Return rows that were made elsewhere as they stand in the file, and what follows."""
        if pa.types.is_dictionary(array.type):
            texts = self.text(array.dictionary, end)
            coded = pa.DictionaryArray.from_arrays(array.indices, texts)
            return coded.dictionary_decode().fill_null(end)
        values = self.fitted(array)
        if pa.types.is_string(values.type):
            doubled = pc.replace_substring(values, '"', '""')
            values = pc.binary_join_element_wise('"', doubled, f'"{end}', "")
        else:
            values = values.cast(pa.string())
            values = pc.binary_join_element_wise(values, end, "") if end else values
        return values.fill_null(end)
