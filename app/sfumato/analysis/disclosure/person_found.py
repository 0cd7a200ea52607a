"""What was found of a person: the rows that remain, what is believed, and reasons to change it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.analysis.answers import (
    Answer,
    AnswerFigure,
    AnswerTable,
    CellKind,
    GivenName,
    Severity,
)
from sfumato.analysis.disclosure.person_rows import KnownFact
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.disclosure.record_risk import CERTAIN, LIKELY
from sfumato.engine.mechanisms.promise_words import at_most
from sfumato.project.document.model import Document
from sfumato.project.release.views import quasi_identifiers

FEW: Final = 5
"""Fewer records or units that fit are few."""
_RARELY: Final = 0.01
"""Chances below are told as 1 in so many."""
MOST_LISTED: Final = 1_000
"""Rows that are listed, the likeliest first."""


@dataclass(frozen=True)
class Knowledge:
    """What the attacker has.

    Parameters
    ----------
    facts
        What is known of the person, a fact for each column at most.
    holders
        Whose files are held: recipients, and holders of adopted releases; at least one.
    believed
        For a sensitive attribute, how likely some of its values (by their place in the domain) are
        held to be beforehand; the others share the rest as in the table.
    classes
        For other holders' tables, by the holder, the class in which the person is.
    """

    facts: tuple[KnownFact, ...]
    holders: tuple[str, ...]
    believed: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    classes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class PersonBelief:
    """What is believed of one sensitive attribute of the person.

    Parameters
    ----------
    attribute
        The attribute.
    holder
        Whose file tells most of it; empty where nobody holds any of it.
    names
        Its values, m of them.
    common
        What anybody believes who knows how frequent the values are, shape (m,).
    before, after
        What this attacker believes without and with the files, shape (m,).
    odds
        By how much the files multiply anyone's odds at most, as promised; None for no bound.
    reason
        Why the files' values can't be made again, where that is so: then `after` is `before`.
    """

    attribute: str
    holder: str
    names: tuple[str, ...]
    common: Floats = field(repr=False)
    before: Floats = field(repr=False)
    after: Floats = field(repr=False)
    odds: float | None = None
    reason: str = ""

    @property
    def likeliest(self) -> int:
        """The value that is believed most in the end, by its place."""
        return int(self.after.argmax())

    @property
    def verdict(self) -> Severity | None:
        """Whether the files made a belief likely or certain that was not before."""
        before, after = (float(each[self.likeliest]) for each in (self.before, self.after))
        if self.reason:
            return None
        if after >= CERTAIN > before:
            return Severity.GRAVE
        return Severity.CAUTION if after >= LIKELY > before else Severity.GOOD

    @property
    def sentence(self) -> str:
        """What came of it, without naming a value."""
        if self.reason or not self.holder:
            return _untold(self)
        said = (
            "{attribute}: the likeliest value is believed with {after:.1%}; without the files, it"
            " was with {before:.1%}."
        )
        return Sentence(
            said,
            attribute=self.attribute,
            after=float(self.after[self.likeliest]),
            before=float(self.before[self.likeliest]),
        )


@dataclass(frozen=True)
class NumberBelief:
    """What is believed of one sensitive number: the mean, and the ends of what holds 90 %."""

    attribute: str
    holder: str
    before: tuple[float, float, float]
    after: tuple[float, float, float]
    reason: str = ""

    @property
    def verdict(self) -> Severity | None:
        """Whether the files narrow the number to half of what was believed, or a tenth."""
        if self.reason:
            return None
        wide, now = self.before[2] - self.before[1], self.after[2] - self.after[1]
        if now > LIKELY * wide or wide == 0.0:
            return Severity.GOOD
        return Severity.GRAVE if now <= (1.0 - CERTAIN) * wide else Severity.CAUTION

    @property
    def sentence(self) -> str:
        """What came of it, without any number of the table."""
        if self.reason or not self.holder:
            return _untold(self)
        wide, now = self.before[2] - self.before[1], self.after[2] - self.after[1]
        return Sentence(
            "{attribute}: what is believed with 90 % is {share:.1%} as wide as without the files.",
            attribute=self.attribute,
            share=now / wide if wide else 1.0,
        )


@dataclass(frozen=True)
class PersonFound:
    """What an attacker finds.

    Parameters
    ----------
    knowledge
        What the attacker has.
    records, units
        How many records leave, and to how many units they belong; None where rows stand alone.
    rows
        The rows of the source table that can be the person's, from 0, the likeliest first.
    chances
        How likely each is the person's in the end, shape (k,), summing to 1.
    of_unit
        Each row's unit, shape (k,); None where rows stand alone.
    hidden
        How many of the rows show * for their quasi-identifiers.
    viewed_by
        Whose view of the quasi-identifiers the files show; empty for the values as they are.
    beliefs
        Of each sensitive attribute.
    shown
        Those rows that are shown, as the table has them.
    sampled
        From how many records it is known which numbers are common; None for all.
    """

    knowledge: Knowledge
    records: int
    units: int | None
    rows: npt.NDArray[np.int64] = field(repr=False)
    chances: Floats = field(repr=False)
    of_unit: npt.NDArray[np.int64] | None = field(repr=False)
    hidden: int
    viewed_by: str
    beliefs: tuple[PersonBelief | NumberBelief, ...]
    shown: pd.DataFrame = field(repr=False, compare=False)
    sampled: int | None = None

    @cached_property
    def remaining(self) -> int:
        """The records that fit, or the units."""
        return len(self.rows) if self.of_unit is None else len(np.unique(self.of_unit))

    @cached_property
    def surest(self) -> float:
        """How likely the likeliest record, or unit, is the person's."""
        if not len(self.rows):
            return 0.0
        if self.of_unit is None:
            return float(self.chances[0])
        places = pd.factorize(self.of_unit)[0]
        return float(np.bincount(places, weights=self.chances).max())

    @property
    def spotted(self) -> Severity | None:
        """Whether the person is found in the files."""
        if not self.remaining:
            return None
        if self.remaining == 1 or self.surest >= CERTAIN:
            return Severity.GRAVE
        few = self.remaining < FEW or self.surest >= LIKELY
        return Severity.CAUTION if few else Severity.GOOD


