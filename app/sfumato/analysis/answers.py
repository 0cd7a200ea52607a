"""The answer to what a person asks of a release, which window, report and command line render."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import IntEnum, StrEnum
from typing import Any, Final

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence, formatted
from sfumato.formats.language import grouped, localized, said


class Severity(IntEnum):
    """How much a finding matters; sorted, the worst first."""

    GRAVE = 0
    """A person can be found, or a promise is empty: mended, or released for a reason only."""
    CAUTION = 1
    """To be looked at."""
    GOOD = 2
    """Checked, and nothing was found."""

    @property
    def word(self) -> str:
        """What it is called, wherever a verdict is shown."""
        return _SEVERITY_WORDS[self]


_SEVERITY_WORDS: Final = {
    Severity.GRAVE: Sentence("Danger"),
    Severity.CAUTION: Sentence("Caution"),
    Severity.GOOD: Sentence("OK"),
}


class CellKind(StrEnum):
    """What the cells of a column are, and so how they are written."""

    TEXT = "text"
    COUNT = "count"
    SHARE = "share"
    """From 0 to 1; written as a percentage."""
    NUMBER = "number"
    VALUE = "value"
    """A value of the table: the window alone shows it, to the custodian."""
    WIDTH = "width"
    """Half of an interval's, rounded by who tells it."""

    def written(self, cell: Any) -> str:
        """Return a cell as it is shown; a dash for None."""
        if cell is None:
            return "–"
        if self in (CellKind.TEXT, CellKind.VALUE):
            return said(cell) if isinstance(cell, Sentence) else str(cell)
        if self is CellKind.SHARE:
            return said(formatted(cell, ".1%"))
        if self is CellKind.WIDTH:
            return f"±\u202f{localized(str(cell))}"
        return grouped(cell) if self is CellKind.COUNT else localized(f"{cell:.4g}")


class GivenName(str):
    """A heading that somebody gave, as a column's name or a holder's: none of ours equals it."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GivenName) and str(self) == str(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((GivenName, str(self)))


@dataclass(frozen=True)
class AnswerTable:
    """Figures line by line.

    Parameters
    ----------
    columns
        Each column's heading, a sentence or a `GivenName`, and what its cells are.
    rows
        The cells, a tuple for each line; names are texts, words to be translated are sentences.
    inside
        Whether the window alone shows it.
    """

    columns: Mapping[str, CellKind]
    rows: Sequence[tuple[Any, ...]]
    inside: bool = False

    @property
    def without_values(self) -> AnswerTable:
        """The table without the columns that show values of the source table."""
        kinds = tuple(self.columns.values())
        kept = [at for at, kind in enumerate(kinds) if kind is not CellKind.VALUE]
        headings = tuple(self.columns)
        rows = [tuple(row[at] for at in kept) for row in self.rows]
        return AnswerTable({headings[at]: kinds[at] for at in kept}, rows)

    @property
    def header(self) -> tuple[str, ...]:
        """The headings in the language spoken."""
        return tuple(str(one) if isinstance(one, GivenName) else said(one) for one in self.columns)

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """The cells as they are shown."""
        kinds = tuple(self.columns.values())
        return tuple(
            tuple(kind.written(cell) for kind, cell in zip(kinds, row, strict=True))
            for row in self.rows
        )

    @property
    def numeric(self) -> tuple[int, ...]:
        """The places of the columns that are set right."""
        return tuple(
            at
            for at, kind in enumerate(self.columns.values())
            if kind not in (CellKind.TEXT, CellKind.VALUE)
        )


@dataclass(frozen=True, eq=False)
class AnswerFigure:
    """What a plot draws.

    Parameters
    ----------
    plot
        Which, as ``module.build_…`` in `sfumato.plots`.
    data
        What that function takes before the style, argument by argument.
    caption
        What it shows, for who can't see it.
    """

    plot: str
    data: tuple[object, ...] = field(repr=False)
    caption: str = ""


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer to one question, about one of the things that it can be about.

    Parameters
    ----------
    sentences
        What was found, without any value of the table.
    verdict
        How grave it is; None where there is nothing to ask about yet, or nothing to judge.
    about
        What it is about, where a question has several answers.
    entry
        The policy entry that it is about; empty where it is about all.
    notes
        What explains it.
    remedies
        What can be done.
    leads_to
        The panel where that is done.
    tables, figures
        What is shown beside the sentences.
    facts
        The figures as JSON values, beside verdict and sentences.
    """

    sentences: Sequence[str]
    verdict: Severity | None = None
    about: str = ""
    entry: str = ""
    notes: Sequence[str] = ()
    remedies: Sequence[str] = ()
    leads_to: str = ""
    tables: Sequence[AnswerTable] = ()
    figures: Sequence[AnswerFigure] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def open_tables(self) -> tuple[AnswerTable, ...]:
        """The tables without values of the source table: none whose lines only these tell apart."""
        told = (one for one in self.tables if not one.inside)
        heads = ((one, next(iter(one.columns.values()))) for one in told)
        return tuple(one.without_values for one, kind in heads if kind is not CellKind.VALUE)

    def plain(self, question: str) -> dict[str, Any]:
        """Return it as JSON values, the same in every language."""
        return {
            "question": question,
            "verdict": None if self.verdict is None else self.verdict.name.lower(),
            "answer": [str(sentence) for sentence in self.sentences],
            **self.facts,
        }
