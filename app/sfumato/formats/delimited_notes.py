"""What is said of a delimited text beside its values: what was guessed, and what is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from sfumato.formats.columns.settling import NAMED_ROWS
from sfumato.formats.encodings import guess_encoding, note_on_guess
from sfumato.formats.errors import Way
from sfumato.formats.files import opening
from sfumato.formats.notes import NAMES_DOUBTED, Note
from sfumato.formats.options import ReadOptions
from sfumato.formats.records import Records
from sfumato.formats.sniffing import header_is_doubtful
from sfumato.formats.utf8_stream import Utf8Stream

_TOTAL: Final = re.compile(
    r"\s*(grand |sub)?(totale?s?|sum(me|a)?|insgesamt|gesamt(summe)?|zusammen|ensemble|итого|всего"
    r"|合计|合計|총계)\s*:?\s*",
    re.IGNORECASE,
)
_SAMPLE_BYTES: Final = 1 << 17
_MOST_SAMPLED: Final = 1 << 22
_LEAST_LINES: Final = 12
"""So many lines are looked at though they are longer than usual, as those of wide tables are."""


def beginning_of(path: Path, encoding: str) -> str:
    """Return the first lines of a text."""
    with opening(path), path.open("rb") as file:
        stream = Utf8Stream(file, encoding, path.name)
        sample = more = stream.read(_SAMPLE_BYTES)
        # It ends with a whole letter and no return, so some bytes sooner than was asked for.
        while len(more) > _SAMPLE_BYTES - 8 and sample.count(b"\n") < _LEAST_LINES:
            if len(sample) >= _MOST_SAMPLED:
                break
            more = stream.read(_SAMPLE_BYTES)
            sample += more
    if len(more) > _SAMPLE_BYTES - 8:
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    return sample.decode(errors="replace")


def notes_on_text(
    path: Path,
    options: ReadOptions,
    records: Records,
    *,
    whole: bool = True,
    ends_with_last: bool = True,
) -> Iterator[Note]:
    """Say what was guessed of a text and what stands above it, and once read, what is left out.

    Parameters
    ----------
    path, options
        The text, and how it is read.
    records
        Its rows.
    whole
        Whether all of them were read.
    ends_with_last
        Whether the text's last row is one of the table's; else it was left out for its values.
    """
    if options.version == 1:
        return
    yield from _notes_on_encoding(path, options)
    if options.skip_lines:
        yield Note(
            "{count} {count:line|lines} above the table {count:is|are} left out.",
            {"count": options.skip_lines},
            count=options.skip_lines,
            ways=(Way("Leave no lines out", replace(options, skip_lines=0)),),
        )
    if not options.layout:
        doubtful = options.header and header_is_doubtful(
            beginning_of(path, options.encoding), options
        )
        yield from notes_on_header(options, doubtful=doubtful)
    if records.unnamed:
        yield unnamed_note(records.unnamed)
    if not whole:
        return
    if records.cutter is not None and records.cutter.count_beyond:
        count = records.cutter.count_beyond
        yield Note(
            "{count} {count:line has|lines have} characters that no column of the layout holds:"
            " they are left out. Choose a layout with them, if they belong to the table.",
            {"count": count},
            count=count,
            rows=tuple(records.cutter.beyond),
        )
    if records.ragged:
        yield Note(
            "{count} {count:row|rows} with too many or too few fields {count:is|are} left out.",
            {"count": len(records.ragged)},
            count=len(records.ragged),
            rows=records.ragged[:NAMED_ROWS],
        )
    if ends_with_last and is_total(records.last_begins):
        yield TOTAL_NOTE


def notes_on_header(options: ReadOptions, *, doubtful: bool) -> Iterator[Note]:
    """Say where the columns' names come from, unless there is no doubt."""
    if not options.header:
        yield Note(
            "The columns have no names in the file, so they are called column_1 and so on.",
            ways=(Way("The first row holds the names", replace(options, header=True)),),
        )
    elif doubtful:
        yield Note(
            NAMES_DOUBTED,
            caution=True,
            ways=(Way("The first row is a record", replace(options, header=False)),),
        )


def unnamed_note(columns: tuple[str, ...]) -> Note:
    """Say that columns without a name are called by their positions."""
    return Note(
        "{count} {count:column has|columns have} no name in the file, and {count:is|are} called"
        " by {count:its|their} {count:position|positions}.",
        {"count": len(columns)},
        columns=columns,
        count=len(columns),
    )


def is_total(text: str) -> bool:
    """Whether a row that begins with a text seems to hold totals."""
    return _TOTAL.fullmatch(text) is not None


TOTAL_NOTE: Final = Note(
    "The last row begins with a word for totals. Look whether it is a record; if it is"
    " none, remove it from the file.",
    caution=True,
)


def _notes_on_encoding(path: Path, options: ReadOptions) -> Iterator[Note]:
    """Say in which encoding a text is read that does not state its own, if it was guessed."""
    if options.encoding.startswith("utf") or not options.encoding:
        return
    guess = guess_encoding(path)
    if guess.encoding == options.encoding:
        yield note_on_guess(guess, options)
