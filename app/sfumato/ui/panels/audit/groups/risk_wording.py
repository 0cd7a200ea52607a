"""What the page about small groups says, in plain words."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from sfumato.analysis.small_groups import (
    RiskAnswer,
    estimated_sentence,
    passed_by_published_rule,
    person_sentence,
)
from sfumato.engine.disclosure.group_privacy import Rule
from sfumato.engine.disclosure.group_risk import RiskLimits
from sfumato.formats.language import grouped
from sfumato.plots.axes import percent
from sfumato.ui.look.wording import number, told, typeset


def tr(text: str, **details: object) -> str:
    """Return a text in the person's language, filled in."""
    return told(QCoreApplication.translate("Audit", text), details)


def rule_name(rule: Rule) -> str:
    """Return a test's name."""
    return {
        Rule.EXACT: tr("exact test"),
        Rule.CHERNOFF: tr("published test, full bound"),
        Rule.SIMPLIFIED: tr("published test, simplified bound"),
    }[rule]


def limits_sentence(limits: RiskLimits) -> str:
    """Return what is asked for."""
    if limits.rule is Rule.EXACT:
        return tr(
            "Asked for: an attacker's estimate of a group's share of any value is too high by more"
            " than {epsilon} at least {delta} of the time, and too low by more than that as often;"
            " or, where a value is too rare for both, off on one side at least {nearly} of the"
            " time.",
            epsilon=percent(limits.epsilon),
            delta=percent(limits.delta),
            nearly=percent(1.0 - limits.delta),
        )
    return tr(
        "Asked for: Chernoff's upper bound on the chance that an attacker's estimate is off by"
        " more than {epsilon} is at least {delta}.",
        epsilon=percent(limits.epsilon),
        delta=percent(limits.delta),
    )


def risk_sentence(answer: RiskAnswer) -> str:
    """Return what was found."""
    name = answer.known.attribute.name
    if answer.shown.trust >= 1.0:
        return tr("{recipient} holds the true {name}.", recipient=answer.shown.recipient, name=name)
    return typeset(estimated_sentence(answer))


def gain_sentence(answer: RiskAnswer) -> str:
    """Return what an attacker gains of one person who knows groups' shares; else nothing."""
    return "" if answer.shown.trust >= 1.0 else typeset(person_sentence(answer))


def gap_sentence(answer: RiskAnswer) -> str:
    """Return what the published definition promises, and what the true chance of an error is."""
    risk = answer.risk
    if answer.shown.trials is not None:
        return _repeated_sentence(answer)
    if risk.allowed is None:
        if risk.tails.exact:
            return ""
        return tr(
            "This release treats values differently, so the published test does not apply. The"
            " chances are approximations; simulated releases of some groups differ by at most"
            " {error}.",
            error=percent(risk.tails.error, 1),
        )
    passed = passed_by_published_rule(answer)
    if not passed.any():
        return tr("The published test finds every group too large.")
    worst = int((risk.tails.within * passed).argmax())
    return tr(
        "The published test asks about an upper bound of the chance of an error, which promises"
        " nothing about the chance itself. It passes {passed} of {groups} {groups:group|groups},"
        " among them one of {size} {size:record|records} whose estimate is within {epsilon} of the"
        " truth with a confidence of {within}.",
        passed=grouped(int(passed.sum())),
        groups=grouped(risk.total.all_groups),
        size=grouped(int(answer.known.grouped.sizes[worst])),
        epsilon=percent(risk.limits.epsilon),
        within=percent(float(risk.tails.within[worst])),
    )


def _repeated_sentence(answer: RiskAnswer) -> str:
    """Return what a release that repeats records rests on."""
    sizes = answer.known.grouped.sizes
    trials = answer.shown.trials
    counts = sizes if trials is None else trials.counts
    fewer = counts < sizes
    if not fewer.any():
        return tr("No group is resampled in this release.")
    return tr(
        "In {groups} {groups:group|groups} with {records} {records:record|records} this release"
        " repeats records that were drawn: estimates vary about as much as from {draws}"
        " independent {draws:record|records}. How often they are off is computed exactly, from the"
        " draws, their copies and what became of each row. By the ladder, the most trusted release"
        " decides what several recipients learn together.",
        groups=grouped(int(fewer.sum())),
        records=grouped(int(sizes[fewer].sum())),
        draws=grouped(int(counts[fewer].sum())),
    )


def whole_table_sentence(knows: tuple[str, ...]) -> str:
    """Return a warning where the attacker knows nothing; else nothing."""
    if knows:
        return ""
    return tr("The attacker knows no public column, so the whole table is one group.")


def level_text(retention: float) -> str:
    """Return a retention probability as it is written."""
    return tr("p = {value}", value=number(retention))
