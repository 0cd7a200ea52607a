"""The text of a sheet of Excel's: what it hides and merges, and its rows.

Rows are taken from the text by a pattern that every program's cells fit, many at a time, which is
many times faster than a parser that knows all of XML. What does not fit it to the last byte goes
to such a parser, row by row, and means the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter, lt
from typing import Final
from xml.etree import ElementTree as Xml

import pyarrow as pa

from sfumato.formats.workbooks.archives import Utf8
from sfumato.formats.workbooks.blocks import MOST_COLUMNS as WIDEST_ALIKE
from sfumato.formats.workbooks.blocks import (
    BlockColumn,
    RowBlock,
    RowPattern,
    encoded,
    kinds_in,
    number_array,
    shared_texts,
    style_pattern,
    text_array,
)
from sfumato.formats.workbooks.cells import (
    MOST_COLUMNS,
    MOST_ROWS,
    Cell,
    Fault,
    Layout,
    Merge,
    Row,
    iso_cell,
)
from sfumato.formats.workbooks.number_formats import Reader, veiled

_PIECE: Final = 1 << 20
_LONGEST_ROW: Final = 64 << 20
"""More bytes than a row needs."""
_LOOKED_AT: Final = 20
"""What rows look like is seen by so many first and last ones."""
_MOST_UNLIKE: Final = 5
"""After so many pieces of rows that differ it is no longer tried whether they are alike."""
_MOST_ELEMENTS: Final = 16 * MOST_COLUMNS
"""More elements than a row can need."""


def local_name(element: Xml.Element) -> str:
    """Return an element's name without its namespace."""
    return element.tag.rpartition("}")[2]


def local_attribute(element: Xml.Element, name: str) -> str:
    """Return an attribute by its name in whatever namespace; empty where there is none."""
    return next((text for key, text in element.items() if key.rpartition("}")[2] == name), "")


_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")


def unescaped(text: str) -> str:
    """Return a text in which ``_x000D_`` stands for the character of this number."""
    return _ESCAPED.sub(lambda at: chr(int(at[1], 16)), text) if "_x" in text else text


def text_of(element: Xml.Element) -> str:
    """Return the text of a shared or inline string, without what tells how it is spoken."""
    plain, runs = "", []
    for child in element:
        name = local_name(child)
        if name == "t":
            plain = child.text or ""
        elif name == "r":
            runs += [part.text or "" for part in child if local_name(part) == "t"]
    return plain + "".join(runs)


_OPEN: Final = re.compile(rb"<((?:[\w.-]+:)?)sheetData(?:\s[^<>]*?)?(/?)>")
_CLOSE: Final = re.compile(rb"</(?:[\w.-]+:)?sheetData\s*>")
_ROOT: Final = re.compile(rb"<((?:[\w.-]+:)?)worksheet(?:\s[^<>]*)?>")
_COLUMN: Final = re.compile(rb"<(?:[\w.-]+:)?col\s[^<>]*>")
_MERGED: Final = re.compile(
    rb"<(?:[\w.-]+:)?mergeCell\s[^<>]*?ref\s*=\s*[\"']([A-Z]+)(\d+):([A-Z]+)(\d+)"
)
_HIDDEN: Final = re.compile(
    rb"\s(?:hidden\s*=\s*[\"'](?:1|true|on)[\"']|ht\s*=\s*[\"']0(?:\.0*)?[\"'])"
)
_HIDDEN_COLUMN: Final = re.compile(
    rb"\s(?:hidden\s*=\s*[\"'](?:1|true|on)[\"']|width\s*=\s*[\"']0(?:\.0*)?[\"'])"
)
_BOUND: Final = re.compile(rb"\s(min|max)\s*=\s*[\"'](\d+)[\"']")


