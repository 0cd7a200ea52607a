"""Tables of fixed width: where each column stands in a line, and lines as fields.

A layout is stated as texts such as ``"age 7 3"``: a name, the first character from 1, and a width.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from sfumato.engine.core.frozen import dataclass
from sfumato.formats.errors import BadOptions, Way, WrongEncoding
from sfumato.formats.files import opening
from sfumato.formats.options import ReadOptions

MARK: Final = "\x1f"
"""What stands between the fields of a line once it is cut: no text has it."""
_LARGEST: Final = 16 << 20
_WIDEST: Final = 1 << 20
_PLACE: Final = re.compile(r"([A-Za-z_@#$][\w.@#$]*)\s+(\d+)(?:\s*-\s*(\d+))?(?=[\s(/.]|$)")
_STATEMENT: Final = re.compile(r"\bdata\s+list\b|\binfix\b", re.IGNORECASE)
_LOCATION: Final = re.compile(r"<location\b[^>]*>", re.IGNORECASE)
_LOOKED_AT: Final = 200
_FEWEST: Final = 3
_SHORTEST: Final = 12
_WORDS: Final = frozenset({"records", "rec", "skip", "table", "notable", "str", "byte", "using"})


@dataclass(frozen=True)
class LayoutField:
    """A column's name, and which characters of a line hold it, the first counted from 0."""

    name: str
    start: int
    end: int


def fields_of(layout: Sequence[str]) -> tuple[LayoutField, ...]:
    """Return the fields that a layout states.

    Raises
    ------
    BadOptions
        If one of them is not stated as a name, a place and a width.
    """
    return tuple(_field(text) for text in layout)


def _field(text: str) -> LayoutField:
    parts = text.rsplit(maxsplit=2)
    if len(parts) == 3 and parts[1].isdecimal() and parts[2].isdecimal():
        start, width = int(parts[1]), int(parts[2])
        if 1 <= start <= _WIDEST and 1 <= width <= _WIDEST:
            return LayoutField(parts[0], start - 1, start - 1 + width)
    raise BadOptions(
        "A column of the layout is not stated as a name, its first character and its width.",
        'Write, say, "age 7 3" for three characters from the seventh on.',
    )


def read_layout(path: Path) -> tuple[str, ...]:
    """Return the layout that a file states.

    The file is a table with the columns name, start and width (or end), SPSS's DATA LIST, Stata's
    infix, or a codebook of the DDI.

    Raises
    ------
    BadOptions
        If it states none.
    """
    try:
        with opening(path):
            small = path.stat().st_size <= _LARGEST
            text = path.read_text(encoding="utf-8-sig") if small else ""
    except UnicodeDecodeError:
        raise WrongEncoding(
            "{file} is not text in UTF-8.", "Save it as UTF-8.", file=path.name
        ) from None
    if "<var" in text:
        found = tuple(_of_codebook(text))
    elif statement := _STATEMENT.search(text):
        found = tuple(_of_syntax(text[statement.end() :]))
    else:
        found = tuple(_of_table(text))
    if not found:
        raise BadOptions(
            "{file} does not say where columns stand.",
            "Choose a table with the columns name, start and width, an SPSS file with DATA LIST, a"
            " Stata file with infix, or a codebook of the DDI with locations.",
            file=path.name,
        )
    fields_of(found)
    return found


def _of_table(text: str) -> Iterator[str]:
    lines = text.splitlines()
    mark = ";" if lines and ";" in lines[0] else "\t" if lines and "\t" in lines[0] else ","
    for row in csv.DictReader(lines, delimiter=mark):
        known = {(key or "").strip().lower(): (value or "") for key, value in row.items() if key}
        name, start = known.get("name", "").strip(), known.get("start", "").strip()
        width, end = known.get("width", "").strip(), known.get("end", "").strip()
        if not width and end.isdecimal() and start.isdecimal():
            width = str(int(end) - int(start) + 1)
        if name or start or width:
            yield f"{name} {start} {width}"


