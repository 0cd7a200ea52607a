"""In which encoding a text is, found out from its bytes that are not ASCII."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence
from sfumato.formats.errors import Way
from sfumato.formats.notes import ENCODING_DOUBTED, ENCODING_GUESSED, Note
from sfumato.formats.options import ENCODINGS, ReadOptions

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_PIECE: Final = 1 << 20
_WHOLE: Final = 64 << 20
"""Up to so many bytes of a file are all looked at; of a longer one, some in `_PLACES` places."""
_LOOK: Final = 1 << 16
_PLACES: Final = 64
ENOUGH_BYTES: Final = 1 << 16
"""So many bytes of lines or texts that are not ASCII are enough for a guess."""
_UNDEFINED: Final = frozenset(b"\x81\x8d\x8f\x90\x9d")
"""Bytes that mean nothing in Windows-1252."""
_LIKELY: Final = 0.5
"""An encoding with this share of the best one's confidence is likely too."""
_MOST_OTHERS: Final = 3
_WITHIN: Final = re.compile("(?<=[^\\W\\d_])[^\\x00-\\x7f\u2019](?=[^\\W\\d_])")
"""A letter or a mark that is not ASCII, but no apostrophe, between two letters."""


@dataclass(frozen=True)
class Guess:
    """An encoding, and the others that are likely too and would give another text."""

    encoding: str
    others: tuple[str, ...] = ()


def detect_encoding(path: Path) -> str:
    """Return the most likely encoding of a text file; see `guess_encoding`."""
    return guess_encoding(path).encoding


def guess_encoding(path: Path) -> Guess:
    """Return the most likely encoding of a text file, from bytes throughout the file."""
    with path.open("rb") as file:
        head = file.read(_LOOK)
    for mark, name in _MARKS:
        if head.startswith(mark):
            return Guess(name)
    if b"\0" in head:
        return Guess(_wide_encoding(head))
    lines: dict[bytes, None] = {}
    unicode, size = True, 0
    for piece in _pieces(path):
        if piece.isascii():
            continue
        unicode = unicode and _is_utf8(piece)
        for line in piece.splitlines() if size < ENOUGH_BYTES else ():
            if not line.isascii() and size < ENOUGH_BYTES and line not in lines:
                lines[line] = None
                size += len(line)
        if not unicode and size >= ENOUGH_BYTES:
            break
    return Guess("utf-8") if unicode else _guess(b"\n".join(lines)[:ENOUGH_BYTES])


def guess_of(texts: Iterable[bytes]) -> Guess:
    """Return the most likely encoding of some whole texts."""
    lines = b"\n".join(texts)[:ENOUGH_BYTES]
    return Guess("utf-8") if _is_utf8(lines) else _guess(lines)


def title_of(encoding: str) -> Sentence:
    """Return an encoding's name in plain words."""
    return Sentence(dict(ENCODINGS).get(encoding, encoding))


def ways_with(encodings: Iterable[str], options: ReadOptions) -> tuple[Way, ...]:
    """Return the choices of other encodings."""
    return tuple(
        Way(
            Sentence("Read it as {encoding}", encoding=title_of(name)),
            replace(options, encoding=name),
        )
        for name in encodings
    )


def note_on_guess(guess: Guess, options: ReadOptions) -> Note:
    """Say by which guess a text is read that does not state its encoding."""
    ways = ways_with(guess.others, options)
    template = ENCODING_DOUBTED if ways else ENCODING_GUESSED
    return Note(template, {"encoding": title_of(guess.encoding)}, caution=bool(ways), ways=ways)


def _pieces(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file, or of a long one those in places throughout it."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= _WHOLE:
            while piece := file.read(_PIECE):
                # A line is looked at as a whole: half a letter is none.
                yield piece if piece.isascii() else piece + file.readline(_PIECE)
            return
        for place in range(_PLACES):
            file.seek(place * (size - _LOOK) // (_PLACES - 1))
            if place:
                file.readline(_PIECE)
            yield file.read(_LOOK) + file.readline(_PIECE)


def _guess(lines: bytes) -> Guess:
    """Return in which encoding lines are that are not Unicode.

    The library charset-normalizer (3.5) takes short German texts of Windows for Windows-1250,
    and finds nothing for Cyrillic or Greek ones, so chardet (7.7) decides. It is imported only now:
    it takes a third of a second to be ready.
    """
    import chardet  # noqa: PLC0415

    offered = {codecs.lookup(name).name: name for name, _ in ENCODINGS}
    ranked: dict[str, float] = {}
    for found in chardet.detect_all(lines, ignore_threshold=True, include_encodings=list(offered)):
        name = offered.get(_codec(found["encoding"]))
        text = _decoded(lines, name)
        if name is not None and text is not None and name not in ranked:
            ranked[name] = found["confidence"] * _plausible(text)
    if not ranked:
        return Guess("latin-1" if frozenset(lines) & _UNDEFINED else "cp1252")
    # Of two that are about as likely, what is more frequent.
    frequent = [name for name, _ in ENCODINGS]
    top = max(ranked.values())
    near = [name for name in ranked if ranked[name] > _LIKELY * top]
    best = max(ranked, key=lambda name: (round(ranked[name], 6), -frequent.index(name)))
    western = _decoded(lines, "cp1252") or ""
    all_letters = all(letter.isascii() or letter.isalpha() for letter in western)
    central = best in ("cp1250", "iso8859-2") and "cp1252" in near and all_letters
    single = len({byte for byte in lines if byte > 127}) == 1 and all_letters
    if western and (single or central or _has_signs_alone(western)):
        best = "cp1252"
    text = _decoded(lines, best)
    others = [name for name in near if name != best and _decoded(lines, name) != text]
    return Guess(best, tuple(sorted(others, key=lambda name: -ranked[name])[:_MOST_OTHERS]))


def _codec(name: str | None) -> str:
    try:
        return codecs.lookup(name or "").name
    except LookupError:
        return ""


def _decoded(lines: bytes, name: str | None) -> str | None:
    try:
        return None if name is None else lines.decode(name)
    except UnicodeError:
        return None


def _plausible(text: str) -> float:
    """Return which share of the letters that are not ASCII is not a mark within a word."""
    strange = sum(not letter.isalpha() for letter in _WITHIN.findall(text))
    return 1 - strange / max(sum(not letter.isascii() for letter in text), 1)


def _has_signs_alone(text: str) -> bool:
    """Whether nothing but signs such as the euro's is not ASCII, and none is within a word."""
    letters = [letter for letter in text if not letter.isascii()]
    return not any(map(str.isalpha, letters)) and _plausible(text) == 1


def _wide_encoding(head: bytes) -> str:
    """Return which half of two-byte characters is nearly always zero."""
    low, high = head[0::2].count(0), head[1::2].count(0)
    if max(low, high) < len(head) / 8:
        return "utf-8"
    wide = "utf-16-le" if high > low else "utf-16-be"
    # A text of one byte for each character may hold NULs, too: its lines then end elsewhere.
    ends = head.decode(wide, errors="replace").count("\n")
    return wide if 2 * ends >= head.count(b"\n") else "utf-8"


def _is_utf8(sample: bytes) -> bool:
    """Whether a sample is UTF-8, but for characters cut off at its ends."""
    start = next((i for i in range(min(4, len(sample))) if sample[i] & 0xC0 != 0x80), 0)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample[start:])
    except UnicodeDecodeError:
        return False
    return True
