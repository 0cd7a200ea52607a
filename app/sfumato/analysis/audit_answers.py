"""The audit's questions, each answered by a sentence or two with its figures and a verdict.

Whoever asks for more gets it from the functions that these answers are made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from sfumato.analysis.all_rows import AllRows
from sfumato.analysis.coalitions import weigh_coalition
from sfumato.analysis.findings import Examined, Severity
from sfumato.analysis.holdings import Basis, Holding, holdings_of
from sfumato.analysis.readiness_checks import unique_records
from sfumato.analysis.shown_columns import ShownColumns
from sfumato.analysis.small_groups import (
    RiskAnswer,
    Subject,
    estimated_sentence,
    gain_of,
    person_sentence,
    risk_of_each,
)
from sfumato.analysis.view_checks import shown_to
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.disclosure.record_risk import CERTAIN, LIKELY
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.postprocessing import is_formed
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release.groups import usual_knowledge

TIED: Final = 1e-12
"""Levels whose trust differs by less are the same."""


class Question(StrEnum):
    """What is asked."""

    TOGETHER = "together"
    FOUND = "found"
    GROUPS = "groups"
    LEAK = "leak"


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    Parameters
    ----------
    question
        What was asked.
    verdict
        How grave it is; None where there is nothing to ask about yet.
    sentences
        The answer, without any value of the table.
    """

    question: Question
    verdict: Severity | None
    sentences: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values."""
        verdict = None if self.verdict is None else self.verdict.name.lower()
        return {
            "question": self.question.value,
            "verdict": verdict,
            "answer": [str(sentence) for sentence in self.sentences],
        }


@dataclass(frozen=True)
class Asked:
    """What the questions are asked of.

    Parameters
    ----------
    document
        What is decided.
    columns
        What is known of the rows that leave.
    attributes
        The policy's attributes, by name.
    releases
        What the ledger tells of.
    subjects
        For the attributes with a list of values, what an attacker who knows the usual columns asks.
    """

    document: Document
    columns: ShownColumns
    attributes: Mapping[str, Attribute]
    releases: Sequence[ReleaseRecord]
    subjects: Sequence[Subject]


def answers(asked: Asked, context: Context) -> tuple[Answer, ...]:
    """Return the answer to each question.

    Raises
    ------
    SfumatoError
        If the policy and the table don't fit together.
    """
    return (
        answer_together(asked, Part(context, 0.0, 0.3)),
        answer_found(asked, Part(context, 0.3, 0.6)),
        answer_groups(asked, Part(context, 0.6, 1.0)),
        answer_leak(asked),
    )


# ----- what do they learn together?


def answer_together(asked: Asked, context: Context) -> Answer:
    """Return what all who hold releases, or will, learn of the attribute that is told best."""
    document, told = asked.document, []
    for place, entry in enumerate(document.policy):
        if not set(entry.attributes) <= set(asked.attributes):
            continue
        chosen = {name: asked.attributes[name] for name in entry.attributes}
        held = holdings_of(document, entry, chosen, asked.releases, Basis.EITHER)
        if held:
            part = Part(context, place / len(document.policy), (place + 1) / len(document.policy))
            told.append(_learned(entry, chosen, held, part))
    if not told:
        said = Sentence("Nobody holds anything yet: give recipients levels of trust.")
        return Answer(Question.TOGETHER, None, (said,))
    told.sort(key=lambda each: each.rank)
    worst, alike = told[0], [each.key for each in told[1:] if each.on_ladder]
    others = (
        Sentence(
            "Of {names}, too, they learn no more together than from the most trusted file.",
            names=listed(alike),
        )
        if alike
        else ""
    )
    answer = (*worst.sentences, *((others,) if others else ()))
    return Answer(Question.TOGETHER, min(each.verdict for each in told), answer)


@dataclass(frozen=True)
class _Learned:
    """What is learned of one entry; `rank` sorts by how bad it is.

    Off the ladder, where numbers are rounded or bounded, pooling may tell a little more.
    """

    key: str
    rank: tuple[int, float]
    verdict: Severity
    sentences: tuple[str, ...]
    on_ladder: bool = True


def _learned(
    entry: PolicyEntry,
    attributes: Mapping[str, Attribute],
    held: Sequence[Holding],
    context: Context,
) -> _Learned:
    """Return what is learned of one entry."""
    best = held[0]
    if best.trust >= 1.0 - TIED:
        said = Sentence(
            "{best} holds the true {attribute}.", best=best.recipient, attribute=entry.key
        )
        return _Learned(entry.key, (0, 0.0), Severity.GRAVE, (said,))
    mechanism, chosen = mechanism_called(entry.mechanism), tuple(attributes.values())
    formed = len(held) > 1 and is_formed(mechanism, chosen, entry.settings)
    together = Sentence(
        (
            "{best} alone holds {attribute}."
            if len(held) == 1
            else "Together, these {count:,} can learn a little more about {attribute} than {best}"
            " alone, because released numbers are rounded or bounded."
            if formed
            else "Together, these {count:,} learn no more about {attribute} than {best} alone."
        ),
        count=len(held),
        attribute=entry.key,
        best=best.recipient,
    )
    weighed = weigh_coalition(entry, held, attributes, context)
    if weighed is None:
        in_table = mechanism.in_table(best.level, chosen, entry.settings)
        told = tuple(filter(None, (together, in_table)))
        return _Learned(entry.key, (2, 0.0), Severity.GOOD, told, not formed)
    right, without = weighed.alone[0], weighed.without
    figures = Sentence(
        "The best guess at a record's value is right for {right:.0%}; always naming the most"
        " frequent value, without any file, for {without:.0%}.",
        right=right,
        without=without,
    )
    bound = (
        Sentence(
            "No file changes anyone's odds on a record's value more than {odds:.3g}-fold.",
            odds=best.odds,
        )
        if best.odds is not None and best.odds < float("inf")
        else ""
    )
    verdict = Severity.GOOD
    if right >= CERTAIN > without:
        verdict = Severity.GRAVE
    elif right >= LIKELY > without:
        verdict = Severity.CAUTION
    told = (together, joined(figures, bound))
    return _Learned(entry.key, (1, without - right), verdict, told)


# ----- who can be found?


def answer_found(asked: Asked, context: Context) -> Answer:
    """Return how many people are unique on what a recipient sees, for the one who sees most."""
    document = asked.document
    found, known = [], set()
    for place, recipient in enumerate(document.recipients):
        context.report(place / len(document.recipients), "Counting unique records")
        shown = shown_to(document, recipient, asked.columns)
        if frozenset(shown) in known:
            continue
        known.add(frozenset(shown))
        examined = Examined(document, recipient, shown, asked.columns, asked.attributes, context)
        found += [(one, recipient.name) for one in unique_records(examined)]
    if not found:
        said = (
            Sentence("No column is released unperturbed, so nobody can be looked up.")
            if document.recipients
            else Sentence("Nobody is to receive anything yet.")
        )
        return Answer(Question.FOUND, Severity.GOOD if document.recipients else None, (said,))
    worst, name = min(found, key=lambda one: one[0].severity)
    whom = Sentence("As {recipient} sees the columns:", recipient=name) if len(known) > 1 else ""
    return Answer(Question.FOUND, worst.severity, (joined(whom, worst.sentence),))


# ----- what about small groups?


def answer_groups(asked: Asked, context: Context) -> Answer:
    """Return how well shares of small groups can be estimated, where that is best."""
    found: list[RiskAnswer] = []
    for place, subject in enumerate(asked.subjects):
        part = Part(context, place / len(asked.subjects), (place + 1) / len(asked.subjects))
        found += risk_of_each(subject, part)
    found = [one for one in found if one.shown.trust < 1.0 - TIED]
    if not found:
        said = Sentence("No attribute with a list of values is to be released yet.")
        return Answer(Question.GROUPS, None, (said,))
    worst = max(found, key=lambda one: one.risk.total.record_share)
    sentences, verdict = (estimated_sentence(worst), person_sentence(worst)), Severity.GOOD
    if worst.risk.total.groups:
        gain = gain_of(worst)
        gained = gain is not None and gain.group_guess > gain.table_guess
        verdict = Severity.CAUTION if gained else Severity.GOOD
    return Answer(Question.GROUPS, verdict, sentences)


# ----- whose file is this?


def answer_leak(asked: Asked) -> Answer:
    """Return whether a file that turns up names one recipient."""
    document = asked.document
    counted = [record for record in asked.releases if record.counts]
    if not counted:
        said = Sentence(
            "Nothing has been released yet. Once it has, a file that turns up can be traced."
        )
        return Answer(Question.LEAK, None, (said,))
    names = sorted({record.recipient for record in counted})
    said = Sentence(
        "{count:,} {count:release was|releases were} made, to {names}. Bring a file, or a part of"
        " one, to see whose copy it is.",
        count=len(counted),
        names=listed(names),
    )
    alike = _alike(document, asked, names)
    if alike:
        return Answer(
            Question.LEAK,
            Severity.CAUTION,
            (
                said,
                Sentence(
                    "{names} hold the same values of every attribute, so a file of theirs names"
                    " them all.",
                    names=listed(alike),
                ),
            ),
        )
    return Answer(Question.LEAK, Severity.GOOD, (said,))


def _alike(document: Document, asked: Asked, names: Sequence[str]) -> list[str]:
    """Return the first recipients whose levels are the same throughout; nobody where all differ."""
    held: dict[str, list[float]] = {name: [] for name in names}
    for entry in document.policy:
        with suppress(SfumatoError, KeyError):
            chosen = {name: asked.attributes[name] for name in entry.attributes}
            for one in holdings_of(document, entry, chosen, asked.releases, Basis.RELEASED):
                if one.recipient in held:
                    held[one.recipient].append(one.level)
    by_levels: dict[tuple[float, ...], list[str]] = {}
    for name, levels in held.items():
        by_levels.setdefault(tuple(levels), []).append(name)
    return next((same for levels, same in by_levels.items() if levels and len(same) > 1), [])


def subjects_of(rows: AllRows, attributes: Mapping[str, Attribute]) -> tuple[Subject, ...]:
    """Return the attributes with a list of values that are protected by themselves."""
    knows = usual_knowledge(rows.document)
    return tuple(
        Subject(rows, entry, knows)
        for entry in rows.document.policy
        if len(entry.attributes) == 1
        and entry.attributes[0] in attributes
        and attributes[entry.attributes[0]].domain is not None
    )
