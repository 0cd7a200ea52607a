"""What small groups give away, told: of each release, and of one more closely."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.analysis.answers import (
    Answer,
    AnswerFigure,
    AnswerTable,
    CellKind,
    GivenName,
    Severity,
)
from sfumato.analysis.disclosure.attacker import Attacked
from sfumato.analysis.disclosure.small_groups import (
    RiskAnswer,
    change_sentence,
    estimated_sentence,
    passed_by_published_rule,
    person_sentence,
)
from sfumato.engine.core.values import Integers
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.group_privacy import PrivacyTest
from sfumato.engine.disclosure.group_risk import RiskLimits, Violations


def _figures(answer: RiskAnswer) -> dict[str, Any]:
    """Return what was found as plain JSON values, without any value of the table."""
    total, tails = answer.risk.total, answer.risk.tails
    return {
        "recipient": answer.shown.recipient,
        "level": answer.shown.level,
        "looked up by": str(answer.known.looked_up),
        "groups": total.all_groups,
        "violating_groups": total.groups,
        "violating_groups_between": list(answer.risk.between or (total.groups, total.groups)),
        "violating_records": total.records,
        "group_share": total.group_share,
        "record_share": total.record_share,
        "highest_confidence": tails.most_within,
        "tails": "exact" if tails.exact else "approximate",
        "tails_error": tails.error,
        "remedies": [
            {
                "column": one.change.attribute,
                "bins": one.change.bins,
                "level": one.change.level,
                "classes": one.change.classes,
                "groups": one.total.all_groups,
                "violating_groups": one.total.groups,
                "violating_records": one.total.records,
            }
            for one in answer.remedies
        ],
    }


def limits_sentence(limits: RiskLimits) -> Sentence:
    """Return what is asked of every group."""
    words = (
        "Asked for: Chernoff's upper bound on the chance that an attacker's estimate is off by"
        " more than {epsilon:.0%} is at least {delta:.0%}."
    )
    if limits.rule is PrivacyTest.EXACT:
        words = (
            "Asked for: an attacker's estimate of a group's share of any value is too high by more"
            " than {epsilon:.0%} at least {delta:.0%} of the time, and too low by more than that as"
            " often; or, where a value is too rare for both, off on one side at least {nearly:.0%}"
            " of the time."
        )
    return Sentence(words, epsilon=limits.epsilon, delta=limits.delta, nearly=1.0 - limits.delta)


def answer_of_each(found: Sequence[RiskAnswer]) -> Answer:
    """Return which groups releases give away, of which at least one was examined."""
    limits, known = found[0].risk.limits, found[0].known
    names = known.grouped.names
    knows = Sentence(
        "Whoever knows {names} of a person tells groups of people alike apart, by what the"
        " recipient sees of these.",
        names=", ".join(names) if names else Sentence("no public column"),
    )
    means = Sentence(
        "Where that fails, the group can be estimated closely: that is about what people alike"
        " have in common, not about what one person's row tells, which the promise bounds."
    )
    looked_up = dict.fromkeys(one.known.looked_up for one in found if one.known.looked_up)
    return Answer(
        (knows, limits_sentence(limits), means),
        Severity.CAUTION if any(one.risk.total.groups for one in found) else Severity.GOOD,
        entry=known.attribute.name,
        tables=tuple(_tables(found)),
        remedies=(
            *looked_up,
            *(estimated_sentence(one) for one in found if one.risk.between is not None),
        ),
        facts={
            "attribute": known.attribute.name,
            "knows": list(names),
            "epsilon": limits.epsilon,
            "delta": limits.delta,
            "rule": limits.rule.value,
            "records": known.grouped.records,
            "recipients": [_figures(one) for one in found],
        },
    )


def _tables(found: Sequence[RiskAnswer]) -> Iterator[AnswerTable]:
    """Yield what each release gives away, and what releasing less would change, where asked."""
    counted: dict[str, CellKind] = {
        Sentence("Groups estimated closely"): CellKind.COUNT,
        Sentence("Of groups"): CellKind.COUNT,
        Sentence("Records"): CellKind.COUNT,
        Sentence("Share"): CellKind.SHARE,
    }
    recipient: dict[str, CellKind] = {Sentence("Recipient"): CellKind.TEXT}
    level: dict[str, CellKind] = {
        Sentence("Confidence, up to"): CellKind.SHARE,
        Sentence("Level"): CellKind.NUMBER,
    }
    each = [
        (
            one.shown.recipient,
            *_totals(one.risk.total),
            one.risk.tails.most_within,
            one.shown.level,
        )
        for one in found
    ]
    less = [
        (one.shown.recipient, change_sentence(remedy.change), *_totals(remedy.total))
        for one in found
        for remedy in one.remedies
    ]
    changed = recipient | {Sentence("Releasing less"): CellKind.TEXT} | counted
    yield AnswerTable(recipient | counted | level, each)
    if less:
        yield AnswerTable(changed, less)


def _totals(total: Violations) -> tuple[int, int, int, float]:
    return total.groups, total.all_groups, total.records, total.record_share


def groups_table(
    known: Attacked,
    groups: Sequence[int] | Integers,
    chances: Mapping[Sentence, Sequence[float]],
    away: Sequence[bool],
    limits: Sequence[float] = (),
) -> AnswerTable:
    """Return some groups with the values that tell them apart, for the custodian's eyes.

    Parameters
    ----------
    known
        The attribute as the attacker sees it.
    groups
        Which groups, shape (k,).
    chances
        What of each is computed, by heading, shape (k,).
    away
        Whether each is given away, shape (k,).
    limits
        How many records the published test lets pass in each, shape (k,); none where there is none.
    """
    counted, domain = known.grouped, known.attribute.domain
    names = domain.names if domain is not None else ()
    columns: dict[str, CellKind] = {
        Sentence("Records"): CellKind.COUNT,
        Sentence("Most frequent"): CellKind.VALUE,
        Sentence("Share"): CellKind.SHARE,
        **dict.fromkeys(chances, CellKind.SHARE),
        **({Sentence("Published limit"): CellKind.NUMBER} if limits else {}),
        Sentence("Given away"): CellKind.TEXT,
    }
    shown = [
        [int(size) for size in counted.sizes[groups]],
        [names[int(code)] for code in counted.commonest[groups]],
        [float(share) for share in counted.shares[groups]],
        *map(list, chances.values()),
        *([limits] if limits else []),
        [Sentence("yes") if each else Sentence("no") for each in away],
    ]
    for public in counted.attributes:
        columns[GivenName(public.name)] = CellKind.VALUE
        shown.append([public.value(int(code)) for code in public.codes[groups]])
    return AnswerTable(columns, list(zip(*shown, strict=True)))


def answer_of_one(answer: RiskAnswer) -> Answer:
    """Return what one release gives away, with its riskiest groups, for the custodian's eyes."""
    told, rows = answer_of_each([answer]), np.array(answer.listed, dtype=np.int64)
    knows, asked, means = told.sentences
    found, person = estimated_sentence(answer), person_sentence(answer) or means
    if answer.shown.trust >= 1.0:
        recipient, name = answer.shown.recipient, answer.known.attribute.name
        words = "{recipient} holds the true {name}."
        found, person = Sentence(words, recipient=recipient, name=name), ""
    risk = answer.risk
    groups = groups_table(
        answer.known,
        rows,
        {Sentence("Within ε"): risk.tails.within[rows].tolist()},
        risk.violating[rows].tolist(),
        () if risk.allowed is None else risk.allowed[rows].tolist(),
    )
    law = _gap(answer) if answer.shown.trials is None else _repeated(answer)
    plots = ("groups.build_group_sizes", "groups.build_remedy_bars")
    return replace(
        told,
        sentences=tuple(filter(None, (found, knows, answer.known.looked_up, asked, person))),
        notes=tuple(filter(None, (_of_whole(answer), law))),
        remedies=(),
        tables=(*told.tables, replace(groups, inside=True)),
        figures=tuple(AnswerFigure(plot, (answer,)) for plot in plots),
    )


