"""Answers as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sfumato.analysis.answers import Answer, AnswerTable
from sfumato.formats.language import said


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
        for table in answer.tables:
            yield from (f"{indent}{line}" for line in lines_of_table(table.without_values))
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
