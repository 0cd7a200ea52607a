"""What a report consists of, before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sfumato.plots.figure import PlotFigure
from sfumato.plots.style import PlotStyle


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
class Grid:
    """A table.

    Parameters
    ----------
    header
        The columns' names.
    rows
        The cells' texts.
    numeric
        The positions of the columns that are set right.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()


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


Block = Paragraph | Bullets | Grid | Picture


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: tuple[Block, ...]


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
    sections: tuple[Section, ...]
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
