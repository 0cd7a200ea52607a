"""Which small groups of people alike a release gives away, and what counts in releases tell.

The custodian sees what releasing less would change, and plays recipient: count queries are answered
from every release, beside the truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from sfumato.analysis.all_rows import AllRows
from sfumato.analysis.attacker import (
    Attacked,
    Exposure,
    attacked,
    exposure,
    released_values,
    trials_of,
)
from sfumato.engine.core.columns import Kind
from sfumato.engine.core.errors import DomainError, EstimationError, HierarchyError, SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Floats, Integers, Value
from sfumato.engine.core.wording import Sentence, joined
from sfumato.engine.disclosure.count_queries import (
    CountAnswer,
    RatioTails,
    estimated_answer,
    matching_groups,
    query_pool,
    ratio_tails,
    riskiest_groups,
    shares_in_table,
    true_answer,
)
from sfumato.engine.disclosure.estimate_tails import retention_of
from sfumato.engine.disclosure.group_privacy import Rule
from sfumato.engine.disclosure.group_risk import (
    Change,
    CurvePoint,
    GroupRisk,
    Remedy,
    RestsOn,
    RiskLimits,
    Setting,
    group_risk,
    in_bins,
    left_out,
    level_by_level,
    remedies,
    risk_curves,
    values_of,
)
from sfumato.engine.disclosure.grouped_values import GroupedValues, GroupView, group_view
from sfumato.engine.disclosure.resampled_law import Trials
from sfumato.engine.generalization.hierarchies import hierarchy_of
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.micro_groups import GroupCounts, PublicAttribute, regrouped
from sfumato.engine.table.profile import suggest_binning
from sfumato.project.document.entry_plan import plan_entry
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.release.views import finest_of

FEW_BINS: Final = 10
"""Into how many bins a numeric column without a hierarchy is put to see what that would save."""

MOST_LISTED: Final = 1_000
"""Groups in the list, the riskiest first."""

_MOST_NUMBERS: Final = 1 << 20
"""Bins are laid by so many numbers at most."""

USUAL_RETENTION: Final = 0.5
"""What the curves start from where a release has no retention probability of its own."""


@dataclass(frozen=True)
class Subject:
    """An attribute, and what the attacker knows of the people in its table.

    Parameters
    ----------
    rows
        All rows of the table.
    entry
        The policy entry of the attribute.
    knowledge
        The public columns that the attacker knows.
    """

    rows: AllRows
    entry: PolicyEntry
    knowledge: tuple[str, ...]

    @property
    def document(self) -> Document:
        """What is decided."""
        return self.rows.document

    def known(self, context: Context, recipients: Sequence[str] = ()) -> Attacked:
        """Return the attribute as an attacker with recipients' files sees it, as `attacked`."""
        return attacked(self.rows, self.entry, self.knowledge, context, recipients)

    def known_to_each(self, names: Sequence[str], context: Context) -> tuple[Attacked, ...]:
        """Return the attribute as each recipient sees it, found once for those without a view."""
        found: dict[str, Attacked] = {}
        for place, name in enumerate(names):
            finest = finest_of(self.document, (name,))
            holder = "" if finest is None else finest.name
            if holder not in found:
                part = Part(context, place / len(names), (place + 1) / len(names))
                found[holder] = self.known(part, (name,))
        views = (finest_of(self.document, (name,)) for name in names)
        return tuple(found["" if each is None else each.name] for each in views)


def promised_limits(entry: PolicyEntry) -> RiskLimits:
    """Return what is asked of groups: what the entry's mechanism promises them, or the usual."""
    promised = mechanism_called(entry.mechanism).group_limits(entry.settings)
    if promised is None:
        return RiskLimits()
    epsilon, delta, rule = promised
    return RiskLimits(epsilon, delta, Rule(rule))


