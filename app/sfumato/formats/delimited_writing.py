"""Tables written as delimited texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sfumato.engine.core.parallel import made_ahead, made_side_by_side
from sfumato.engine.core.progress import Context
from sfumato.engine.table.table import Table
from sfumato.formats.columns.arrays import ArrowColumn, Chosen, precision
from sfumato.formats.table_format import Rows, WriteResult, arrays_of, rows_together

_ROWS: Final = 1 << 17
_SECOND: Final = "%Y-%m-%dT%H:%M:%S"


def write_delimited(table: Table, path: Path, context: Context, order: Rows = None) -> WriteResult:
    """Write a table as RFC 4180 has it: UTF-8, commas, lines that end in CR LF.

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
    style = {"eol": "\r\n", "quoting_style": "needed"}
    rows_only = pa.csv.WriteOptions(include_header=False, **style)

    def lines(arrays: Sequence[pa.Array]) -> pa.Buffer:
        sink = pa.BufferOutputStream()
        pa.csv.write_csv(pa.record_batch(arrays, schema=schema), sink, rows_only)
        return sink.getvalue()

    with pa.OSFile(str(path), "wb") as file:
        pa.csv.write_csv(schema.empty_table(), file, pa.csv.WriteOptions(**style))
        rows = rows_together(_ROWS, len(columns))
        blocks = arrays_of(table, columns, order, rows, context, path.parent)
        for part in made_side_by_side(lines, made_ahead(blocks), pa.cpu_count()):
            file.write(part)
    context.report(1.0, "Finishing the file")
    return WriteResult({name: name for name in columns})


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
