"""What a report consists of, whatever it is written as, and answers as such parts."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from typing import Final

from PySide6.QtGui import QImage

from sfumato.analysis.answers import Answer
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence, as_sentence, joined, set_apart
from sfumato.formats.language import said
from sfumato.plots.figure import PlotFigure, builder
from sfumato.plots.style import PlotStyle

FONT: Final = "Inter"
PAPER_DOTS: Final = 96
"""Pixels an inch of paper."""


@dataclass(frozen=True)
class Paragraph:
    """Text; `look` is empty, ``lead`` (the answer in short) or ``note`` (in small print)."""

    text: str
    look: str = ""


@dataclass(frozen=True)
class Bullets:
    """Sentences below one another."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class ReportGrid:
    """A table.

    Parameters
    ----------
    header
        The columns' names.
    rows
        The cells' texts.
    numeric
        The positions of the columns that are set right.
    row_heads
        Whether the first cell of a row says what the others are.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()
    row_heads: bool = False


@dataclass(frozen=True)
class Picture:
    """A plot, drawn when the report is written.

    Parameters
    ----------
    build
        Makes the figure in a style.
    text
        What it shows, for who can't see it.
    """

    build: Callable[[PlotStyle], PlotFigure]
    text: str


@dataclass(frozen=True)
class SignatureLines:
    """Lines that are filled in by hand, each with what belongs there."""

    labels: tuple[str, ...]


Block = Paragraph | Bullets | ReportGrid | Picture | SignatureLines


@dataclass(frozen=True)
class ReportSection:
    """A heading and what stands below it."""

    title: str
    blocks: tuple[Block, ...]

    def with_names_apart(self, columns: Container[str]) -> ReportSection:
        """Return the section with the columns' names in quotation marks, wherever it tells one."""
        told: list[Block] = []
        for block in self.blocks:
            match block:
                case Paragraph():
                    told.append(replace(block, text=set_apart(block.text, columns)))
                case Bullets():
                    items = tuple(set_apart(each, columns) for each in block.items)
                    told.append(Bullets(items))
                case ReportGrid():
                    rows = tuple(
                        tuple(said(set_apart(cell, columns)) for cell in row)
                        if any(isinstance(cell, Sentence) for cell in row)
                        else row
                        for row in block.rows
                    )
                    told.append(replace(block, rows=rows))
                case _:
                    told.append(block)
        return replace(self, blocks=tuple(told))


@dataclass(frozen=True)
class Report:
    """A whole report.

    Parameters
    ----------
    title, subtitle
        On top of the first page.
    notice
        Who may see it.
    sections
        In order.
    footer
        On the foot of each page.
    """

    title: str
    subtitle: str
    notice: str
    sections: tuple[ReportSection, ...]
    footer: str

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """Every plot, in order."""
        return tuple(
            block
            for section in self.sections
            for block in section.blocks
            if isinstance(block, Picture)
        )


@dataclass(frozen=True)
class Drawn:
    """A plot as it is put on a page.

    Parameters
    ----------
    width, height
        In pixels at 96 dots an inch.
    headline
        What it says.
    svg
        The element, where it was drawn as ``svg``.
    image
        The picture with two pixels for each of `width` and `height`, where it was drawn as
        ``image``.
    """

    width: float
    height: float
    headline: str
    svg: str = ""
    image: QImage | None = None


# ----- answers as parts of a report


def blocks_of(answer: Answer, about: str = "") -> Iterator[Block]:
    """Return an answer's sentences, tables, pictures, remedies and notes.

    Where a question has several answers, what this one is `about` stands before them.
    """
    told = joined(*map(as_sentence, answer.sentences))
    if about:
        told = joined(Sentence("{name}:", name=as_sentence(about)), told)
    if told:
        yield Paragraph(told)
    for table in answer.open_tables:
        yield ReportGrid(table.header, table.texts, table.numeric)
    for figure in answer.figures:
        yield Picture(builder(figure), said(figure.caption))
    if answer.remedies:
        yield Bullets(tuple(answer.remedies))
    if answer.notes:
        yield Paragraph(joined(*map(as_sentence, answer.notes)), "note")