@dataclass(frozen=True)
class RiskAnswer:
    """What one recipient's release gives away of small groups.

    Parameters
    ----------
    known
        The attribute as the attacker sees it.
    shown
        The recipient's release.
    risk
        What violates.
    remedies
        What releasing less of each public column would change; none where nobody asked.
    released
        How often each value is released in each group; None where nobody asked, or where the
        release tells nothing.
    """

    known: Attacked
    shown: Exposure
    risk: GroupRisk
    remedies: tuple[Remedy, ...] = ()
    released: scipy.sparse.csr_array | None = None

    @cached_property
    def listed(self) -> tuple[int, ...]:
        """The riskiest groups, at most `MOST_LISTED`: violating ones first, the largest first."""
        order = np.lexsort((-self.known.grouped.sizes, ~self.risk.violating))
        return tuple(int(group) for group in order[:MOST_LISTED])

    def view(self, group: int) -> GroupView:
        """Return one group's true distribution beside its reconstruction."""
        counts = None
        if self.released is not None:
            counts = np.asarray(self.released[[group]].todense(), dtype=np.int64).ravel()
        law = None if self.shown.trials is None else self.shown.trials.law
        return group_view(self.known.grouped, group, self.shown.matrix, counts, law)


def answer_risk(
    subject: Subject, known: Attacked, recipient: Recipient, limits: RiskLimits, context: Context
) -> RiskAnswer:
    """Examine the groups of one recipient's release.

    Parameters
    ----------
    subject, known
        Which attribute, and it as the attacker sees it.
    recipient
        Whose release is examined.
    limits
        What is asked for.
    context
        Progress and cancelling.

    Raises
    ------
    SfumatoError
        If the release can't be examined.
    """
    shown = exposure(subject.document, subject.entry, known, recipient)
    risk = group_risk(known.grouped, shown.matrix, limits, context, shown.trials)
    return RiskAnswer(known, shown, risk)


def risk_of_each(subject: Subject, context: Context) -> tuple[RiskAnswer, ...]:
    """Return what each recipient's release gives away; nothing where groups can't be examined."""
    found, limits = [], promised_limits(subject.entry)
    with suppress(SfumatoError):
        recipients = subject.document.recipients
        names = [each.name for each in recipients]
        everybody = subject.known_to_each(names, Part(context, 0.0, 0.3))
        for recipient, known in zip(recipients, everybody, strict=True):
            with suppress(SfumatoError):  # the promises say what is wrong with this level
                part = Part(context, 0.3, 1.0)
                found.append(answer_risk(subject, known, recipient, limits, part))
    return tuple(found)


def with_released(subject: Subject, answer: RiskAnswer, context: Context) -> RiskAnswer:
    """Return an answer with how often each value is released in each group.

    Raises
    ------
    SfumatoError
        As making the release would.
    """
    if answer.shown.trust <= 0.0:
        return answer
    recipient, known = subject.document.recipient(answer.shown.recipient), answer.known
    attributes = {known.attribute.name: known.attribute}
    plan = plan_entry(subject.document, subject.entry, attributes, recipient)
    [found] = released_values(subject.rows, [plan], known, context)
    return replace(answer, released=found)


def risk_figures(answer: RiskAnswer) -> dict[str, object]:
    """Return what was found as plain JSON values, without any value of the table."""
    total, tails = answer.risk.total, answer.risk.tails
    return {
        "recipient": answer.shown.recipient,
        "level": answer.shown.level,
        "looked up by": str(answer.known.looked_up),
        "groups": total.all_groups,
        "violating_groups": total.groups,
        "violating_records": total.records,
        "group_share": total.group_share,
        "record_share": total.record_share,
        "highest_confidence": float(tails.within.max()),
        "tails": "exact" if tails.exact else "approximate",
        "tails_error": tails.error,
    }


def answer_curves(answer: RiskAnswer, context: Context) -> tuple[CurvePoint, ...]:
    """Return how the violating shares move with p, ε, δ and size, around a release."""
    known, limits = answer.known, answer.risk.limits
    retention = retention_of(answer.shown.matrix)
    if retention is None or not 0.0 < retention < 1.0:
        retention = USUAL_RETENTION
    start = Setting(retention, limits, known.grouped.records)
    return risk_curves(known.grouped, start, context, rules=[limits.rule])


@dataclass(frozen=True)
class Gain:
    """How often a guess is right for the people of the groups that are given away.

    Parameters
    ----------
    group_guess
        By guessing each group's most frequent value.
    highest
        The same in the group where it is right most often.
    table_guess
        By guessing the whole table's most frequent value.
    """

    group_guess: float
    highest: float
    table_guess: float


