"""What limits of groups come to: for the table's records, and for a recipient's estimates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.progress import Context
from sfumato.engine.disclosure.group_privacy import Rule
from sfumato.engine.matrices.estimate import Target, expected_standard_errors
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.mechanisms.reconstruction.figures import (
    Gap,
    GroupFigures,
    gap_of,
    group_figures,
)
from sfumato.engine.mechanisms.reconstruction.limits import Limits, Sampling
from sfumato.engine.mechanisms.reconstruction.mechanism import MECHANISM
from sfumato.engine.table.micro_groups import GroupCounts
from sfumato.formats.language import grouped
from sfumato.plots.axes import percent
from sfumato.ui.look.wording import number
from sfumato.ui.panels.policy.mechanisms.base import Attributes
from sfumato.ui.panels.policy.wording import NORMAL_95, tr


@dataclass(frozen=True)
class Outcome:
    """What limits come to, in words.

    Parameters
    ----------
    about_rule
        The gap between what the test lets pass and what is true there.
    figures
        What happens to the table's groups, and how well a recipient can estimate.
    """

    about_rule: str
    figures: str


def outcome_of(
    groups: GroupCounts,
    limits: Limits,
    attributes: Attributes,
    settings: Settings,
    context: Context,
) -> Outcome:
    """Work out what limits come to (for a job)."""
    figures = group_figures(groups, limits, context)
    lines = (
        _groups_line(figures),
        _change_line(figures, limits),
        _draws_line(figures),
        _single_line(figures),
        usefulness_of(limits.retention, attributes, settings, wait=True),
    )
    return Outcome(_about_rule(gap_of(limits), limits), "\n\n".join(line for line in lines if line))


def _about_rule(gap: Gap, limits: Limits) -> str:
    """Return the gap between what a test lets pass and what is true there."""
    if limits.rule is Rule.EXACT and limits.sampling is Sampling.BLIND:
        return tr(
            "Computes how often an estimate is truly off, for whatever a group of this size could"
            " hold."
        )
    if limits.rule is Rule.EXACT:
        return tr(
            "Computes how often an estimate is truly off. Where half of a group share a value, up"
            " to {exact} of its records may be drawn.",
            exact=grouped(gap.exact),
        )
    return tr(
        "This test asks that an upper bound on the error's probability is at least {delta}, which"
        " promises nothing about the probability. Where half of a group share a value, it lets"
        " {allowed} {allowed:record|records} pass, whose estimate is truly off by more than"
        " {error} in {missed} of cases. The exact test lets {exact} pass.",
        delta=percent(limits.delta, 0),
        allowed=grouped(gap.allowed),
        error=percent(limits.epsilon, 0),
        missed=percent(gap.missed),
        exact=grouped(gap.exact),
    )


def _groups_line(figures: GroupFigures) -> str:
    """Return how many groups could be estimated too well."""
    return tr(
        "{groups} of {all_groups} {all_groups:group|groups}, with {records} of {all_records}"
        " {all_records:record|records}, could be estimated too well if each record were simply"
        " perturbed.",
        groups=grouped(figures.violating_groups),
        all_groups=grouped(figures.groups),
        records=grouped(figures.violating_records),
        all_records=grouped(figures.records),
    )


def _change_line(figures: GroupFigures, limits: Limits) -> str:
    """Return what changes for how many records."""
    if not figures.resampled_groups:
        return tr("No group has to be resampled: every record is simply perturbed.")
    text = tr(
        "{records} {records:record|records} in {groups} {groups:group|groups} are resampled:"
        " {drawn} of them {drawn:is|are} drawn, and"
        " {drawn:its perturbed value|their perturbed values} copied to the others.",
        records=grouped(figures.resampled_records),
        groups=grouped(figures.resampled_groups),
        drawn=grouped(figures.drawn_records),
    )
    blind = limits.sampling is Sampling.BLIND
    if blind and figures.resampled_groups > figures.violating_groups:
        text += " " + tr(
            "Blindly, groups that happen to be safe are resampled with those of their size that are"
            " not."
        )
    return text


def _draws_line(figures: GroupFigures) -> str:
    """Return how many records are drawn of groups."""
    if figures.examples:
        return tr(
            "Draws by a group's size: {examples}.",
            examples=", ".join(
                tr("{drawn} of {size}", drawn=grouped(drawn), size=grouped(size))
                for size, drawn in figures.examples
            ),
        )
    if not figures.resampled_groups:
        return ""
    return tr(
        "Between {fewest} and {most} {most:record|records} of a resampled group are drawn.",
        fewest=grouped(figures.fewest),
        most=grouped(figures.most),
    )


def _single_line(figures: GroupFigures) -> str:
    """Return what is to be said of groups of one."""
    if not figures.single_groups:
        return ""
    return tr(
        "{count}"
        " {count:record is alone in its group. It has|records are alone in their group. They have}"
        " no distribution to hide:"
        " {count:its own perturbation protects it|their own perturbation protects them}.",
        count=grouped(figures.single_groups),
    )


def usefulness_of(level: float, attributes: Attributes, settings: Settings, *, wait: bool) -> str:
    """Return how well a recipient can estimate shares, the copies counted in.

    Parameters
    ----------
    level, attributes, settings
        The release's.
    wait
        Whether to work out how many records are drawn, which takes a moment in large tables.
    """
    attribute, groups = attributes[0], attributes[0].groups
    if groups is None or level == 0.0:
        return tr("Nothing can be estimated from it.") if level == 0.0 else ""
    if not wait and MECHANISM.limits(attributes, settings) not in groups.kept:
        return tr("How well shares can be estimated from it is being worked out above.")
    matrix = MECHANISM.matrix(level, attributes, settings)
    law = MECHANISM.estimate_law(level, attributes, settings)
    try:
        alone = expected_standard_errors(
            attribute.frequencies, matrix, groups.records, Target.TABLE
        )
    except EstimationError:
        return tr("Nothing can be estimated from it.")
    errors = np.sqrt(law(attribute.frequencies)) if law is not None else alone
    worst = NORMAL_95 * float(errors.max())
    if worst >= 0.5:
        return tr("Shares can hardly be estimated from it.")
    return tr(
        "From {rows} {rows:record|records}, each value's share can be estimated to within"
        " ±{points} percentage {points:point|points} (95\u202f%); without resampling it would be"
        " ±{alone}.",
        rows=grouped(groups.records),
        points=number(worst * 100, 2),
        alone=number(NORMAL_95 * float(alone.max()) * 100, 2),
    )
