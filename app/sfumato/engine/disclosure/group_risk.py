"""Which small groups a release gives away, by (ε, δ)-reconstruction privacy.

A group violates the privacy that is asked for where an attacker's estimate of its most frequent
value's share is too good. By the published tests (Wang, Han and Fu 2012, theorems 5.11 and
5.13) that is where the group is larger than s_g; by the exact test, where the true probability
of an error above ε, on either side, is below δ for a value that occurs in it.

Remedies release less of one public attribute, so that fewer groups are given away. It can be left
out, or released more coarsely: in bins, or one of the levels of its hierarchy. Groups merge then.
Larger groups can be estimated better, so less is not always safer.

Risk curves show how the share of violating groups moves with p, ε, δ and the table's size (Wang,
Han and Fu 2012, Figs. 2 and 4): all four start from one setting and move one parameter each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from enum import StrEnum
from functools import cached_property
from typing import Final

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Binning
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent, one_by_one
from sfumato.engine.core.values import Flags, Floats, Integers
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.estimate_tails import (
    Cells,
    EstimateTails,
    estimate_tails,
    largest_error,
    retention_of,
    simulated_tails,
    tails_of_cells,
)
from sfumato.engine.disclosure.group_privacy import (
    PrivacyTest,
    allowed_size,
    check_limits,
    passes,
    private_groups,
)
from sfumato.engine.disclosure.group_tails import Tails, release_tails
from sfumato.engine.disclosure.grouped_values import GroupedValues, sampled_values
from sfumato.engine.disclosure.resampled_law import Trials
from sfumato.engine.generalization.hierarchies import Hierarchy
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.table.micro_groups import PublicAttribute

USUAL_EPSILON: Final = 0.3
USUAL_DELTA: Final = 0.3


@dataclass(frozen=True)
class RiskLimits:
    """The privacy that is asked for: an error of more than ε with probability δ, by a test."""

    epsilon: float = USUAL_EPSILON
    delta: float = USUAL_DELTA
    rule: PrivacyTest = PrivacyTest.EXACT

    def check(self) -> None:
        """Raise `LevelError` where ε or δ is out of the test's range."""
        check_limits(self.rule, self.epsilon, self.delta)


@dataclass(frozen=True)
class Violations:
    """How many groups, and how many records in them, violate.

    Parameters
    ----------
    groups, records
        How many violate.
    all_groups, all_records
        How many there are.
    """

    groups: int
    records: int
    all_groups: int
    all_records: int

    @property
    def group_share(self) -> float:
        """The share of the groups that violate."""
        return self.groups / self.all_groups

    @property
    def record_share(self) -> float:
        """The share of the records that are in violating groups."""
        return self.records / self.all_records


@dataclass(frozen=True)
class GroupRisk:
    """One release's risk, group by group.

    Parameters
    ----------
    limits
        What was asked for.
    violating
        Which groups violate, shape (G,).
    tails
        How good the estimate of each group's most frequent value really is.
    total
        The groups and records that violate.
    grouped, matrix
        What was examined.
    between
        The fewest and the most groups that violate where the tails are approximate, and off by as
        much as they were in simulated releases; None where they are exact.
    """

    limits: RiskLimits
    violating: Flags
    tails: EstimateTails
    total: Violations
    grouped: GroupedValues = field(repr=False)
    matrix: PerturbationMatrix = field(repr=False)
    between: tuple[int, int] | None = None

    @cached_property
    def allowed(self) -> Floats | None:
        """The size s_g that each group's largest share allows by the simplified rule, shape (G,).

        None where the matrix has no retention probability that all values share.
        """
        retention = retention_of(self.matrix)
        if retention is None or not 0.0 < retention < 1.0:
            return None
        asked = (PrivacyTest.SIMPLIFIED, retention, self.matrix.size, self.grouped.shares)
        return allowed_size(*asked, self.limits.epsilon, self.limits.delta)


