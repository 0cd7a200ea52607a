"""A plan: what it decides, and what each recipient would get by it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sfumato.analysis.planning.board import Gauges
from sfumato.analysis.readiness.verdicts import Readiness
from sfumato.analysis.utility.worth import RecipientWorth
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.matrices.worth import USEFUL
from sfumato.project.document.model import Document


@dataclass(frozen=True)
class PlanStep:
    """What a plan decides.

    Parameters
    ----------
    told
        What is done.
    why
        What speaks for it, with figures; may be empty.
    left_out
        The columns that nobody would see anything of, and are left out.
    """

    told: Sentence
    why: str = ""
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class SafePlan:
    """What is proposed for a project, beside what it was.

    Parameters
    ----------
    document
        The project as it would be.
    steps
        What is decided anew, in order.
    before
        What the check finds today; empty where the policy isn't whole.
    after
        What it would find.
    worth
        What the releases would be worth.
    gauges_before, gauges_after
        The three figures of each recipient today, as far as they can be told, and with the plan.
    """

    document: Document
    steps: tuple[PlanStep, ...]
    before: tuple[Readiness, ...]
    after: tuple[Readiness, ...]
    worth: tuple[RecipientWorth, ...]
    gauges_before: tuple[Gauges, ...] = ()
    gauges_after: tuple[Gauges, ...] = ()

    @property
    def is_safe(self) -> bool:
        """Whether nothing would keep a release from being made."""
        return not any(each.standing for each in self.after)

    @property
    def summary(self) -> Sentence:
        """What the check would find, beside what it finds today."""
        left = standing_in(self.after)
        if not self.before:
            told = "Without this plan nothing could be released. {after}"
        elif standing_in(self.before):
            told = "Today {count} {count:danger keeps|dangers keep} releases back. {after}"
        else:
            told = "Nothing keeps releases back today. {after}"
        after = Sentence("With this plan nothing keeps a release from being made.")
        if left:
            words = "With this plan {left} {left:danger|dangers} would be left: give reasons."
            after = Sentence(words, left=left)
        elif not self.document.sensitive:
            after = Sentence(
                "With this plan the check would find nothing, but a release needs a column that is"
                " marked as sensitive."
            )
        return Sentence(told, count=standing_in(self.before), after=after)

    @property
    def outcomes(self) -> tuple[Sentence, ...]:
        """What each recipient would get, in true records and in the detail that is kept."""
        first = self.document.recipients[0].name if self.document.recipients else ""
        return tuple(one for each in self.worth for one in _outcome(each, first))

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "safe": self.is_safe,
            "summary": str(self.summary),
            "steps": [
                {"step": str(one.told), "why": str(one.why), "left_out": list(one.left_out)}
                for one in self.steps
            ],
            "dangers_before": standing_in(self.before) if self.before else None,
            "dangers_after": standing_in(self.after),
            "left": [
                {"recipient": each.recipient, "check": one.check, "finding": str(one.sentence)}
                for each in self.after
                for one in each.standing
            ],
            "worth": [each.plain() for each in self.worth],
        }


def _outcome(worth: RecipientWorth, first: str) -> Iterator[Sentence]:
    hidden = [one.column for one in worth.details if one.hidden >= 1.0]
    # Of what is not worth enough to whoever is trusted most, it is said what would help.
    asked = worth.recipient == first
    told: list[Sentence] = [
        one.advice if asked and one.records < USEFUL else one.sentence for one in worth.columns
    ]
    told += [one.sentence for one in worth.details if one.hidden < 1.0]
    if hidden:
        told.append(Sentence("Nothing is left of {columns}.", columns=listed(hidden)))
    for one in told:
        yield Sentence("{recipient}: {told}", recipient=worth.recipient, told=one)


def standing_in(found: Sequence[Readiness]) -> int:
    """Return how many findings keep releases from being made, each counted for every recipient."""
    return sum(len(each.standing) for each in found)