def _untold(belief: PersonBelief | NumberBelief) -> Sentence:
    if not belief.holder:
        return Sentence("{attribute}: none of these files has it.", attribute=belief.attribute)
    return Sentence(
        "{attribute}: what the files tell can't be computed: {reason}",
        attribute=belief.attribute,
        reason=belief.reason,
    )


def found_sentence(found: PersonFound) -> str:
    """Return how many rows remain, in a sentence."""
    of_units = found.units is not None
    if not found.remaining:
        return Sentence(
            "Nobody in the table fits: with what is known, these files show no row of this person."
        )
    details = {
        "count": found.remaining,
        "all": found.units if found.units is not None else found.records,
        "surest": found.surest,
    }
    if found.remaining == 1:
        what = Sentence("unit") if of_units else Sentence("record")
        return Sentence(
            "One {what} of {all:,} fits: whoever has these files finds the person.",
            what=what,
            **details,
        )
    what = Sentence("units") if of_units else Sentence("records")
    if found.surest < _RARELY:
        return Sentence(
            "{count:,} of {all:,} {what} fit, and none is the person's with more than 1 in {of:,}.",
            what=what,
            of=int(1.0 / found.surest),
            **details,
        )
    return Sentence(
        "{count:,} of {all:,} {what} fit; the likeliest is the person's with {surest:.1%}.",
        what=what,
        **details,
    )


def meaning_sentences(found: PersonFound) -> tuple[str, ...]:
    """Return what the figures rest on."""
    said: list[str] = []
    if found.viewed_by:
        said.append(
            Sentence(
                "The files show the quasi-identifiers as {recipient} sees them.",
                recipient=found.viewed_by,
            )
        )
    if found.hidden and found.knowledge.facts:
        said.append(
            Sentence(
                "{count:,} of these rows show * and can be anybody's: the rarer what is known, the"
                " less each counts.",
                count=found.hidden,
            )
        )
    holders = {each.holder for each in found.beliefs if each.holder}
    if len(found.knowledge.holders) > 1 and holders:
        said.append(
            Sentence(
                "Of each attribute, the most trusted file decides ({holders}): the others add"
                " nothing.",
                holders=listed(sorted(holders)),
            )
        )
    said += [
        Sentence(
            "The files multiply anyone's odds on {attribute} by at most {odds}.",
            attribute=each.attribute,
            odds=at_most(each.odds),
        )
        for each in found.beliefs
        if isinstance(each, PersonBelief) and each.odds is not None and np.isfinite(each.odds)
    ]
    if found.sampled is not None and any(isinstance(each, NumberBelief) for each in found.beliefs):
        said.append(
            Sentence(
                "The table is read in parts: which numbers are common is known from {some:,} of its"
                " {rows:,} {rows:row|rows}, drawn evenly.",
                some=found.sampled,
                rows=found.records,
            )
        )
    return tuple(said)


