"""What a question is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from sfumato.analysis.answers import Answer
from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence, as_sentence

if TYPE_CHECKING:
    from sfumato.analysis.audit_inputs import AuditInputs
    from sfumato.engine.core.progress import Context
    from sfumato.engine.table.repeated_units import RepeatedUnit
    from sfumato.project.document.model import Document, PolicyEntry


class Topic(StrEnum):
    """What questions are about, as a person asks it, in that order."""

    TOGETHER = Sentence("What do they learn together?")
    """What those who hold releases learn by pooling them."""
    FOUND = Sentence("Who can be found?")
    """Whether somebody who knows a person finds the person's row."""
    GROUPS = Sentence("What about small groups?")
    """What small groups of records give away, also beside other holders' tables."""
    LEAK = Sentence("Whose file is this?")
    """Which recipient's copy a file is."""
    REPORT = Sentence("What goes into the files?")
    """The report, for whoever answers for the releases."""


@dataclass(frozen=True)
class AskedNumber:
    """A number that a question is asked with.

    Parameters
    ----------
    name, title
        Its option on the command line, and its field in the window.
    gloss
        What it is, as a phrase.
    usual
        What it is where nothing is stated.
    least, most
        The ends of its range.
    above
        Whether `least` itself is too small.
    whole
        Whether it is a whole number.
    step
        What an arrow key adds.
    of_rows
        Whether it is at most the number of the table's rows.
    """

    name: str
    title: str
    gloss: str
    usual: float
    least: float
    most: float
    above: bool = False
    whole: bool = False
    step: float | None = None
    of_rows: bool = False

    def stated(self, settings: Mapping[str, float]) -> float:
        """Return what settings say, or what is usual.

        Raises
        ------
        LevelError
            If it is out of range.
        """
        value = settings.get(self.name, self.usual)
        low = value > self.least if self.above else value >= self.least
        if not (low and value <= self.most):
            raise LevelError(
                "--{name} {value:g} is out of range: {gloss}.",
                "Give a number above {least:g} and at most {most:g}."
                if self.above
                else "Give a number from {least:g} to {most:g}.",
                name=self.name,
                value=value,
                gloss=as_sentence(self.gloss),
                least=self.least,
                most=self.most,
            )
        return value


def always(_document: Document, _units: Sequence[RepeatedUnit] | None) -> bool:
    """Return that a question can be asked of any project."""
    return True


def nothing_of_entry(
    _inputs: AuditInputs, _entry: PolicyEntry, _context: Context
) -> Iterable[Answer]:
    """Say nothing in the report's section of a policy entry."""
    return ()


@dataclass(frozen=True)
class AuditQuestion:
    """What a person can ask of a release.

    Parameters
    ----------
    name
        The audit's name on the command line, and in JSON.
    title
        What its page, or its section in the report, is called.
    summary
        What the command does, in one sentence.
    topic
        What it is about; its page stands among those of its topic.
    order
        Its place among all.
    answers
        Answers it; what has to be imported for that is imported there.
    options
        Which arguments the command takes, by their names in `sfumato.commands.audit`.
    settings
        The numbers that it is asked with, each described once for window and command line.
    nothing
        What is said where there is no answer.
    alone
        Whether there is one answer, always.
    in_short
        Whether the answer stands among the first, which need no page.
    of_counts
        Whether it is about tables of counts: there is nothing to ask before one has left.
    on_page
        Whether the window shows the answers on a page like all others.
    in_report
        Whether the internal report has a section of it.
    of_entry
        What the report's section of a policy entry says of it.
    applies
        Whether there is anything to ask about, by what is decided and by the columns that bring
        rows together; these are None while they are not known.
    """

    name: str
    title: str
    summary: str
    topic: Topic
    order: int
    answers: Callable[[AuditInputs, Context], Iterable[Answer]]
    options: Sequence[str] = ()
    settings: Sequence[AskedNumber] = ()
    nothing: str = Sentence("There is nothing to answer yet.")
    alone: bool = False
    in_short: bool = False
    of_counts: bool = False
    on_page: bool = False
    in_report: bool = False
    of_entry: Callable[[AuditInputs, PolicyEntry, Context], Iterable[Answer]] = nothing_of_entry
    applies: Callable[[Document, Sequence[RepeatedUnit] | None], bool] = always
