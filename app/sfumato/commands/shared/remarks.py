"""Lines of text: remarks on how a table is read, what to type otherwise, and answers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sfumato.analysis.answers import Answer, AnswerTable
from sfumato.formats.choices import ReadingChoice, cautions_first, choices_of, rows_sentence
from sfumato.formats.errors import FileError, Way
from sfumato.formats.language import said, worded
from sfumato.formats.notes import Note
from sfumato.formats.options import ReadOptions, settings_of_reading

if TYPE_CHECKING:
    from sfumato.project.document.model import TableSource

_MARKS: Final = {"\t": "tab", " ": "blank", "": "none"}
"""Words for marks that a command line hardly lets one write."""


def lines_of(
    notes: Iterable[Note],
    plain: Mapping[str, Any],
    again: Callable[[ReadOptions], str] | None = None,
) -> Iterator[str]:
    """Yield remarks as lines, cautions first.

    Parameters
    ----------
    notes
        The remarks.
    plain
        The options that the table is read by, as a document keeps them.
    again
        Returns the command that reads it by other options, where arguments alone won't do.
    """
    options = ReadOptions.from_dict(dict(plain))
    for note in cautions_first(notes):
        text = said(note.sentence)
        yield worded("Caution: {text}", text=text) if note.caution else text
        if rows := rows_sentence(note):
            yield f"  {said(rows)}"
        for way in note.ways:
            if choices := choices_of(way, options):
                typed = again(way.options) if again else " ".join(map(to_type, choices))
                yield f"  {said(way.title)}: {typed}"


def lines_of_ways(error: FileError) -> Iterator[str]:
    """Yield the ways out of a refusal that are other reading options, with what to type."""
    for way in error.ways if error.read_by is not None else ():
        if choices := choices_of(way, error.read_by):
            yield f"  {said(way.title)}: {' '.join(map(to_type, choices))}"


def read_again(project: Path, source: TableSource, options: ReadOptions) -> str:
    """Return the command that reads a project's table again by other options."""
    before = ReadOptions.from_dict(dict(source.options))
    # An edition is read by the present version without a word.
    choices = [one for one in choices_of(Way("", options), before) if one.name != "version"]
    asked = shlex.join(["sfumato", "source", str(project), "--new-edition", source.path])
    return " ".join((asked, *map(to_type, choices)))


def to_type(choice: ReadingChoice) -> str:
    """Return what states a choice: an argument, or else a key of ``[reading]`` in rules."""
    setting, value = settings_of_reading().get(choice.name), choice.value
    option = "" if setting is None else setting.option
    if choice.column is not None:
        if value is None:
            return worded("leave out {option}", option=f"{option} {choice.column}=…")
        values = value if isinstance(value, tuple) else (value,)
        if choice.name == "column_missing":
            values = ("…",)  # the texts are values of the table: who knows them fills them in
        return " ".join(shlex.join([option, f"{choice.column}={each}"]) for each in values)
    if not option or value == ():
        plain = str(value) if isinstance(value, StrEnum) else value
        return f"[reading] {choice.name} = {json.dumps(plain, ensure_ascii=False)}"
    if isinstance(value, bool):
        return option if value else f"--no-{option.removeprefix('--')}"
    if isinstance(value, tuple):
        return " ".join(shlex.join([option, text]) for text in value if text)
    marks = _MARKS if setting is not None and setting.metavar == "MARK" else {"": "utf-8"}
    return shlex.join([option, marks.get(value, str(value))])


# ----- answers as lines of text


def lines_of_answers(found: Iterable[Answer]) -> Iterator[str]:
    """Return what was found, below what it is about."""
    last = ""
    for answer in found:
        about = said(answer.about)
        if about not in ("", last):
            yield about
        last, indent = about, "  " if about else ""
        for sentence in answer.sentences:
            yield f"{indent}{said(sentence)}"
        for table in answer.open_tables:
            yield from (f"{indent}{line}" for line in lines_of_table(table))
        yield from (f"{indent}- {said(remedy)}" for remedy in answer.remedies)


def lines_of_table(table: AnswerTable) -> Iterator[str]:
    """Return a table, its columns below one another; figures are set right."""
    lines = (table.header, *table.texts)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (
            cell.rjust(width) if place in table.numeric else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
