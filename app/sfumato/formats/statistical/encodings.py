"""In which encoding the texts of statistical files are, some of which don't state it."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence
from sfumato.formats.encodings import (
    ENOUGH_BYTES,
    Guess,
    guess_of,
    note_on_guess,
    title_of,
    ways_with,
)
from sfumato.formats.errors import WrongEncoding, grouped
from sfumato.formats.notes import Note
from sfumato.formats.options import ReadOptions

AS_BYTES: Final = "ISO-8859-1"
"""In this encoding a text has a character for each byte."""
_LIBRARY_NAMES: Final = {"iso8859-1": AS_BYTES, "mac-roman": "MACINTOSH"}
"""What the library calls encodings that Python calls otherwise."""
_SAMPLE_ROWS: Final = 10_000
_SAMPLE_CELLS: Final = 1_000_000

Call = Callable[..., tuple[pa.RecordBatch, dict[str, Any]]]
"""Asks the library for something; see `LibraryProcess.call`."""


def library_name(encoding: str) -> str | None:
    """Return what the library calls an encoding; None for what the file states."""
    if not encoding:
        return None
    name = codecs.lookup(encoding).name
    return _LIBRARY_NAMES.get(name, name)


class OddTexts:
    """The texts of a file that are not ASCII, as bytes: as many as a guess needs.

    Parameters
    ----------
    encoding
        By which they are read.
    """

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._texts: dict[bytes, None] = {}
        self._size = 0

    def see(self, columns: Iterable[pa.Array]) -> None:
        """Keep what some columns have."""
        for column in columns:
            if self._size >= ENOUGH_BYTES:
                return
            if pa.types.is_string(column.type):
                self.add(_odd(column).unique().to_pylist())

    def add(self, texts: Iterable[str]) -> None:
        """Keep those of some texts that are not ASCII."""
        for text in texts:
            if self._size >= ENOUGH_BYTES:
                return
            if not text.isascii():
                stored = text.encode(self._encoding, "ignore")
                self._size += 0 if stored in self._texts else len(stored)
                self._texts[stored] = None

    def guess(self) -> Guess | None:
        """Return in which encoding they are; None where there are none."""
        return guess_of(self._texts) if self._texts else None


def _odd(column: pa.Array) -> pa.Array:
    """Return the texts of a column that are not ASCII."""
    return column.filter(pc.invert(pc.string_is_ascii(column)))


def texts_about(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a file that are no rows: names of columns and labels."""
    yield from found["names"]
    yield from filter(None, found["labels"].values())
    for pairs in found["value_labels"].values():
        yield from (str(text) for _, text in pairs)


def guess_by_sample(call: Call) -> str:
    """Return in which encoding a file is that does not state it; empty where all is ASCII."""
    odd = OddTexts(AS_BYTES)
    _, found = call(metadataonly=True, encoding=AS_BYTES)
    odd.add(texts_about(found))
    names = [name for name, kind in found["kinds"].items() if kind == "string"]
    if names:
        limit = max(1, min(_SAMPLE_ROWS, _SAMPLE_CELLS // len(names)))
        batch, _ = call(usecols=names, row_limit=limit, encoding=AS_BYTES)
        odd.see(batch.columns)
    guess = odd.guess()
    return guess.encoding if guess is not None else ""


def notes_on_encoding(odd: OddTexts, options: ReadOptions, usual: str) -> Iterator[Note]:
    """Say by which guess the texts of a file are read that does not state their encoding.

    Parameters
    ----------
    odd
        Its texts that are not ASCII.
    usual
        By which encoding the library reads such a file unless it is told otherwise.
    """
    guess = odd.guess()
    if guess is None:
        return
    if guess.encoding == (options.encoding or usual):
        if not guess.encoding.startswith("utf"):
            yield note_on_guess(guess, options)
    elif not options.encoding:
        yield Note(
            "The file does not state the encoding of its text, which is read as {usual} but seems"
            " to be {encoding}. Look at names with letters that are not English.",
            {"usual": title_of(usual), "encoding": title_of(guess.encoding)},
            caution=True,
            ways=ways_with((guess.encoding, *guess.others), options),
        )


@dataclass(frozen=True)
class _UnencodableText:
    """The first text that is not in an encoding."""

    column: str
    row: int


def refusal_of_texts(
    name: str,
    call: Call,
    pieces: Callable[[list[str]], Iterator[pa.RecordBatch]],
    options: ReadOptions,
    usual: str | None,
) -> WrongEncoding | None:
    """Return the error for a file that can be read, but for the encoding of its texts.

    Where all of these are ASCII, what is wrong is the name of the encoding that it states. None
    where it states none, so that it is something else.

    Parameters
    ----------
    name
        The file's name.
    call
        Asks the library.
    pieces
        Yields the rows of some columns, a character for each byte.
    options
        How the file was to be read.
    usual
        By which encoding the library reads the file; None where the file states it.

    Raises
    ------
    DamagedFile
        If it can't be read in any encoding.
    """
    read_as = options.encoding or usual or "utf-8"
    odd, first = _looked_through(call, pieces, read_as)
    stated = usual is None and not options.encoding
    guess = odd.guess() or (Guess("utf-8") if options.encoding else None)
    if guess is None and stated:
        return WrongEncoding(
            "{file} states an encoding that can't be read.",
            "Read it in another encoding.",
            ways=ways_with(("utf-8",), options),
            file=name,
        )
    if guess is None:
        return None
    encoding = Sentence("the encoding that it states") if stated else title_of(read_as)
    likely = [one for one in (guess.encoding, *guess.others) if one != read_as]
    what = "{file} holds text that is not in {encoding}."
    details: dict[str, object] = {}
    if first is not None:
        what = "{file} holds text that is not in {encoding}: first in row {row} of column {column}."
        details = {"row": grouped(first.row), "column": first.column}
    return WrongEncoding(
        what,
        "Read it in another encoding.",
        ways=ways_with(likely, options),
        file=name,
        encoding=encoding,
        **details,
    )


def _looked_through(
    call: Call, pieces: Callable[[list[str]], Iterator[pa.RecordBatch]], read_as: str
) -> tuple[OddTexts, _UnencodableText | None]:
    """Return texts of a file that are not ASCII, and where the first is not in an encoding."""
    odd = OddTexts(AS_BYTES)
    _, found = call(metadataonly=True, encoding=AS_BYTES)
    odd.add(texts_about(found))
    names = [column for column, kind in found["kinds"].items() if kind == "string"]
    first: _UnencodableText | None = None
    start = 0
    for piece in pieces(names or list(found["names"][:1])):
        odd.see(piece.columns)
        first = first or _first_wrong(piece, read_as, start)
        start += piece.num_rows
    return odd, first


def _first_wrong(piece: pa.RecordBatch, encoding: str, start: int) -> _UnencodableText | None:
    """Return where the first text stands that is not in an encoding."""
    found = []
    for name, column in zip(piece.schema.names, piece.columns, strict=True):
        if not pa.types.is_string(column.type):
            continue
        for place in pc.indices_nonzero(pc.invert(pc.string_is_ascii(column))).to_pylist():
            if not _is_text(column[place].as_py().encode(AS_BYTES), encoding):
                found.append(_UnencodableText(name, start + place + 1))
                break
    return min(found, key=lambda each: each.row, default=None)


def _is_text(stored: bytes, encoding: str) -> bool:
    try:
        stored.decode(encoding)
    except UnicodeError:
        return False
    return True