def gain_of(answer: RiskAnswer) -> Gain | None:
    """Return what an attacker gains who knows the shares in the violating groups; else None."""
    grouped, violating = answer.known.grouped, answer.risk.violating
    if not violating.any():
        return None
    people = int(grouped.sizes[violating].sum())
    commonest = int(np.asarray(grouped.counts.sum(axis=0)).argmax())
    in_table = np.asarray(grouped.counts[np.flatnonzero(violating)].sum(axis=0))
    return Gain(
        float(grouped.largest[violating].sum()) / people,
        float(grouped.shares[violating].max()),
        float(in_table[commonest]) / people,
    )


def estimated_sentence(answer: RiskAnswer) -> str:
    """Return in how many groups the shares of the values can be estimated."""
    total, name = answer.risk.total, answer.known.attribute.name
    details = {"recipient": answer.shown.recipient, "name": name}
    if not total.groups:
        return Sentence(
            "In none of the {groups:,} {groups:group|groups} of people alike can {recipient}"
            " estimate the shares of {name} closely.",
            groups=total.all_groups,
            **details,
        )
    return Sentence(
        "In {violating:,} of {groups:,} {groups:group|groups} of people alike, with {share:.0%} of"
        " the records, {recipient} can estimate the shares of {name} to within {epsilon:.0%}.",
        violating=total.groups,
        groups=total.all_groups,
        share=total.record_share,
        epsilon=answer.risk.limits.epsilon,
        **details,
    )


def person_sentence(answer: RiskAnswer) -> str:
    """Return what well-known shares tell of one person: the question that the guarantee answers."""
    gain, name = gain_of(answer), answer.known.attribute.name
    if gain is None:
        return ""
    bound = Sentence(
        "This is about what people alike have in common; what a person's own row tells is bounded"
        " as the guarantee says."
    )
    if gain.group_guess <= gain.table_guess:
        return joined(
            Sentence(
                "For a single person that is no better a guess at {name} than the table's most"
                " frequent value, right for {table:.0%} of these people without any file.",
                name=name,
                table=gain.table_guess,
            ),
            bound,
        )
    return joined(
        Sentence(
            "Naming a group's most frequent value is right for {group:.0%} of these people; naming"
            " the table's, without any file, for {table:.0%}.",
            group=gain.group_guess,
            table=gain.table_guess,
        ),
        bound,
    )


def passed_by_published_rule(answer: RiskAnswer) -> npt.NDArray[np.bool_]:
    """Return which groups the simplified published test lets pass, shape (G,).

    Raises
    ------
    EstimationError
        If the release has no retention probability that all values share.
    """
    if answer.risk.allowed is None:
        raise EstimationError("There is no published test for this release.")
    passed: npt.NDArray[np.bool_] = answer.known.grouped.sizes <= answer.risk.allowed
    return passed


def possible_changes(document: Document, known: Attacked) -> tuple[Change, ...]:
    """Return what could be released less of, among what an attacker knows.

    Every column can be left out. One with a hierarchy can be released at its levels, a number
    without one in bins.
    """
    found = [left_out(name) for name in known.grouped.names]
    for attribute in known.grouped.attributes:
        # What a view shows as labels has no values to put into bins or levels.
        if known.seen is None or attribute.name not in known.seen.changed:
            found += _coarser(document, attribute, known.grouped.sizes)
    return tuple(found)


def _coarser(document: Document, attribute: PublicAttribute, sizes: Integers) -> tuple[Change, ...]:
    """Return the changes of one public attribute, by its values in groups of these sizes."""
    name = attribute.name
    spec, recipe = document.column(name), document.hierarchies.get(name)
    if recipe is not None:
        try:
            as_seen = replace(spec, coding=None)  # its values are rounded already
            hierarchy = hierarchy_of(recipe, as_seen, values_of(attribute))
            hierarchy.encode(values_of(attribute))
        except (HierarchyError, DomainError):
            return ()  # the Attributes panel says what is wrong with it
        return level_by_level(name, hierarchy)
    if spec.kind is not Kind.NUMERIC or spec.binning is not None:
        return ()
    try:
        return (in_bins(name, suggest_binning(_some_rows(attribute, sizes), FEW_BINS)),)
    except DomainError:
        return ()  # the column holds no two different numbers


