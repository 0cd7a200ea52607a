"""Which small groups a release gives away, by (ε, δ)-reconstruction privacy.

A group violates the privacy that is asked for where an attacker's estimate of its most frequent
value's share is too good. By the published tests (Wang, Han and Fu 2012, theorems 5.11 and
5.13) that is where the group is larger than s_g; by the exact test, where the true probability
of an error above ε, on either side, is below δ for a value that occurs in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.disclosure.estimate_tails import EstimateTails, estimate_tails, retention_of
from sfumato.engine.disclosure.grouped_values import Floats, GroupedValues, Integers
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.mechanisms.reconstruction.law import Trials
from sfumato.engine.mechanisms.reconstruction.privacy import (
    Rule,
    allowed_size,
    check_limits,
    passes,
    private_groups,
)
from sfumato.engine.mechanisms.reconstruction.tails import Tails, release_tails

Flags = npt.NDArray[np.bool_]

USUAL_EPSILON: Final = 0.3
USUAL_DELTA: Final = 0.3


@dataclass(frozen=True)
class RiskLimits:
    """The privacy that is asked for: an error of more than ε with probability δ, by a test."""

    epsilon: float = USUAL_EPSILON
    delta: float = USUAL_DELTA
    rule: Rule = Rule.EXACT

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
    allowed
        The size s_g that each group's largest share allows by the simplified rule, shape (G,);
        None where the matrix has no retention probability that all values share.
    tails
        How good the estimate of each group's most frequent value really is.
    total
        The groups and records that violate.
    """

    limits: RiskLimits
    violating: Flags
    allowed: Floats | None
    tails: EstimateTails
    total: Violations


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
    if retention is None and limits.rule is not Rule.EXACT:
        raise PolicyError(
            "The published tests are for one retention probability; this release has one for"
            " each value.",
            "Choose the exact test.",
        )
    tails = estimate_tails(grouped, matrix, limits.epsilon, Part(context, 0.0, 0.5), trials)
    if retention is None:
        violating = ~passes(Tails(tails.high, tails.low), limits.delta)
    else:
        violating = violating_groups(
            grouped, retention, limits, trials, tails, Part(context, 0.5, 1.0)
        )
    allowed = None
    if retention is not None and 0.0 < retention < 1.0:
        allowed = allowed_size(
            Rule.SIMPLIFIED,
            retention,
            matrix.size,
            grouped.shares,
            limits.epsilon,
            limits.delta,
        )
    context.report(1.0, "Groups are examined")
    return GroupRisk(limits, violating, allowed, tails, violations(grouped, violating))


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
            limits.rule, grouped.counts, retention, grouped.values, limits.epsilon, limits.delta
        )
    if limits.rule is not Rule.EXACT:
        allowed = allowed_size(
            limits.rule, retention, grouped.values, grouped.shares, limits.epsilon, limits.delta
        )
        # The published algorithm samples s_g records, rounded; that passes by its own rule.
        broken: Flags = trials.counts > np.maximum(np.ceil(allowed), 1.0)
        return broken
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
