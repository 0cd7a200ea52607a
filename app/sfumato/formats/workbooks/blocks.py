"""Rows of a sheet that are written alike, taken from its text column by column.

Most programs write all cells of a column in the same way. One pattern then takes whole rows, and
what stands in a column becomes an array without a Python object for each cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.formats.workbooks.cells import Cell, Row

MOST_COLUMNS: Final = 300
"""Rows of more columns are taken cell by cell: their pattern would take long to be made."""
_EXACT: Final = 1 << 53


class EncodedCells(NamedTuple):
    """Cells of which many are the same.

    Parameters
    ----------
    cells
        Those that differ.
    indices
        For each row which of them stands in it.
    """

    cells: list[Cell]
    indices: pa.Array

    def to_pylist(self) -> list[Cell]:
        """Return the cell of each row."""
        return [self.cells[place] for place in self.indices.to_pylist()]

    def occurring(self) -> EncodedCells:
        """Return them without cells that stand in no row."""
        present = pc.unique(self.indices)
        cells = [self.cells[place] for place in present.to_pylist()]
        return EncodedCells(cells, pc.index_in(self.indices, present))


BlockColumn: TypeAlias = pa.Array | EncodedCells | list[Cell]


class RowBlock(NamedTuple):
    """Rows of a sheet, held column by column.

    Parameters
    ----------
    numbers
        Their numbers in the sheet, from 1; they rise.
    hidden
        Whether the sheet does not show them.
    columns
        Their cells; None for a column in which nothing stands.
    """

    numbers: list[int]
    hidden: list[bool]
    columns: list[BlockColumn | None]

    @property
    def is_gapless(self) -> bool:
        """Whether no row is hidden, missing or blank."""
        follows = self.numbers[-1] - self.numbers[0] == len(self.numbers) - 1
        return follows and not any(self.hidden) and any(map(_is_full, self.columns))

    def rows(self) -> Iterator[Row]:
        """Yield the rows one by one."""
        nothing: list[Cell] = [None] * len(self.numbers)
        cells = zip(*(nothing if c is None else listed(c) for c in self.columns), strict=True)
        for number, hidden, row in zip(self.numbers, self.hidden, cells, strict=True):
            yield Row(number, list(row), (), hidden)

    def last(self) -> Row:
        """Return the last row."""
        ends = [None if column is None else _end(column) for column in self.columns]
        return Row(self.numbers[-1], ends)


def single_rows(rows: Iterable[Row | RowBlock]) -> Iterator[Row]:
    """Yield rows one by one, those of blocks too."""
    for row in rows:
        if isinstance(row, RowBlock):
            yield from row.rows()
        else:
            yield row


def listed(column: BlockColumn) -> list[Cell]:
    """Return a column's cells."""
    return column if isinstance(column, list) else column.to_pylist()


def part_of(column: BlockColumn | None, start: int, stop: int) -> BlockColumn | None:
    """Return the cells of some rows of a column."""
    if isinstance(column, EncodedCells):
        return EncodedCells(column.cells, column.indices[start:stop])
    return None if column is None else column[start:stop]


def joined(parts: Sequence[tuple[BlockColumn | None, int]]) -> BlockColumn:
    """Return a column of its parts and their numbers of rows, held as arrays where all are."""
    held = [part for part, _ in parts if part is not None]
    if held and all(isinstance(part, EncodedCells) for part in held):
        return _encoded_together(parts)
    types = {part.type if isinstance(part, pa.Array) else None for part in held}
    if not types or None in types or (pa.string() in types and len(types) > 1):
        return [
            cell
            for part, rows in parts
            for cell in ([None] * rows if part is None else listed(part))
        ]
    kind = types.pop() if len(types) == 1 else pa.float64()
    return pa.concat_arrays(
        part.cast(kind) if isinstance(part, pa.Array) else pa.nulls(rows, kind)
        for part, rows in parts
    )


def _encoded_together(parts: Sequence[tuple[BlockColumn | None, int]]) -> EncodedCells:
    cells: list[Cell] = [None]
    indices = []
    for part, rows in parts:
        if isinstance(part, EncodedCells):
            indices.append(pc.add(part.indices, pa.scalar(len(cells), part.indices.type)))
            cells += part.cells
        else:
            indices.append(pa.repeat(pa.scalar(0, pa.int32()), rows))
    return EncodedCells(cells, pa.concat_arrays(indices))


def _end(column: BlockColumn) -> Cell:
    if isinstance(column, EncodedCells):
        place: int = column.indices[-1].as_py()
        return column.cells[place]
    ends: list[Cell] = listed(column[-1:])
    return ends[0]


def _is_full(column: BlockColumn | None) -> bool:
    """Whether something stands in each cell of a column."""
    if column is None:
        return False
    if isinstance(column, pa.Array):
        if column.null_count:
            return False
        return not pa.types.is_string(column.type) or pc.min(pc.binary_length(column)).as_py() > 0
    held = column.cells if isinstance(column, EncodedCells) else column
    return None not in held and "" not in held