def _some_rows(attribute: PublicAttribute, sizes: Integers) -> pd.Series:
    """Return an attribute's values as often as they occur, or in proportion where that is often."""
    numbers = np.bincount(attribute.codes, weights=sizes, minlength=attribute.size)[:-1]
    numbers = np.ceil(numbers / max(1.0, numbers.sum() / _MOST_NUMBERS)).astype(np.int64)
    return attribute.values.to_series(name=attribute.name).repeat(numbers)


def with_remedies(subject: Subject, answer: RiskAnswer, context: Context) -> RiskAnswer:
    """Return an answer with what releasing less of each public column would change.

    Where the mechanism protects groups, the release is taken to be made anew for the groups that
    are left. A change that would leave it nothing to group records by is none.

    Raises
    ------
    SfumatoError
        As `sfumato.engine.disclosure.group_risk.group_risk` does.
    """
    known, shown, limits = answer.known, answer.shown, answer.risk.limits
    changes = possible_changes(subject.document, known)
    protected = known.protected
    rests_on = None
    if shown.trials is not None and protected is not None:
        changes = tuple(change for change in changes if change.applied(protected.attributes))
        rests_on = _made_anew(subject.entry, known, shown)
    found = remedies(known.grouped, changes, shown.matrix, limits, context, rests_on)
    return replace(answer, remedies=found)


def _made_anew(entry: PolicyEntry, known: Attacked, shown: Exposure) -> RestsOn:
    """Return what estimates rest on when a release is made for changed groups."""
    mechanism = mechanism_called(entry.mechanism)

    def rests_on(change: Change, merged: GroupedValues, context: Context) -> Trials | None:
        context.report(
            0.0, Sentence("Making groups without part of {attribute}", attribute=change.attribute)
        )
        before = known.protected
        if before is None:
            return None
        protected = regrouped(before, change.applied(before.attributes))
        counts = GroupCounts.of(protected, known.codes, merged.values, known.records)
        attribute = replace(known.attribute, groups=counts)
        how = mechanism.resampling(shown.level, (attribute,), entry.settings)
        if how is None:
            return None
        groups = regrouped(known.groups, change.applied(known.groups.attributes))
        return trials_of(replace(known, groups=groups, grouped=merged), protected, how)

    return rests_on


@dataclass(frozen=True)
class NoisyQuestion:
    """What is asked of a system that answers counts with noise.

    Parameters
    ----------
    privacy_loss
        λ of one answer.
    epsilon, delta
        The relative error, and how often it should be exceeded on either side.
    smallest
        Groups have more records than this.
    count
        How many groups are examined.
    """

    privacy_loss: float
    epsilon: float
    delta: float
    smallest: int
    count: int


@dataclass(frozen=True)
class NoisyAnswer:
    """The riskiest groups and how often two answers estimate them well.

    Parameters
    ----------
    known
        The attribute as the attacker sees it.
    question
        What was asked.
    groups
        The riskiest groups, shape (k,).
    tails
        How often the ratio misses, for each.
    table_shares
        The share of each group's most frequent value in the whole table, shape (k,).
    """

    known: Attacked
    question: NoisyQuestion
    groups: Integers
    tails: RatioTails
    table_shares: Floats

    @property
    def violating(self) -> int:
        """How many of the groups are given away."""
        return int(self.tails.violates(self.question.delta).sum())


def answer_noisy(subject: Subject, question: NoisyQuestion, context: Context) -> NoisyAnswer:
    """Find the riskiest groups and how often two noisy counts estimate them well.

    Raises
    ------
    SfumatoError
        If the groups can't be formed, or λ or ε is out of range.
    """
    known = subject.known(Part(context, 0.0, 0.9))
    grouped = known.grouped
    groups = riskiest_groups(grouped.sizes, grouped.largest, question.smallest, question.count)
    tails = ratio_tails(
        grouped.sizes[groups], grouped.largest[groups], question.privacy_loss, question.epsilon
    )
    shares = shares_in_table(grouped, grouped.commonest[groups])
    context.report(1.0, "Noisy counts are examined")
    return NoisyAnswer(known, question, groups, tails, shares)


