"""What protecting groups costs those who count."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.group_risk import Parameter, RiskLimits, RiskSetting
from sfumato.engine.disclosure.grouped_values import grouped_values
from sfumato.engine.mechanisms.reconstruction.limits import default_limits
from sfumato.engine.mechanisms.reconstruction.mechanism import MECHANISM
from sfumato.engine.mechanisms.reconstruction.release import query_curves
from sfumato.engine.table.micro_groups import micro_groups


def crowd(rows: int = 8_000) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], rows), "age": rng.integers(0, 12, rows)})
    skewed = rng.choice(6, rows, p=[0.6, 0.2, 0.1, 0.05, 0.03, 0.02])
    return frame, skewed.astype(np.uint8)


@pytest.mark.slow
def test_errors_fall_with_p_and_size_and_protection_costs_a_little() -> None:
    frame, codes = crowd()
    whole = grouped_values(micro_groups(frame, ["sex", "age"], Silent()), codes, 6)
    start = RiskSetting(0.5, RiskLimits(0.5, 0.3), len(codes))
    points = query_curves(whole, start, Silent(), queries=400, selectivity=0.01)
    assert len(points) == 20
    by_p = [point.plain for point in points if point.parameter is Parameter.RETENTION]
    assert by_p[0] > by_p[2] > by_p[4]
    assert max(by_p[1:]) < by_p[0]
    sizes = [point.plain for point in points if point.parameter is Parameter.RECORDS]
    assert sizes[0] > sizes[-1]
    for parameter in (Parameter.EPSILON, Parameter.DELTA):
        plain = {point.plain for point in points if point.parameter is parameter}
        assert len(plain) == 1  # a plain release does not depend on them
    at_start = next(
        point for point in points if point.parameter is Parameter.EPSILON and point.value == 0.5
    )
    assert at_start.published is not None
    assert at_start.exact is not None
    assert at_start.plain < at_start.published < 10 * at_start.plain
    assert at_start.exact > at_start.published


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["blind", "published"])
def test_each_mode_costs_what_its_curve_says_at_that_place(sampling: str) -> None:
    frame, codes = crowd()
    whole = grouped_values(micro_groups(frame, ["sex", "age"], Silent()), codes, 6)
    stated = {**default_limits(), "epsilon": 0.5, "delta": 0.3, "sampling": sampling}
    costs = MECHANISM.mode_costs(whole, {**stated, "retention_probability": 0.5}, Silent())
    told = {(one.rule, one.sampling): one.error for one in costs if one.shares != "noisy"}
    assert [one.sampling for one in costs if one.chosen] == [sampling]
    start = RiskSetting(0.5, RiskLimits(0.5, 0.3), len(codes))
    points = query_curves(whole, start, Silent(), queries=500, selectivity=0.01)
    same = next(p for p in points if p.parameter is Parameter.EPSILON and p.value == 0.5)
    assert told["", ""] == same.plain
    assert told["exact", "blind"] == same.exact
    assert told["simplified", "published"] == same.published
    assert same.plain < told["exact", "published"] < same.exact


@pytest.mark.slow
def test_limits_that_cannot_be_kept_leave_a_gap() -> None:
    frame, codes = crowd(1_000)
    whole = grouped_values(micro_groups(frame, ["sex"], Silent()), codes, 6)
    start = RiskSetting(0.5, RiskLimits(0.3, 0.46), len(codes))
    points = query_curves(whole, start, Silent(), queries=50, selectivity=0.01)
    highest = next(p for p in points if p.parameter is Parameter.RETENTION and p.value == 0.9)
    assert highest.exact is None
    assert highest.plain > 0.0


def test_without_public_columns_there_is_nothing_to_ask() -> None:
    frame, codes = crowd(200)
    whole = grouped_values(micro_groups(frame, [], Silent()), codes, 6)
    with pytest.raises(EstimationError, match="no public attributes"):
        query_curves(whole, RiskSetting(0.5, RiskLimits(), 200), Silent())