@dataclass(frozen=True)
class Reason:
    """A reason to change something, and where: a panel, a column or attribute, a recipient."""

    verdict: Severity
    sentence: str
    panel: str
    name: str
    recipient: str


def reasons_of(document: Document, found: PersonFound) -> tuple[Reason, ...]:
    """Return what gives reason to coarsen columns or to lower a level, the worst first."""
    reasons = []
    if found.spotted in (Severity.GRAVE, Severity.CAUTION) and found.knowledge.facts:
        known = [fact.column for fact in found.knowledge.facts]
        quasi = [name for name in known if name in quasi_identifiers(document)]
        reasons.append(
            Reason(
                found.spotted,
                Sentence(
                    "A reason to show {columns} more coarsely: then more rows look alike.",
                    columns=listed(known),
                ),
                "policy" if quasi else "attributes",
                (quasi or known)[0],
                found.viewed_by or found.knowledge.holders[0],
            )
        )
    reasons += [
        Reason(
            each.verdict,
            Sentence(
                "A reason to lower {holder}'s level of {attribute}, or to coarsen what singles"
                " people out.",
                holder=each.holder,
                attribute=each.attribute,
            ),
            "policy",
            each.attribute,
            each.holder,
        )
        for each in found.beliefs
        if each.verdict in (Severity.GRAVE, Severity.CAUTION)
    ]
    return tuple(sorted(reasons, key=lambda each: each.verdict))


def _figures(found: PersonFound) -> dict[str, Any]:
    """Return the figures as plain JSON values; values are told by their place in the domain."""
    beliefs: dict[str, Any] = {}
    for each in found.beliefs:
        told: dict[str, Any] = {"holder": each.holder, "reason": str(each.reason)}
        if isinstance(each, PersonBelief):
            told |= {
                "common": each.common.tolist(),
                "before": each.before.tolist(),
                "after": each.after.tolist(),
                "odds": each.odds,
            }
        else:
            told |= {"before": list(each.before), "after": list(each.after)}
        beliefs[each.attribute] = told
    return {
        "records": found.records,
        "units": found.units,
        "remaining": found.remaining,
        "rows": (found.rows[:MOST_LISTED] + 1).tolist(),
        "chances": found.chances[:MOST_LISTED].tolist(),
        "showing *": found.hidden,
        "view": found.viewed_by,
        "surest": found.surest,
        "found": None if found.spotted is None else found.spotted.name.lower(),
        "beliefs": beliefs,
    }


def answer_of(document: Document, found: PersonFound) -> Answer:
    """Return what was found of a person; the values themselves stand in the figures alone."""
    drawn = [
        each
        for each in found.beliefs
        if isinstance(each, PersonBelief) and each.holder and not each.reason
    ]
    return Answer(
        (
            found_sentence(found),
            *(each.sentence for each in found.beliefs),
            *meaning_sentences(found),
        ),
        found.spotted,
        remedies=tuple(reason.sentence for reason in reasons_of(document, found)),
        tables=tuple(_rows_table(found)),
        figures=tuple(AnswerFigure("beliefs.build_person_beliefs", (each,)) for each in drawn),
        facts=_figures(found),
    )


def _rows_table(found: PersonFound) -> Iterator[AnswerTable]:
    """Yield the likeliest rows with what is known of the person; for the custodian's eyes."""
    facts = (fact.column for fact in found.knowledge.facts)
    known = {GivenName(name): found.shown[name] for name in facts}
    if known and len(found.shown):
        columns: dict[str, CellKind] = {
            Sentence("Row"): CellKind.VALUE,
            Sentence("Chance, %"): CellKind.NUMBER,
            **dict.fromkeys(known, CellKind.VALUE),
        }
        count = len(found.shown)
        chances = [100.0 * float(chance) for chance in found.chances[:count]]
        values = ([None if pd.isna(one) else one for one in told] for told in known.values())
        rows = [int(row) + 1 for row in found.rows[:count]]
        yield AnswerTable(columns, list(zip(rows, chances, *values, strict=True)))