CONFIDENCE = 0.95


@dataclass(frozen=True)
class Held:
    """What one recipient holds: the release, and its values counted by group."""

    shown: Exposure
    released: scipy.sparse.csr_array = field(repr=False)


@dataclass(frozen=True)
class QueryDesk:
    """All that queries are answered from.

    Parameters
    ----------
    known
        The attribute with its true values, by group.
    held
        What each recipient with a sound level holds, the most trusted first.
    """

    known: Attacked
    held: tuple[Held, ...]

    def ask(self, conditions: Mapping[str, Value], value: int) -> QueryResult:
        """Answer one query from every release, with the truth beside it.

        Raises
        ------
        EstimationError
            If no record meets the conditions.
        """
        grouped = self.known.grouped
        met = matching_groups(grouped, conditions)
        answers = []
        for held in self.held:
            try:
                answer = estimated_answer(
                    grouped.sizes,
                    held.released,
                    met,
                    value,
                    held.shown.matrix,
                    CONFIDENCE,
                    None if held.shown.trials is None else held.shown.trials.law,
                )
            except EstimationError:
                continue  # a release of pure noise answers nothing
            answers.append(Answered(held.shown.recipient, held.shown.trust, answer))
        matching = int(grouped.sizes[met].sum())
        return QueryResult(true_answer(grouped, met, value), matching, tuple(answers))


@dataclass(frozen=True)
class Answered:
    """One recipient's answer."""

    recipient: str
    trust: float
    answer: CountAnswer


@dataclass(frozen=True)
class QueryResult:
    """One query's true answer, how many records its conditions match, and all estimates."""

    truth: int
    matching: int
    answers: tuple[Answered, ...]


@dataclass(frozen=True)
class PoolErrors:
    """How well one recipient answers a pool of random queries."""

    recipient: str
    trust: float
    mean: float
    quartiles: tuple[float, float, float]


@dataclass(frozen=True)
class PoolResult:
    """The pool's size and every recipient's relative errors."""

    queries: int
    recipients: tuple[PoolErrors, ...]


def open_desk(subject: Subject, context: Context) -> QueryDesk:
    """Count the true and the released values in every group.

    Parameters
    ----------
    subject
        The sensitive attribute, and as knowledge the public columns that queries may name.
    context
        Progress and cancelling.

    Raises
    ------
    SfumatoError
        If the groups can't be formed.
    """
    document, entry = subject.document, subject.entry
    known = subject.known(Part(context, 0.0, 0.3))
    attributes, exposed, plans = {known.attribute.name: known.attribute}, [], []
    for recipient in document.recipients:
        with suppress(SfumatoError):  # the policy says what is wrong with this recipient's level
            exposed.append(exposure(document, entry, known, recipient))
            plans.append(plan_entry(document, entry, attributes, recipient))
    counted = released_values(subject.rows, plans, known, Part(context, 0.3, 1.0))
    held = [Held(shown, released) for shown, released in zip(exposed, counted, strict=True)]
    held.sort(key=lambda each: -each.shown.trust)
    context.report(1.0, "Ready for queries")
    return QueryDesk(known, tuple(held))


def answer_pool(desk: QueryDesk, context: Context) -> PoolResult:
    """Answer a pool of random queries from every release.

    Raises
    ------
    EstimationError
        If no query is answered by enough records.
    """
    pool = query_pool(desk.known.grouped, Part(context, 0.0, 0.5))
    found = []
    for place, held in enumerate(desk.held):
        context.report(0.5 + 0.5 * place / len(desk.held), "Answering queries")
        try:
            errors = pool.relative_errors(held.released, held.shown.matrix)
        except EstimationError:
            continue  # a release of pure noise answers nothing
        low, middle, high = (float(q) for q in np.quantile(errors, (0.25, 0.5, 0.75)))
        found.append(
            PoolErrors(
                held.shown.recipient, held.shown.trust, float(errors.mean()), (low, middle, high)
            )
        )
    return PoolResult(pool.size, tuple(found))