def group_risk(
    grouped: GroupedValues,
    matrix: PerturbationMatrix,
    limits: RiskLimits,
    context: Context,
    trials: Trials | None = None,
) -> GroupRisk:
    """Examine every group of a release.

    Parameters
    ----------
    grouped
        The groups with their true values.
    matrix
        The release's perturbation matrix, of any mechanism.
    limits
        The privacy that is asked for, and the test.
    context
        Progress and cancelling.
    trials
        What estimates rest on where a release repeats records; None where every record is
        perturbed by itself.

    Raises
    ------
    LevelError
        If ε or δ is out of range.
    PolicyError
        If a published test is asked of a matrix for which it does not exist.
    EstimationError
        If the release can't tell values apart.
    """
    limits.check()
    retention = retention_of(matrix)
    if retention is None and limits.rule is not PrivacyTest.EXACT:
        raise PolicyError(
            "The published tests are for one retention probability; this release has one for"
            " each value.",
            "Choose the exact test.",
        )
    tails = estimate_tails(grouped, matrix, limits.epsilon, Part(context, 0.0, 0.5), trials)
    between = None
    if retention is None:
        violating, between = _violating_about(
            grouped, matrix, limits, trials, tails.error, Part(context, 0.5, 1.0)
        )
    else:
        violating = violating_groups(
            grouped, retention, limits, trials, tails, Part(context, 0.5, 1.0)
        )
    context.report(1.0, "Groups are examined")
    total = violations(grouped, violating)
    return GroupRisk(limits, violating, tails, total, grouped, matrix, between)


def _violating_about(
    grouped: GroupedValues,
    matrix: PerturbationMatrix,
    limits: RiskLimits,
    trials: Trials | None,
    error: float | Floats,
    context: Context,
) -> tuple[Flags, tuple[int, int]]:
    """Return which groups violate by approximate tails, and between how many may do so.

    As by the exact law, every value that occurs in a group is asked about.
    """
    groups = grouped.cell_groups
    values = grouped.counts.indices.astype(np.int64)
    cells = Cells(groups, values, grouped.counts.data.astype(np.int64))
    found = tails_of_cells(grouped, cells, matrix, limits.epsilon, context, trials)
    if trials is None:
        found, error = _simulated_where_small(grouped, cells, matrix, limits, found, context)

    def violate(shift: float) -> Flags:
        """Return which groups do where all tails are off by so many times their error."""
        least = np.minimum(*found) + shift * error
        most = np.maximum(*found) + shift * error
        broken = np.zeros(grouped.groups, dtype=np.bool_)
        broken[groups[~passes(Tails(most, least), limits.delta)]] = True
        return broken

    fewest, most = (int(violate(shift).sum()) for shift in (1.0, -1.0))
    return violate(0.0), (fewest, most)


def _simulated_where_small(
    grouped: GroupedValues,
    cells: Cells,
    matrix: PerturbationMatrix,
    limits: RiskLimits,
    tails: Tails,
    context: Context,
) -> tuple[Tails, Floats]:
    """Return tails, those of small groups counted in simulated releases, and how far off, (K,)."""
    epsilon, delta = limits.epsilon, limits.delta
    counted = simulated_tails(grouped, cells, matrix, epsilon, delta, context)
    error: Floats = np.full(len(cells.groups), counted.error)
    others = np.setdiff1d(np.arange(len(error)), counted.places, assume_unique=True)
    if len(others):
        rest = Cells(*(each[others] for each in cells))
        known = Tails(tails.upper[others], tails.lower[others])
        error[others] = largest_error(grouped, rest, matrix, epsilon, known, context)
    tails.upper[counted.places] = counted.tails.upper
    tails.lower[counted.places] = counted.tails.lower
    return tails, error


def violations(grouped: GroupedValues, violating: Flags) -> Violations:
    """Return how many groups and records violate."""
    return Violations(
        int(violating.sum()),
        int(grouped.sizes[violating].sum()),
        grouped.groups,
        grouped.records,
    )


def violating_groups(
    grouped: GroupedValues,
    retention: float,
    limits: RiskLimits,
    trials: Trials | None = None,
    tails: EstimateTails | None = None,
    context: Context | None = None,
) -> Flags:
    """Return which groups violate under uniform replacement, shape (G,).

    Parameters
    ----------
    grouped
        The groups with their true values.
    retention
        The retention probability p, from 0 to 1.
    limits
        The privacy that is asked for, and the test.
    trials
        As for `group_risk`.
    tails
        Those of the groups' most frequent values where they are known already.
    context
        Progress and cancelling.
    """
    if retention in (0.0, 1.0):
        # Nothing can be estimated; or nothing is hidden.
        return np.full(grouped.groups, retention == 1.0)
    if trials is None:
        return ~private_groups(
            limits.rule,
            grouped.counts,
            retention,
            grouped.values,
            limits.epsilon,
            limits.delta,
            grouped.cells if limits.rule is PrivacyTest.EXACT else None,
        )
    if limits.rule is not PrivacyTest.EXACT:
        allowed = allowed_size(
            limits.rule, retention, grouped.values, grouped.shares, limits.epsilon, limits.delta
        )
        # The published algorithm samples s_g records, rounded; that passes by its own rule.
        return trials.counts > np.maximum(np.ceil(allowed), 1.0)
    # Nearly always the most frequent value decides, so the others of a group that it gives away
    # are not asked about.
    broken = np.zeros(grouped.groups, dtype=np.bool_)
    if tails is not None:
        broken = ~passes(Tails(tails.high, tails.low), limits.delta)
    row = grouped.cell_groups
    cells = np.flatnonzero(~broken[row])
    found = _tails_of_cells(grouped, cells, retention, limits, trials, context or Silent())
    broken[row[cells[~passes(found, limits.delta)]]] = True
    return broken


