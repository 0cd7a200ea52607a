"""Answers as parts of a report."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.analysis.answers import Answer
from sfumato.engine.core.wording import Sentence, as_sentence, joined
from sfumato.formats.language import said
from sfumato.plots.answers import builder
from sfumato.report.blocks import Block, Bullets, Paragraph, Picture, ReportGrid


def blocks_of(answer: Answer, about: str = "") -> Iterator[Block]:
    """Return an answer's sentences, tables, pictures, remedies and notes.

    Where a question has several answers, what this one is `about` stands before them.
    """
    told = joined(*map(as_sentence, answer.sentences))
    if about:
        told = joined(Sentence("{name}:", name=as_sentence(about)), told)
    if told:
        yield Paragraph(told)
    for table in (one.without_values for one in answer.tables):
        yield ReportGrid(table.header, table.texts, table.numeric)
    for figure in answer.figures:
        yield Picture(builder(figure), said(figure.caption))
    if answer.remedies:
        yield Bullets(tuple(answer.remedies))
    if answer.notes:
        yield Paragraph(joined(*map(as_sentence, answer.notes)), "note")