def _of_whole(answer: RiskAnswer) -> str:
    if answer.known.grouped.names:
        return ""
    return Sentence("The attacker knows no public column, so the whole table is one group.")


def _gap(answer: RiskAnswer) -> str:
    """Return what the published definition promises, and what the true chance of an error is."""
    risk = answer.risk
    if risk.allowed is None:
        return ""
    passed = passed_by_published_rule(answer)
    if not passed.any():
        return Sentence("The published test finds every group too large.")
    worst = int((risk.tails.within * passed).argmax())
    return Sentence(
        "The published test asks about an upper bound of the chance of an error, which promises"
        " nothing about the chance itself. It passes {passed:,} of {groups:,}"
        " {groups:group|groups}, among them one of {size:,} {size:record|records} whose estimate is"
        " within {epsilon:.0%} of the truth with a confidence of {within:.0%}.",
        passed=int(passed.sum()),
        groups=risk.total.all_groups,
        size=int(answer.known.grouped.sizes[worst]),
        epsilon=risk.limits.epsilon,
        within=float(risk.tails.within[worst]),
    )


def _repeated(answer: RiskAnswer) -> str:
    """Return what a release that repeats records rests on."""
    sizes, trials = answer.known.grouped.sizes, answer.shown.trials
    counts: Any = sizes if trials is None else trials.counts
    fewer = counts < sizes
    if not fewer.any():
        return Sentence("No group is resampled in this release.")
    return Sentence(
        "In {groups:,} {groups:group|groups} with {records:,} {records:record|records} this release"
        " repeats records that were drawn: estimates vary about as much as from {draws:,}"
        " independent {draws:record|records}. How often they are off is computed exactly, from the"
        " draws, their copies and what became of each row. By the ladder, the most trusted release"
        " decides what several recipients learn together.",
        groups=int(fewer.sum()),
        records=int(sizes[fewer].sum()),
        draws=int(counts[fewer].sum()),
    )
