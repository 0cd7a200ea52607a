"""How the share of violating groups moves with p, ε, δ and the table's size.

What Wang, Han and Fu (2012) show in Figs. 2 and 4: all four questions start from the same
setting and move one parameter each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.group_risk import (
    RiskLimits,
    Violations,
    violating_groups,
    violations,
)
from sfumato.engine.disclosure.grouped_values import GroupedValues, grouped_values, sampled_values
from sfumato.engine.mechanisms.reconstruction.privacy import Rule
from sfumato.engine.table.micro_groups import MicroGroups

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
class Setting:
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
    setting: Setting
    found: dict[Rule, Violations]


def settings_of(
    start: Setting,
    retentions: Sequence[float] = RETENTIONS,
    epsilons: Sequence[float] = EPSILONS,
    deltas: Sequence[float] = DELTAS,
    shares: Sequence[float] = SIZE_SHARES,
) -> Iterator[tuple[Parameter, float, Setting]]:
    """Yield each setting that differs from `start` in one parameter."""
    limits = start.limits
    for value in retentions:
        yield Parameter.RETENTION, value, replace(start, retention=value)
    for value in epsilons:
        yield Parameter.EPSILON, value, replace(start, limits=replace(limits, epsilon=value))
    for value in deltas:
        yield Parameter.DELTA, value, replace(start, limits=replace(limits, delta=value))
    for share in shares:
        records = max(round(share * start.records), 1)
        yield Parameter.RECORDS, float(records), replace(start, records=records)


def risk_curves(
    groups: MicroGroups,
    codes: Codes,
    size: int,
    start: Setting,
    context: Context,
    rules: Sequence[Rule] = tuple(Rule),
    seed: int = 1,
) -> tuple[CurvePoint, ...]:
    """Return what violates as p, ε, δ and the number of records move, one at a time.

    Parameters
    ----------
    groups
        The micro groups of n records.
    codes
        Each record's sensitive value, shape (n,).
    size
        The number of values in its domain, m.
    start
        What the questions start from; its test is not used.
    context
        Progress and cancelling.
    rules
        The tests that are shown.
    seed
        The same seed draws the same smaller tables.

    Raises
    ------
    LevelError
        If ε or δ is out of a test's range.
    """
    whole = grouped_values(groups, codes, size)
    points: list[CurvePoint] = []
    settings = list(settings_of(start))
    for done, (parameter, value, setting) in enumerate(settings):
        context.report(done / len(settings), Sentence("Moving {parameter}", parameter=parameter))
        table: GroupedValues = whole
        if setting.records < groups.records:
            table = sampled_values(groups, codes, size, setting.records, seed)
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