def _tails_of_cells(
    grouped: GroupedValues,
    cells: Integers,
    retention: float,
    limits: RiskLimits,
    trials: Trials,
    context: Context,
) -> Tails:
    """Return the tails of some stored entries of the groups' counts."""
    row, counts = grouped.cell_groups[cells], grouped.counts.data[cells]
    if trials.law is not None:
        values = grouped.counts.indices[cells].astype(np.int64)
        return trials.law.tails(row, values, counts, limits.epsilon, context)
    return release_tails(
        grouped.sizes[row],
        counts,
        trials.counts[row],
        retention,
        grouped.values,
        limits.epsilon,
        trials.draw,
    )


@dataclass(frozen=True)
class Change:
    """Less of one public attribute.

    Parameters
    ----------
    attribute
        The public attribute.
    coarsen
        What makes it coarser; None where it is left out.
    bins
        In how many bins it would be released, where in bins.
    level, classes
        At which level of its hierarchy it would be released, and in how many classes, where at
        one.
    """

    attribute: str
    coarsen: Callable[[PublicAttribute], PublicAttribute] | None = field(default=None, repr=False)
    bins: int | None = None
    level: int | None = None
    classes: int | None = None

    def applied(self, attributes: Sequence[PublicAttribute]) -> tuple[PublicAttribute, ...]:
        """Return what is left of some public attributes."""
        if self.coarsen is None:
            return tuple(each for each in attributes if each.name != self.attribute)
        return tuple(
            self.coarsen(each) if each.name == self.attribute else each for each in attributes
        )


@dataclass(frozen=True)
class RiskChange:
    """What a change comes to.

    Parameters
    ----------
    change
        What recipients would see less of.
    total
        The groups and records that violate then.
    """

    change: Change
    total: Violations


RestsOn = Callable[[Change, GroupedValues, Context], Trials | None]
"""What the estimates for the merged groups rest on once a change is made; see `group_risk`."""


def left_out(name: str) -> Change:
    """Return that recipients don't see an attribute."""
    return Change(name)


def in_bins(name: str, binning: Binning) -> Change:
    """Return that recipients see a numeric attribute in bins; missing stays missing."""

    def coarsen(attribute: PublicAttribute) -> PublicAttribute:
        return _relabelled(attribute, binning.apply(values_of(attribute)))

    return Change(name, coarsen, bins=len(binning.names))


def at_level(name: str, hierarchy: Hierarchy, level: int) -> Change:
    """Return that recipients see an attribute at a level of its hierarchy."""

    def coarsen(attribute: PublicAttribute) -> PublicAttribute:
        return _relabelled(attribute, hierarchy.generalize(values_of(attribute), level))

    return Change(name, coarsen, level=level, classes=hierarchy.classes(level))


def level_by_level(name: str, hierarchy: Hierarchy) -> tuple[Change, ...]:
    """Return a change for each level that joins classes and leaves more than one."""
    return tuple(
        at_level(name, hierarchy, level)
        for level in range(1, hierarchy.height)
        if 1 < hierarchy.classes(level) < hierarchy.classes(level - 1)
    )


def remedies(
    grouped: GroupedValues,
    changes: Sequence[Change],
    matrix: PerturbationMatrix,
    limits: RiskLimits,
    context: Context,
    rests_on: RestsOn | None = None,
) -> tuple[RiskChange, ...]:
    """Return what each change would do.

    Parameters
    ----------
    grouped
        The groups with their true values.
    changes
        What could be released less of.
    matrix, limits
        As for `sfumato.engine.disclosure.group_risk.group_risk`.
    context
        Progress and cancelling.
    rests_on
        What estimates rest on after a change, where the release repeats records; None where
        every record is perturbed by itself.
    """
    found = []
    for change, part in one_by_one(context, changes):
        merged = grouped.merged(change.applied(grouped.attributes))
        trials = None if rests_on is None else rests_on(change, merged, Part(part, 0.0, 0.5))
        risk = group_risk(merged, matrix, limits, Part(part, 0.5, 1.0), trials)
        found.append(RiskChange(change, risk.total))
    return tuple(found)


