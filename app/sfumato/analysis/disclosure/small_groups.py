"""Which small groups of people alike a release gives away, and what releasing less would change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from sfumato.analysis.all_rows import AllRows
from sfumato.analysis.disclosure.attacker import (
    Attacked,
    Exposure,
    attacked,
    exposure,
    released_values,
    trials_of,
)
from sfumato.engine.core.columns import Kind
from sfumato.engine.core.errors import (
    DomainError,
    EstimationError,
    HierarchyError,
    PolicyError,
    SfumatoError,
)
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Integers
from sfumato.engine.core.wording import Sentence, joined
from sfumato.engine.disclosure.estimate_tails import retention_of
from sfumato.engine.disclosure.group_privacy import MOST_DELTA
from sfumato.engine.disclosure.group_risk import (
    Change,
    CurvePoint,
    GroupRisk,
    RestsOn,
    RiskChange,
    RiskLimits,
    RiskSetting,
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
from sfumato.engine.table.table import Attribute
from sfumato.project.document.entry_plan import plan_entry
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.release.groups import usual_knowledge
from sfumato.project.release.views import coarsening_of, finest_of

FEW_BINS: Final = 10
"""Into how many bins a numeric column without a hierarchy is put to see what that would save."""

MOST_LISTED: Final = 1_000
"""Groups in the list, the riskiest first."""

_MOST_NUMBERS: Final = 1 << 20
"""Bins are laid by so many numbers at most."""

USUAL_RETENTION: Final = 0.5
"""What the curves start from where a release has no retention probability of its own."""


@dataclass(frozen=True)
class RiskSubject:
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


def grouped_entries(
    document: Document, attributes: Mapping[str, Attribute]
) -> dict[str, PolicyEntry]:
    """Return the attributes whose small groups can be examined, with their entries.

    They have a list of values and are protected by themselves.
    """
    single = {one.attributes[0]: one for one in document.policy if len(one.attributes) == 1}
    return {
        name: entry
        for name, entry in single.items()
        if name in attributes and attributes[name].domain is not None
    }


def subjects_of(rows: AllRows, attributes: Mapping[str, Attribute]) -> tuple[RiskSubject, ...]:
    """Return the attributes with a list of values that are protected by themselves."""
    fitting, knows = grouped_entries(rows.document, attributes), usual_knowledge(rows.document)
    return tuple(RiskSubject(rows, entry, knows) for entry in fitting.values())


def subject_of(
    rows: AllRows,
    attributes: Mapping[str, Attribute],
    name: str = "",
    knows: Sequence[str] | None = None,
) -> RiskSubject:
    """Return the attribute that is asked about: the only one where none is named.

    Raises
    ------
    PolicyError
        If none is named where there are several, or it has no list of values.
    """
    fitting = grouped_entries(rows.document, attributes)
    if not name and len(fitting) == 1:
        [name] = fitting
    if not fitting:
        raise PolicyError(
            "No attribute with a list of values is to be released yet.",
            "Small groups are examined for such an attribute that is protected by itself; for"
            " numbers with noise, use sfumato audit numbers.",
        )
    if name not in fitting:
        raise PolicyError(
            "{column} is not a sensitive attribute with a list of values."
            if name
            else "Which sensitive attribute is meant is not clear.",
            "Name one with --attribute: {known}.",
            column=name,
            known=", ".join(fitting),
        )
    known = usual_knowledge(rows.document) if knows is None else tuple(knows)
    return RiskSubject(rows, fitting[name], known)


def promised_limits(entry: PolicyEntry) -> RiskLimits:
    """Return what is asked of groups: what the entry's mechanism promises them, or the usual.

    Always by the exact test: how well somebody can estimate does not depend on what was promised,
    and by a published bound groups pass whose shares are known almost for certain.
    """
    promised = mechanism_called(entry.mechanism).group_limits(entry.settings)
    if promised is None:
        return RiskLimits()
    epsilon, delta, _ = promised
    return RiskLimits(epsilon, min(delta, MOST_DELTA))


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
    remedies: tuple[RiskChange, ...] = ()
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
    subject: RiskSubject,
    known: Attacked,
    recipient: Recipient,
    limits: RiskLimits,
    context: Context,
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


def _has_sound_view(document: Document, recipient: Recipient) -> bool:
    """Return whether a recipient could be shown the quasi-identifiers as it is decided."""
    try:
        coarsening_of(document, recipient)
    except SfumatoError:
        return False
    return True


def examined(
    subject: RiskSubject,
    recipients: Sequence[Recipient],
    limits: RiskLimits,
    releasing_less: bool,
    context: Context,
) -> list[RiskAnswer]:
    """Return what the releases of recipients give away, where asked with what would change that.

    Raises
    ------
    SfumatoError
        As `answer_risk` and `with_remedies` do.
    """
    names = [recipient.name for recipient in recipients]
    everybody, found = subject.known_to_each(names, Part(context, 0.0, 0.2)), []
    for place, (recipient, known) in enumerate(zip(recipients, everybody, strict=True)):
        begin, end = (0.2 + 0.8 * at / len(names) for at in (place, place + 1))
        part = Part(context, begin, end)
        answer = answer_risk(subject, known, recipient, limits, Part(part, 0.0, 0.5))
        if releasing_less:
            answer = with_remedies(subject, answer, Part(part, 0.5, 1.0))
        found.append(answer)
    return found


def risk_of_each(subject: RiskSubject, context: Context) -> tuple[RiskAnswer, ...]:
    """Return what each recipient's release gives away; nothing where groups can't be examined."""
    found, limits = [], promised_limits(subject.entry)
    with suppress(SfumatoError):
        document = subject.document
        recipients = [each for each in document.recipients if _has_sound_view(document, each)]
        names = [each.name for each in recipients]
        everybody = subject.known_to_each(names, Part(context, 0.0, 0.3))
        for recipient, known in zip(recipients, everybody, strict=True):
            with suppress(SfumatoError):  # the promises say what is wrong with this level
                part = Part(context, 0.3, 1.0)
                found.append(answer_risk(subject, known, recipient, limits, part))
    return tuple(found)


def with_released(subject: RiskSubject, answer: RiskAnswer, context: Context) -> RiskAnswer:
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


def change_sentence(change: Change) -> Sentence:
    """Return what would be released less of."""
    details = {"column": change.attribute, "level": change.level, "bins": change.bins}
    if change.level is not None:
        words = "With {column} at level {level}, {classes} {classes:class|classes}"
        return Sentence(words, **details, classes=change.classes)
    if change.bins is None:
        return Sentence("Without {column}", **details)
    return Sentence("With {column} in {bins} {bins:bin|bins}", **details)


def answer_curves(answer: RiskAnswer, context: Context) -> tuple[CurvePoint, ...]:
    """Return how the violating shares move with p, ε, δ and size, around a release."""
    known, limits = answer.known, answer.risk.limits
    retention = retention_of(answer.shown.matrix)
    if retention is None or not 0.0 < retention < 1.0:
        retention = USUAL_RETENTION
    start = RiskSetting(retention, limits, known.grouped.records)
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
    """Return in how many groups a value's share can be estimated closely, and by which law.

    A group counts as soon as one of its values does; rare ones beside it may be told badly.
    """
    total, name = answer.risk.total, answer.known.attribute.name
    details = {"recipient": answer.shown.recipient, "name": name}
    if not total.groups:
        counted = Sentence(
            "In none of the {groups:,} {groups:group|groups} of people alike can {recipient}"
            " estimate the shares of {name} closely.",
            groups=total.all_groups,
            **details,
        )
    else:
        counted = Sentence(
            "In {violating:,} of {groups:,} {groups:group|groups} of people alike, with {share:.0%}"
            " of the records, {recipient} can estimate the share of at least one value of {name}"
            " closely: it is off by more than {epsilon:.0%} less often than is asked for.",
            violating=total.groups,
            groups=total.all_groups,
            share=total.record_share,
            epsilon=answer.risk.limits.epsilon,
            **details,
        )
    if answer.risk.between is None:
        return counted
    fewest, most = answer.risk.between
    return joined(
        counted,
        Sentence(
            "Chances are approximate where values are treated differently: counted in simulated"
            " releases of small groups, by an expansion of the normal law for large ones. With"
            " their errors there are {fewest:,} to {most:,} {most:such group|such groups}.",
            fewest=fewest,
            most=most,
        ),
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


def with_remedies(subject: RiskSubject, answer: RiskAnswer, context: Context) -> RiskAnswer:
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