def _of_syntax(text: str) -> Iterator[str]:
    body = re.split(r"\.\s*(?:\n|$)", text, maxsplit=1)[0]
    body = re.split(r"\busing\b", body, maxsplit=1, flags=re.IGNORECASE)[0]
    for name, start, end in _PLACE.findall(body):
        if name.lower() not in _WORDS:
            yield f"{name} {start} {int(end or start) - int(start) + 1}"


def _of_codebook(text: str) -> Iterator[str]:
    for part in re.split(r"<var\b", text)[1:]:
        name = re.search(r'\bname="([^"]+)"', part.partition(">")[0])
        location = _LOCATION.search(part)
        if name and location:
            said = dict(re.findall(r'(\w+)="(\d+)"', location[0]))
            start, end = said.get("StartPos", ""), said.get("EndPos", "")
            width = said.get("width") or (int(end) - int(start) + 1 if start and end else "")
            if start:
                yield f"{name[1]} {start} {width}"


_TOLD: Final = 5


def _gaps(fields: Sequence[LayoutField]) -> Iterator[slice]:
    """Yield the places of a line that are in no column."""
    end = 0
    for field in sorted(fields, key=lambda one: one.start):
        if field.start > end:
            yield slice(end, field.start)
        end = max(end, field.end)
    yield slice(end, None)


class LineCutter:
    """Cuts the lines of a text, which comes in pieces, into fields."""

    def __init__(self, fields: Sequence[LayoutField]) -> None:
        self._places = [slice(field.start, field.end) for field in fields]
        self._gaps = list(_gaps(fields))
        self._held = ""
        self._lines = 0
        self.count_beyond = 0
        """In how many lines something stands that no column holds."""
        self.beyond: list[int] = []
        """The first of these lines, from 1."""

    def __call__(self, text: bytes, last: bool) -> bytes:
        """Return the fields of all whole lines so far; of the last one too at the end."""
        lines = (self._held + text.decode()).replace("\r\n", "\n").split("\n")
        self._held = "" if last else lines.pop()
        if last and not lines[-1]:
            lines.pop()
        for number, line in enumerate(lines, start=self._lines + 1):
            if any(line[gap].strip() for gap in self._gaps):
                self.count_beyond += 1
                self.beyond += [number] if self.count_beyond <= _TOLD else []
        self._lines += len(lines)
        cut = (MARK.join([line[place].strip() for place in self._places]) for line in lines)
        return "".join(f"{line}\n" for line in cut).encode()


class BlankSqueezer:
    """Puts one blank in place of several between fields, of a text that comes in pieces."""

    def __init__(self) -> None:
        self._held = b""

    def __call__(self, text: bytes, last: bool) -> bytes:
        """Return all whole lines so far with one blank between fields."""
        text = self._held + text
        end = len(text) if last else text.rfind(b"\n") + 1
        self._held, text = text[end:], text[:end]
        text = re.sub(rb'("[^"\n]*")|[ \t]+', lambda found: found[1] or b" ", text)
        return re.sub(rb"(?m)^ +| +(?=\r?$)", b"", text)


def refuse_fixed_width(text: str, options: ReadOptions) -> None:
    """Refuse a text without delimiters whose lines are equally long and mostly digits.

    Raises
    ------
    BadOptions
        If its beginning looks like it.
    """
    # The last line may be cut off.
    lines = [line for line in text.splitlines()[:_LOOKED_AT] if line.strip()]
    lines = lines[:-1] if len(lines) > _FEWEST else lines
    length = len(lines[0]) if lines else 0
    if len(lines) < _FEWEST or length < _SHORTEST or any(len(line) != length for line in lines):
        return
    digits = sum(letter.isdigit() for line in lines for letter in line)
    if digits < length * len(lines) / 2:
        return
    whole = replace(options, layout=(f"column_1 1 {length}",))
    raise BadOptions(
        "The table seems to be of fixed width: its lines have {length}"
        " {length:character|characters} each, and nothing stands between fields.",
        "Choose a file that says where each column stands, by Layout of columns… under How it is"
        " read, or --layout FILE in a command: a table with the columns name, start and width,"
        " SPSS's DATA LIST, Stata's infix or a DDI codebook.",
        ways=(Way("Read each line as one value", whole),),
        length=length,
    )