def layout_of(source: Utf8) -> Layout:
    """Return what a sheet hides and merges: what stands before its rows and after them."""
    text, hidden, within = b"", 0, False
    columns: frozenset[int] = frozenset()
    while piece := source.read(_PIECE):
        text += piece
        if not within:
            found = _OPEN.search(text)
            if found is None:
                if len(text) > _LONGEST_ROW:
                    raise ValueError("no rows for too long")
                continue
            columns, within = _hidden_columns(text[: found.start()]), True
            head = b"row(?=[^<>]*" + _HIDDEN.pattern + rb")[^<>]*[^<>/]>(?!\s*</)"  # with cells
            row = re.compile(b"<" + re.escape(found[1]) + head)
            if found[2]:
                break
            text = text[found.end() :]
        if b"sheetData" in text and (found := _CLOSE.search(text)):
            hidden += _count(row, text[: found.start()])
            text = text[found.start() :]
            break
        cut = max(text.rfind(b"<"), 0)
        hidden += _count(row, text[:cut])
        text = text[cut:]
    pieces = [text]
    size = len(text)
    while piece := source.read(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > _LONGEST_ROW:
            raise ValueError("too much after the rows")
    merges = tuple(
        Merge(int(top), _column(left), int(bottom), _column(right))
        for left, top, right, bottom in _MERGED.findall(b"".join(pieces))
    )
    return Layout(columns, merges, hidden)


def _count(hidden: re.Pattern[bytes], text: bytes) -> int:
    """Return how many rows are hidden; most sheets hide none, which is seen faster."""
    return len(hidden.findall(text)) if b"hidden" in text or b"ht" in text else 0


def _hidden_columns(head: bytes) -> frozenset[int]:
    found: set[int] = set()
    for column in _COLUMN.findall(head):
        if _HIDDEN_COLUMN.search(column):
            bounds = {name: int(text) for name, text in _BOUND.findall(column)}
            first, last = bounds.get(b"min", 1), bounds.get(b"max", MOST_COLUMNS)
            found.update(range(first - 1, min(last, MOST_COLUMNS)))
    return frozenset(found)


_columns: dict[bytes, int] = {}


def _column(letters: bytes) -> int:
    """Return a column's number, from 1."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    if not letters.isalpha() or not 0 < number <= MOST_COLUMNS:
        raise ValueError("no column has this number")
    return _columns.setdefault(letters, number)


_CELL: Final = (
    rb'(<P(?: r="([A-Z]++)([0-9]++)")?+(?: s="([0-9]++)")?+(?: t="([a-zA-Z]++)")?+'
    rb"(?:>(<Qf(?: [^<>]*)?(?:/>|>[^<]*+</Qf>))?+"
    rb"(?:<Qv>([^<]*+)</Qv>|"
    rb'<Qis><Qt(?: xml:space="preserve")?+>([^<]*+)</Qt></Qis>|<Qv ?+/>)?+</P>| ?+/>))'
)
"""A cell: all of it, its column and row, style, type, formula, value, and inline text."""
_NUMBER: Final = re.compile(rb'\sr="(\d{1,7})"')


def rows_of(source: Utf8, cells: SheetCells) -> Iterator[Row | RowBlock]:
    """Yield the rows of a sheet's text, up to the end of its rows.

    Raises
    ------
    ValueError, SyntaxError
        If it is no text of a sheet.
    """
    text = b""
    while (opened := _OPEN.search(text)) is None:
        piece = source.read(_PIECE)
        text += piece
        if not piece or len(text) > _LONGEST_ROW:
            Xml.fromstring(text)
            return
    if opened[2]:
        return
    cells.begin(opened[1], _ROOT.search(text))
    text = text[opened.end() :]
    mark = b"<" + opened[1] + b"row"
    closed = None
    while closed is None:
        closed = _CLOSE.search(text) if b"sheetData" in text else None
        cut = closed.start() if closed else text.rfind(mark)
        if cut > 0:
            yield from cells.rows(text[:cut])
            text = text[cut:]
        if closed is None:
            piece = source.read(_PIECE)
            if not piece or len(text) > _LONGEST_ROW:
                raise ValueError("rows without an end")
            text += piece


class SheetCells:
    """Makes rows of their text.

    Parameters
    ----------
    texts
        The texts that cells name by their numbers.
    readers
        What reads numbers by the number of their style, and whether texts are veiled.
    new
        Whether it is done as since version 2.
    """

    def __init__(
        self, texts: Sequence[str], readers: Mapping[bytes, tuple[Reader | None, bool]], new: bool
    ) -> None:
        self._texts = texts
        self._held: pa.Array | None = None
        self._new = new
        self._readers = readers
        self._numbers = {
            style: _Remembered(reader) for style, (reader, _) in readers.items() if reader
        }
        self._veiled = {style for style, (_, hidden) in readers.items() if hidden}
        self._patterns: dict[tuple[object, ...], RowPattern] = {}
        self._unlike = 0
        self._last = 0

    def begin(self, prefix: bytes, root: re.Match[bytes] | None) -> None:
        """Take the prefix of a sheet's elements, and the element that holds all."""
        known = re.escape(prefix)
        self._prefix = prefix
        self._cell = re.compile(_CELL.replace(b"P", known + b"c").replace(b"Q", known))
        self._end = b"</" + prefix + b"row>"
        self._mark = b"<" + prefix + b"row"
        self._value = b"<" + prefix + b"v"
        self._before = root[0] if root else b"<worksheet>"
        self._after = b"</" + (root[1] if root else b"") + b"worksheet>"

    def rows(self, text: bytes) -> Iterator[Row | RowBlock]:
        """Yield the rows of a text, which ends where one does."""
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not self._last:  # The names of columns are written in a way of their own.
            first, end, text = text.partition(self._end)
            yield from self._singly(first + end)
        text = text.strip()
        if (block := self._block(text)) is not None:
            yield block
        else:
            yield from self._singly(text)

    def _singly(self, text: bytes) -> Iterator[Row]:
        before, *pieces = text.split(self._mark)
        if before.strip() and not before.strip().startswith((b"<!--", b"<?")):
            raise ValueError("no row")
        for piece in pieces:
            if (row := self._one(piece)) is not None:
                yield row

    def _block(self, text: bytes) -> RowBlock | None:
        """Return rows that are written alike; None where they are not."""
        if not text or self._unlike >= _MOST_UNLIKE:
            return None
        pattern, styles = self._pattern_of(text)
        taken = pattern.taken(text) if pattern is not None else None
        if taken is None:
            self._unlike += 1
            return None
        self._unlike = 0
        numbers = list(map(int, taken[0]))
        if numbers[0] <= self._last or numbers[-1] > MOST_ROWS or not _rises(numbers):
            return None
        try:
            columns = [
                self._column_of(style, parts, len(numbers))
                for style, parts in zip(styles, taken[2], strict=True)
            ]
        except (ValueError, LookupError):  # It is raised where its row is reached.
            return None
        while columns and columns[-1] is None:
            del columns[-1]
        if not columns:
            return None
        self._last = numbers[-1]
        return RowBlock(numbers, list(map(_is_hidden, taken[1])), columns)

    def _pattern_of(self, text: bytes) -> tuple[RowPattern | None, list[bytes]]:
        """Return what the rows of a text look like by the first and last ones; and styles."""
        first = text.split(self._end, _LOOKED_AT)[:_LOOKED_AT]
        last = text.rsplit(self._end, _LOOKED_AT)[1:]
        styles: dict[int, bytes] = {}
        for _, letters, _, style, *rest in self._cell.findall(b"".join(first + last)):
            if not letters:
                return None, []
            number = _columns.get(letters) or _column(letters)
            if any(rest[2:]) or number not in styles:  # Of a cell with a value, if there is one.
                styles[number] = style
        if not styles or max(styles) > WIDEST_ALIKE:
            return None, []
        order = [styles.get(column, b"") for column in range(1, max(styles) + 1)]
        ways = [self._readers.get(style) for style in order]
        kinds = kinds_in(text)
        key = (kinds, *map(id, ways))
        if key not in self._patterns:
            same = {
                id(way): [style for style, other in self._readers.items() if other is way]
                for way in ways
                if way is not None
            }
            columns = [
                (_letters(place), style_pattern(same.get(id(way)), self._readers))
                for place, way in enumerate(ways, start=1)
            ]
            self._patterns[key] = RowPattern(self._prefix, columns, kinds)
        return self._patterns[key], order

    def _column_of(
        self, style: bytes, parts: Mapping[bytes, Sequence[bytes]], rows: int
    ) -> BlockColumn | None:
        """Return a column of what stands in it by the type of its cells."""
        if len(parts) == 1 and style not in self._veiled:
            ((kind, values),) = parts.items()
            if (column := self._uniform(style, kind, values)) is not None:
                return column
        cells: list[Cell] = [None] * rows
        for kind, values in parts.items():
            inline = kind == b"inlineStr"
            for place, value in enumerate(values):
                if value:
                    given = (b"", value) if inline else (value, b"")
                    cells[place] = self._made(style, kind, *given)
        return cells if parts else None

    def _uniform(self, style: bytes, kind: bytes, values: Sequence[bytes]) -> BlockColumn | None:
        """Return cells of one type; None where they need to be made one by one."""
        if kind == b"n":
            reader = self._numbers.get(style)
            return number_array(values) if reader is None else encoded(values, reader)
        if kind == b"s":
            texts = self._held_texts()
            return None if texts is None else shared_texts(values, texts)
        return text_array(values) if kind in {b"inlineStr", b"str"} else None

    def _held_texts(self) -> pa.Array | None:
        """Return the texts that cells name by their numbers, if an array holds them."""
        if self._held is None:
            try:
                held = pa.array(self._texts, pa.string())
            except (ValueError, pa.ArrowException):  # Half a character, for instance.
                held = pa.nulls(0)
            self._held = held if isinstance(held, pa.Array) else pa.nulls(0)
        return self._held if pa.types.is_string(self._held.type) else None

    def _made(self, style: bytes, kind: bytes, value: bytes, inline: bytes) -> Cell:
        """Return a cell."""
        cell: Cell
        if not value:
            if not inline:
                return None
            cell = self._plain(inline)
        elif kind == b"s":
            cell = self._texts[int(value)]
        elif not kind or kind == b"n":
            if style in self._numbers:
                return self._numbers[style][value]
            return int(value) if value.isdigit() else _number(value)
        else:
            cell = self._other(kind, value)
        return veiled(cell) if style in self._veiled and type(cell) is str else cell

    def _plain(self, text: bytes) -> str:
        plain = _decoded(text)
        return unescaped(plain) if self._new else plain

    def _other(self, kind: bytes, value: bytes) -> Cell:
        """Return a cell that is neither a number nor a shared text."""
        text = _decoded(value)
        if kind == b"b":
            return bool(int(text))
        if kind == b"e":
            return Fault(text) if self._new else text
        if kind == b"d":
            return iso_cell(text, new=self._new)
        return unescaped(text) if self._new and kind == b"str" else text

    def _one(self, piece: bytes) -> Row | None:
        """Return the row of which a text holds all but ``<row``; None where it has no cells."""
        head, _, rest = piece.partition(b">")
        if head.endswith(b"/"):
            self._count(head)
            return None
        rest = rest.rstrip()
        if not rest.endswith(self._end):
            return self._any(piece)
        found = self._cell.findall(rest, 0, len(rest) - len(self._end))
        if sum(map(len, map(_whole, found))) != len(rest) - len(self._end):
            return self._any(piece)
        return self._row_of(self._count(head), found, _is_hidden(head))

    def _any(self, piece: bytes) -> Row | None:
        """Return a row that is written in a way of its own."""
        if piece.count(b"<") > 2 * _MOST_ELEMENTS:
            raise ValueError("more elements than a row can have")
        root = Xml.fromstring(self._before + self._mark + piece + self._after)
        (row,) = root
        if local_name(row) != "row":
            raise ValueError("no row")
        stated = row.get("r")
        number = self._numbered(None if stated is None else stated.encode())
        if not len(row):
            return None
        head = "".join(f' {name}="{text}"' for name, text in row.items())
        found = [_parts_of(cell, self._value) for cell in row]
        return self._row_of(number, found, _is_hidden(head.encode()))

    def _count(self, head: bytes) -> int:
        stated = _NUMBER.search(head)
        if stated is None and _STATED.search(head):
            stated = _STATED.search(head)
        return self._numbered(stated[1] if stated else None)

    def _numbered(self, stated: bytes | None) -> int:
        number = self._last + 1 if stated is None else int(float(stated))
        if not self._last < number <= MOST_ROWS:
            raise ValueError("no row can have this number here")
        self._last = number
        return number

    def _row_of(self, number: int, found: Sequence[tuple[bytes, ...]], hidden: bool) -> Row:
        cells: list[Cell] = []
        uncalculated: list[int] = []
        column = 0
        for whole, letters, _, style, kind, formula, value, inline in found:
            column = (_columns.get(letters) or _column(letters)) if letters else column + 1
            if not value and not inline:
                if formula and self._value not in whole:
                    uncalculated.append(column - 1)
                continue
            cells += [None] * (column - len(cells))
            cells[column - 1] = self._made(style, kind, value, inline)
        if column > MOST_COLUMNS:
            raise ValueError("no column has this number")
        return Row(number, cells, tuple(uncalculated), hidden)


_STATED: Final = re.compile(rb"""\sr\s*=\s*["']([^"']*)["']""")
_whole: Final[Callable[[tuple[bytes, ...]], bytes]] = itemgetter(0)


class _Remembered(dict[bytes, Cell]):
    """Cells of a format by their numbers' texts: dates repeat."""

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self._reader = reader

    def __missing__(self, value: bytes) -> Cell:
        cell = self._reader(_number(value))
        if len(self) < _MOST_REMEMBERED:
            self[value] = cell
        return cell


_MOST_REMEMBERED: Final = 100_000


def _is_hidden(head: bytes) -> bool:
    return (b"hidden" in head or b"ht" in head) and _HIDDEN.search(head) is not None


_ENTITY: Final = re.compile("&(?:#x([0-9a-fA-F]{1,6})|#([0-9]{1,7})|(amp|lt|gt|quot|apos));|&")
_NAMED: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def _decoded(text: bytes) -> str:
    """Return the text that XML stands for."""
    plain = text.decode()
    return _ENTITY.sub(_character, plain) if "&" in plain else plain


def _encoded(text: str) -> bytes:
    return text.replace("&", "&amp;").encode()


def _character(found: re.Match[str]) -> str:
    hexadecimal, decimal, name = found.groups()
    if hexadecimal or decimal:
        return chr(int(hexadecimal, 16) if hexadecimal else int(decimal))
    return _NAMED[name]  # What has no name is an error.


def _letters(column: int) -> bytes:
    """Return the letters of a column, numbered from 1."""
    letters = b""
    while column:
        column, last = divmod(column - 1, 26)
        letters = bytes([65 + last]) + letters
    return letters


def _rises(numbers: Sequence[int]) -> bool:
    return all(map(lt, numbers, islice(numbers, 1, None)))


def _number(value: bytes) -> float:
    if b"." in value or b"E" in value or b"e" in value:
        return float(value)
    return int(value)


def _parts_of(cell: Xml.Element, mark: bytes) -> tuple[bytes, ...]:
    """Return a cell as the pattern would."""
    whole = formula = value = inline = b""
    for child in cell:
        name = local_name(child)
        if name == "f":
            formula = b"f"
        elif name == "v":
            value, whole = _encoded(child.text or ""), mark
        elif name == "is":
            inline = _encoded(text_of(child))
    kind = cell.get("t", "").encode()
    letters = re.match(rb"\$?([A-Z]{1,3})\$?\d+\Z", cell.get("r", "A1").encode())
    style = cell.get("s", "").encode()
    if letters is None or (style and not style.isdigit()):
        raise ValueError("no cell has this place or style")
    at = letters[1] if cell.get("r") else b""
    return whole, at, b"", style, kind, formula, b"" if kind == b"inlineStr" else value, inline