_FORMULA: Final = rb"(?:<Qf(?: [^<>]*)?(?:/>|>[^<]*+</Qf>))?+"
_INLINE: Final = rb'<Qis><Qt(?: xml:space="preserve")?+>'
_STYLE: Final = rb'(?: s="[0-9]++")?+'
_VALUED: Final = {
    b"n": rb'(?: t="n")?+>F<Qv>([0-9.eE+-]++)</Qv>',
    b"s": rb' t="s">F<Qv>([0-9]++)</Qv>',
    **{kind: b' t="' + kind + rb'">F<Qv>([^<]++)</Qv>' for kind in (b"str", b"b", b"e", b"d")},
    b"inlineStr": rb' t="inlineStr">' + _INLINE + rb"([^<]++)</Qt></Qis>",
}
"""What stands in a cell that has a value, by its type; its formula where the F is."""
_EMPTY: Final = (
    _STYLE
    + rb'(?: t="[a-zA-Z]++")?+(?: ?+/>|>(?:<Qv ?+/>|<Qv></Qv>|'
    + _INLINE
    + rb"</Qt></Qis>)?+</Qc>)"
)


class RowPattern:
    """What rows look like that are written alike.

    Parameters
    ----------
    prefix
        The prefix of a sheet's elements.
    columns
        The letters of its columns in their order, and what stands for their cells' styles.
    kinds
        The types of cells that occur, besides numbers.
    """

    def __init__(
        self, prefix: bytes, columns: Sequence[tuple[bytes, bytes]], kinds: Sequence[bytes]
    ) -> None:
        self.kinds = (b"n", *kinds)
        self.width = len(columns)
        valued = b"|".join(_VALUED[kind] for kind in self.kinds).replace(b"F", _FORMULA)
        cells = (
            b'(?:<Qc r="%s\\2"(?:%s(?:%s)</Qc>|%s))?+' % (letters, style, valued, _EMPTY)
            for letters, style in columns
        )
        row = b'(<Qrow r="([1-9][0-9]{0,6})"([^<>/]*+)>' + b"".join(cells) + b"</Qrow>)"
        self._pattern = re.compile(row.replace(b"Q", re.escape(prefix)))

    def taken(self, text: bytes) -> tuple[Sequence[bytes], Sequence[bytes], list[_Parts]] | None:
        """Return the rows' numbers, their heads and columns; None where a row is different.

        Each column is what stands in its rows by the type of its cells.
        """
        found = self._pattern.findall(text)
        if not found or sum(map(len, map(_whole, found))) != len(text):
            return None
        _, numbers, heads, *values = zip(*found, strict=True)
        step = len(self.kinds)
        columns: list[_Parts] = [
            {
                kind: each
                for kind, each in zip(self.kinds, values[place : place + step], strict=True)
                if any(each)
            }
            for place in range(0, len(values), step)
        ]
        return numbers, heads, columns


_Parts: TypeAlias = Mapping[bytes, tuple[bytes, ...]]
_whole: Final = itemgetter(0)


def kinds_in(text: bytes) -> tuple[bytes, ...]:
    """Return the types of cells that occur in a text, besides numbers."""
    return tuple(kind for kind in _VALUED if kind != b"n" and b' t="' + kind + b'"' in text)


def style_pattern(same: Iterable[bytes] | None, others: Iterable[bytes]) -> bytes:
    """Return what stands for styles that are read in the same way.

    Parameters
    ----------
    same
        Their numbers; None for all but the others.
    others
        The numbers of styles that are read in ways of their own.
    """
    if same is not None:
        return b' s="(?:%s)"' % b"|".join(same)
    if special := b"|".join(others):
        return b'(?! s="(?:%s)")%s' % (special, _STYLE)
    return _STYLE


def number_array(values: Sequence[bytes]) -> pa.Array | None:
    """Return numbers as an array; None where it does not hold them exactly, or one is none."""
    try:
        texts = _filled(values)
        try:
            found = texts.cast(pa.int64())
        except pa.ArrowInvalid:
            found = texts.cast(pa.float64())
        bounds = pc.min_max(found).as_py()
    except pa.ArrowException:
        return None
    # Also where it is no number at all.
    return found if bounds["min"] >= -_EXACT and bounds["max"] <= _EXACT else None


def text_array(values: Sequence[bytes]) -> pa.Array | None:
    """Return texts as an array; None where some stand for others."""
    together = b"".join(values)
    if b"&" in together or b"_x" in together:
        return None
    try:
        return _filled(values)
    except pa.ArrowException:
        return None


def shared_texts(values: Sequence[bytes], texts: pa.Array) -> pa.Array:
    """Return texts that are named by their numbers.

    Raises
    ------
    LookupError
        If a text has no such number.
    """
    return texts.take(_filled(values).cast(pa.int64()))


def encoded(values: Sequence[bytes], cells: Mapping[bytes, Cell]) -> EncodedCells:
    """Return cells by their numbers' texts."""
    found = pa.array(values, pa.binary()).dictionary_encode()
    return EncodedCells(
        [cells[value] if value else None for value in found.dictionary.to_pylist()], found.indices
    )


def _filled(values: Sequence[bytes]) -> pa.Array:
    """Return texts; missing where nothing stands."""
    texts = pa.array(values, pa.binary()).cast(pa.string())
    return pc.if_else(pc.equal(texts, ""), None, texts) if b"" in values else texts
