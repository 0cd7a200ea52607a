"""What is chosen of how a file is read: how options differ, in words, and how each is taken back.

A remark offers whole `ReadOptions`. What a person chooses of them is only how these differ from
the options that the remark was made by: two choices then stand beside each other, and each can be
taken back by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from enum import Enum
from typing import Any, Final

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence, listed
from sfumato.formats.errors import Way
from sfumato.formats.notes import Note
from sfumato.formats.options import ENCODINGS, ColumnType, ReadOptions, settings_of_reading

_WHICH_TABLE: Final = frozenset({"format", "sheet", "query"})
"""Options that say which table is read, and not how."""


@dataclass(frozen=True)
class ReadingChoice:
    """One option that is chosen otherwise.

    Parameters
    ----------
    name
        The option's name, a field of `ReadOptions`.
    value
        What is chosen; None where the choice for one column is taken away.
    column
        The column that it is chosen for, where the option is chosen for single columns.
    """

    name: str
    value: Any
    column: str | None = None


def choices_between(before: ReadOptions, after: ReadOptions) -> tuple[ReadingChoice, ...]:
    """Return what is chosen otherwise in the second options, in the order of the fields."""
    found: list[ReadingChoice] = []
    for each in fields(ReadOptions):
        old, new = getattr(before, each.name), getattr(after, each.name)
        if old == new or each.name in _WHICH_TABLE:
            continue
        if isinstance(new, Mapping):
            columns = dict.fromkeys((*old, *new))
            changed = (name for name in columns if old.get(name) != new.get(name))
            found += [ReadingChoice(each.name, new.get(column), column) for column in changed]
        else:
            found.append(ReadingChoice(each.name, new))
    return tuple(found)


def with_choices(options: ReadOptions, choices: Iterable[ReadingChoice]) -> ReadOptions:
    """Return the options with what is chosen.

    Raises
    ------
    BadOptions
        If the choices contradict the other options.
    """
    changes: dict[str, Any] = {}
    for choice in choices:
        if choice.column is None:
            changes[choice.name] = choice.value
            continue
        of_columns = dict(changes.get(choice.name, getattr(options, choice.name)))
        of_columns.pop(choice.column, None)
        if choice.value is not None:
            of_columns[choice.column] = choice.value
        changes[choice.name] = of_columns
    return replace(options, **changes)


def choices_of(way: Way, options: ReadOptions) -> tuple[ReadingChoice, ...]:
    """Return what a way changes in the options that a file is read by.

    First rows are read by options that refuse nothing, and a remark on them may start from these.
    """
    found = (choices_between(start, way.options) for start in (options, options.tolerant()))
    return min(found, key=len)


def taken_back(choice: ReadingChoice, found: ReadOptions) -> ReadingChoice:
    """Return the choice by which an option is again as it was found out."""
    value = getattr(found, choice.name)
    return replace(choice, value=value if choice.column is None else value.get(choice.column))


# ----- in words

_TITLES: Final[Mapping[str, Sentence]] = {
    "encoding": Sentence("Encoding"),
    "delimiter": Sentence("Between columns"),
    "quote": Sentence("Around texts"),
    "escape": Sentence("Before a quotation mark in a text"),
    "decimal": Sentence("Decimal mark"),
    "thousands": Sentence("Between groups of digits"),
    "date_order": Sentence("Dates are written"),
    "header": Sentence("The first row holds the names"),
    "skip_lines": Sentence("Lines to leave out above"),
    "missing": Sentence("Texts that mean missing"),
    "quoted_empty_is_text": Sentence("Empty texts in quotes are kept"),
    "escaped_formulas": Sentence("Apostrophes before formulas are taken away"),
    "keep_user_missing": Sentence("Declared missing codes are kept as values"),
    "missing_reasons": Sentence("Reasons of missing values"),
    "hidden": Sentence("Hidden rows, columns and cells"),
    "shown_dates": Sentence("Dates that show a day, a month or a year"),
    "error_cells": Sentence("Errors such as #N/A"),
    "keep_blank_rows": Sentence("Rows without any value are kept"),
    "same_texts": Sentence("Texts that look the same are the same"),
    "merged": Sentence("The value of merged cells"),
    "any_size": Sentence("Any size is read"),
    "ragged_rows": Sentence("Rows with too many or few fields"),
    "bad_values": Sentence("Values of another type"),
    "version": Sentence("Read as by version"),
}
_TYPES: Final[Mapping[ColumnType, Sentence]] = {
    ColumnType.TEXT: Sentence("text"),
    ColumnType.INTEGER: Sentence("whole numbers"),
    ColumnType.NUMBER: Sentence("numbers"),
    ColumnType.DATE: Sentence("dates"),
    ColumnType.BOOLEAN: Sentence("yes or no"),
}
_WORDS: Final[Mapping[object, Sentence]] = {
    "\t": Sentence("tab"),
    "refuse": Sentence("stop and tell me"),
    "skip": Sentence("leave the row out"),
    "missing": Sentence("treat as missing"),
    "text": Sentence("read the column as text"),
    "leave-out": Sentence("left out"),
    "read": Sentence("read"),
    "every-row": Sentence("in each of the rows"),
    "first-row": Sentence("in the first row alone"),
    "as-shown": Sentence("as they are shown"),
    "exact": Sentence("exactly"),
    "as-missing": Sentence("missing"),
    "as-text": Sentence("as texts"),
    "dropped": Sentence("left out"),
    "column": Sentence("in a column of their own"),
    "values": Sentence("none: codes are values"),
}


def choice_sentence(choice: ReadingChoice, *, kept: bool = False) -> Sentence:
    """Say what is chosen, as a person reads it beside what can be taken back.

    Where it is `kept` in ledgers and reports, texts that mean missing are counted, since they are
    values of the table.
    """
    if choice.name == "layout" and choice.value:
        words = "The layout of a text of fixed width has {count:,} {count:column|columns}."
        return Sentence(words, count=len(choice.value))
    if kept and isinstance(choice.value, tuple):
        choice = replace(choice, value=str(len([text for text in choice.value if text])))
    if choice.name == "column_types" and choice.column is not None:
        kind = choice.value
        words = "{column} is read as {kind}."
        if kind is None:
            words = "The type of {column} is found out from its values."
        return Sentence(words, column=choice.column, kind=_TYPES.get(kind, str(kind)))
    # An option that has no words here is told as commands tell it, or by its name.
    name = choice.name.removeprefix("column_") if choice.column else choice.name
    setting = settings_of_reading().get(choice.name)
    title = _TITLES.get(name, Sentence(setting.text if setting else name))
    if choice.column is not None:
        return Sentence(
            "{column}: {title}: {value}",
            column=choice.column,
            title=title,
            value=_value_words(choice),
        )
    return Sentence("{title}: {value}", title=title, value=_value_words(choice))


def _value_words(choice: ReadingChoice) -> str:
    value = choice.value
    if choice.name == "encoding":
        names = dict(ENCODINGS)
        return Sentence(names[value or "utf-8"]) if (value or "utf-8") in names else str(value)
    if isinstance(value, bool):
        return Sentence("yes") if value else Sentence("no")
    if value is None or value in ("", ()):
        return Sentence("nothing")
    if isinstance(value, tuple):
        texts = tuple(f"“{text}”" for text in value if text)
        return listed(texts) if texts else Sentence("nothing")
    text = value.value if isinstance(value, Enum) else value
    return _WORDS.get(text, str(text)) if isinstance(value, Enum | str) else str(text)


def rows_sentence(note: Note) -> str:
    """Say which rows a remark is about, and how many where these are not all; or nothing.

    Nothing is said of the only row that the remark names itself.
    """
    names_it = "{row}" in note.template and len(note.rows) == (note.count or 1) == 1
    if not note.rows or names_it:
        return ""
    named = listed([Sentence("{row:,}", row=row) for row in note.rows])
    if note.count is not None and note.count > len(note.rows):
        words = "First in {some:row|rows} {rows}."
        if Sentence("{count:,}", count=note.count) not in note.text:
            words = "{count:,} in all, first in {some:row|rows} {rows}."
        return Sentence(words, count=note.count, some=len(note.rows), rows=named)
    return Sentence("In {some:row|rows} {rows}.", some=len(note.rows), rows=named)


def cautions_first(notes: Iterable[Note]) -> list[Note]:
    """Return each remark once, those that the table may be another one for before the others."""
    once: list[Note] = []
    for note in notes:
        if note not in once:
            once.append(note)
    return sorted(once, key=lambda note: not note.caution)


def marks_of(notes: Iterable[Note]) -> dict[str, tuple[bool, tuple[Note, ...]]]:
    """Return the remarks on each column, and whether one of them is a caution."""
    found: dict[str, tuple[Note, ...]] = {}
    for note in cautions_first(notes):
        for column in note.columns:
            found[column] = (*found.get(column, ()), note)
    return {name: (any(note.caution for note in those), those) for name, those in found.items()}