def values_of(attribute: PublicAttribute) -> pd.Series:
    """Return an attribute's values, and a missing one last where it has any."""
    values = attribute.values.to_series(name=attribute.name).reset_index(drop=True)
    missing = bool((attribute.codes == len(attribute.values)).any())
    return values.reindex(range(len(values) + 1)) if missing else values


def _relabelled(attribute: PublicAttribute, labels: pd.Series) -> PublicAttribute:
    """Return an attribute with the labels of its values, categories, in their place."""
    places = labels.astype("category").cat
    codes = places.codes.to_numpy().astype(np.int64)
    codes[codes < 0] = len(places.categories)
    return replace(attribute, values=places.categories, codes=codes[attribute.codes])


RETENTIONS: Final = (0.1, 0.3, 0.5, 0.7, 0.9)
EPSILONS: Final = (0.1, 0.3, 0.5, 0.7, 0.9)
DELTAS: Final = (0.14, 0.22, 0.3, 0.38, 0.46)
SIZE_SHARES: Final = (0.2, 0.4, 0.6, 0.8, 1.0)
"""The settings of the paper's Table 3; sizes as shares of the whole table."""


class Parameter(StrEnum):
    """What is moved."""

    RETENTION = "p"
    EPSILON = "ε"
    DELTA = "δ"
    RECORDS = "records"


@dataclass(frozen=True)
class RiskSetting:
    """What the four questions start from, and what one of them moved.

    Parameters
    ----------
    retention
        The retention probability p.
    limits
        ε, δ and the test.
    records
        The number of records, |D|.
    """

    retention: float
    limits: RiskLimits
    records: int


@dataclass(frozen=True)
class CurvePoint:
    """One setting and what violates under it, by each test.

    Parameters
    ----------
    parameter
        What was moved.
    value
        To where.
    setting
        The whole setting.
    found
        What violates, by test.
    """

    parameter: Parameter
    value: float
    setting: RiskSetting
    found: dict[PrivacyTest, Violations]


@dataclass(frozen=True)
class QueryPoint:
    """One setting and the mean relative errors under it.

    Parameters
    ----------
    parameter
        What was moved.
    value
        To where.
    plain
        The mean relative error from a plain perturbed release.
    published
        That of the algorithm as it was published, by the simplified test.
    exact
        That of blind draws by the exact test; None where these limits can't be kept.
    """

    parameter: Parameter
    value: float
    plain: float
    published: float | None
    exact: float | None


@dataclass(frozen=True)
class ModeCost:
    """How far off count queries are by one mode of protecting groups.

    Parameters
    ----------
    rule, sampling
        The mode: how groups are tested, and how records are drawn; empty for no protection.
    error
        The mean relative error; None where these limits can't be kept.
    chosen
        Whether it is the one that is set.
    shares
        What is known of the largest share of a value in a group.
    """

    rule: str
    sampling: str
    error: float | None
    chosen: bool = False
    shares: str = ""


def settings_of(start: RiskSetting) -> Iterator[tuple[Parameter, float, RiskSetting]]:
    """Yield each setting that differs from `start` in one parameter."""
    limits = start.limits
    for value in RETENTIONS:
        yield Parameter.RETENTION, value, replace(start, retention=value)
    for value in EPSILONS:
        yield Parameter.EPSILON, value, replace(start, limits=replace(limits, epsilon=value))
    for value in DELTAS:
        yield Parameter.DELTA, value, replace(start, limits=replace(limits, delta=value))
    for share in SIZE_SHARES:
        records = max(round(share * start.records), 1)
        yield Parameter.RECORDS, float(records), replace(start, records=records)


def risk_curves(
    grouped: GroupedValues,
    start: RiskSetting,
    context: Context,
    rules: Sequence[PrivacyTest] = tuple(PrivacyTest),
) -> tuple[CurvePoint, ...]:
    """Return what violates as p, ε, δ and the number of records move, one at a time.

    The same smaller tables are drawn each time.

    Parameters
    ----------
    grouped
        The groups with their true values.
    start
        What the questions start from; its test is not used.
    context
        Progress and cancelling.
    rules
        The tests that are shown.

    Raises
    ------
    LevelError
        If ε or δ is out of a test's range.
    """
    points: list[CurvePoint] = []
    settings = list(settings_of(start))
    for done, (parameter, value, setting) in enumerate(settings):
        context.report(done / len(settings), Sentence("Moving {parameter}", parameter=parameter))
        table = sampled_values(grouped, setting.records, seed=1)
        found = {
            rule: violations(
                table,
                violating_groups(table, setting.retention, replace(setting.limits, rule=rule)),
            )
            for rule in rules
        }
        points.append(CurvePoint(parameter, value, setting, found))
    context.report(1.0, "Curves are ready")
    return tuple(points)
