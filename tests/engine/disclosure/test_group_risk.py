"""Which groups a release gives away, what causes it, and what a group's estimate looks like."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import Binning, ColumnSpec, Kind
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.group_privacy import PrivacyTest
from sfumato.engine.disclosure.group_risk import (
    GroupRisk,
    Parameter,
    RiskLimits,
    RiskSetting,
    group_risk,
    in_bins,
    left_out,
    level_by_level,
    remedies,
    risk_curves,
)
from sfumato.engine.disclosure.group_tails import SampleDraw, effective_draws
from sfumato.engine.disclosure.grouped_values import (
    GroupedValues,
    group_view,
    grouped_values,
)
from sfumato.engine.disclosure.resampled_law import (
    GroupParts,
    ResampledLaw,
    Resampling,
    Trials,
)
from sfumato.engine.generalization.hierarchies import Intervals, hierarchy_of
from sfumato.engine.matrices.matrix import DenseMatrix
from sfumato.engine.matrices.retention_matrix import RetentionMatrix, uniform_matrix
from sfumato.engine.table.micro_groups import MicroGroups, micro_groups
from tests.engine.disclosure.group_cases import is_private

PUBLIC = ("sex", "age")


def table(rows: int = 6_000) -> tuple[pd.DataFrame, MicroGroups, np.ndarray]:
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {"sex": rng.choice(["f", "m"], rows), "age": rng.geometric(0.08, rows).clip(max=60)}
    )
    skewed = rng.choice(6, rows, p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    codes = np.where(frame["sex"] == "f", skewed, rng.integers(0, 6, rows)).astype(np.uint8)
    return frame, micro_groups(frame, PUBLIC, Silent()), codes


def grouped() -> GroupedValues:
    _, groups, codes = table()
    return grouped_values(groups, codes, 6)


def smaller(risk: GroupRisk) -> np.ndarray:
    return np.minimum(risk.tails.high, risk.tails.low)


@pytest.mark.parametrize("rule", list(PrivacyTest))
def test_a_group_violates_where_it_is_not_private(rule: PrivacyTest) -> None:
    whole = grouped()
    risk = group_risk(whole, uniform_matrix(0.6, 6), RiskLimits(0.3, 0.3, rule), Silent())
    dense = whole.counts.toarray()
    expected = [not is_private(rule, row, 0.6, 6, 0.3, 0.3) for row in dense]
    assert risk.violating.tolist() == expected
    assert 0 < risk.total.groups < whole.groups
    assert risk.total.records == whole.sizes[risk.violating].sum()
    assert risk.total.all_records == 6_000
    assert 0.0 < risk.total.group_share < 1.0
    assert 0.0 < risk.total.record_share < 1.0


def test_published_rules_are_about_the_size_alone() -> None:
    whole = grouped()
    limits = RiskLimits(0.3, 0.3, PrivacyTest.SIMPLIFIED)
    risk = group_risk(whole, uniform_matrix(0.6, 6), limits, Silent())
    assert risk.allowed is not None
    assert np.array_equal(risk.violating, whole.sizes > risk.allowed)


def test_the_published_rule_passes_groups_whose_estimate_is_nearly_certain() -> None:
    # f = p = 0.5, m = 10, ε = δ = 0.3: 128 records pass, with tails of 0.010 and 0.011.
    codes = np.repeat(np.arange(10), [64, 64, 0, 0, 0, 0, 0, 0, 0, 0]).astype(np.uint8)
    groups = micro_groups(pd.DataFrame({"all": np.zeros(128)}), ["all"], Silent())
    whole = grouped_values(groups, codes, 10)
    matrix = uniform_matrix(0.5, 10)
    published = group_risk(whole, matrix, RiskLimits(0.3, 0.3, PrivacyTest.SIMPLIFIED), Silent())
    exact = group_risk(whole, matrix, RiskLimits(0.3, 0.3, PrivacyTest.EXACT), Silent())
    assert published.total.groups == 0
    assert exact.total.groups == 1
    assert published.tails.high[0] == pytest.approx(0.010, abs=0.001)
    assert published.tails.low[0] == pytest.approx(0.011, abs=0.001)


def test_sampled_groups_no_longer_violate() -> None:
    whole = grouped()
    matrix = uniform_matrix(0.6, 6)
    limits = RiskLimits(0.3, 0.3, PrivacyTest.SIMPLIFIED)
    before = group_risk(whole, matrix, limits, Silent())
    assert before.allowed is not None
    drawn = np.minimum(whole.sizes, np.maximum(np.floor(before.allowed), 1)).astype(np.int64)
    trials = Trials(drawn, SampleDraw.BY_VALUE)
    after = group_risk(whole, matrix, limits, Silent(), trials)
    assert before.total.groups > 0
    assert after.total.groups == 0
    large = before.violating
    assert (smaller(after)[large] >= smaller(before)[large] - 1e-9).all()
    exact = group_risk(whole, matrix, replace(limits, rule=PrivacyTest.EXACT), Silent(), trials)
    untouched = group_risk(whole, matrix, replace(limits, rule=PrivacyTest.EXACT), Silent())
    # Publishing by the published rule does not undo what the true errors tell.
    assert 0 < exact.total.groups <= untouched.total.groups


def test_the_original_violates_everywhere_and_noise_nowhere() -> None:
    whole = grouped()
    assert group_risk(whole, uniform_matrix(1.0, 6), RiskLimits(), Silent()).violating.all()
    assert not group_risk(whole, uniform_matrix(0.0, 6), RiskLimits(), Silent()).violating.any()


@pytest.mark.slow
def test_per_value_limits_are_tested_by_true_errors_alone() -> None:
    matrix = RetentionMatrix(np.array([0.3, 0.6, 0.6, 0.6, 0.8, 0.8]))
    risk = group_risk(grouped(), matrix, RiskLimits(), Silent())
    assert not risk.tails.exact
    assert risk.allowed is None
    assert risk.total.groups > 0
    with pytest.raises(PolicyError, match="exact test"):
        group_risk(grouped(), matrix, RiskLimits(rule=PrivacyTest.CHERNOFF), Silent())


@pytest.mark.slow
def test_every_value_of_a_group_counts_where_values_are_treated_differently() -> None:
    whole, limits = grouped(), RiskLimits()
    matrix = RetentionMatrix(np.array([0.3, 0.6, 0.6, 0.6, 0.8, 0.8]))
    risk = group_risk(whole, matrix, limits, Silent())
    assert risk.between is not None
    counted = groups_given_away(whole, matrix.dense(), limits)
    assert risk.between[0] <= risk.total.groups <= risk.between[1]
    assert risk.between[0] <= counted <= risk.between[1]
    assert abs(risk.total.groups - counted) <= 5


@pytest.mark.slow
def test_approximate_tails_count_as_many_groups_as_the_exact_ones() -> None:
    whole, uniform = grouped(), uniform_matrix(0.6, 6)
    exact = group_risk(whole, uniform, RiskLimits(), Silent())
    about = group_risk(whole, DenseMatrix(uniform.dense()), RiskLimits(), Silent())
    assert exact.between is None
    assert about.between is not None
    assert about.between[0] <= exact.total.groups <= about.between[1]


def groups_given_away(whole: GroupedValues, dense: np.ndarray, limits: RiskLimits) -> int:
    """Count them in 4,000 releases of each group, by numpy's own multinomials."""
    draws, inverse = np.random.default_rng(5), np.linalg.inv(dense)
    found = 0
    for row in whole.counts.toarray():
        shown = sum(draws.multinomial(n, dense[:, v], 4_000) for v, n in enumerate(row))
        off = shown @ inverse.T - row
        present = row > 0
        high = (off > limits.epsilon * row + 1e-9).mean(axis=0)[present]
        low = (off < -limits.epsilon * row - 1e-9).mean(axis=0)[present]
        least, most = np.minimum(high, low), np.maximum(high, low)
        found += not ((least >= limits.delta) | (most >= 1 - limits.delta)).all()
    return found


def test_limits_out_of_range_are_refused() -> None:
    with pytest.raises(LevelError, match="ε"):
        group_risk(grouped(), uniform_matrix(0.5, 6), RiskLimits(1.4, 0.3), Silent())
    with pytest.raises(LevelError, match="δ"):
        group_risk(grouped(), uniform_matrix(0.5, 6), RiskLimits(0.3, 0.6), Silent())


def test_remedies_are_what_grouping_afresh_finds() -> None:
    frame, _, codes = table()
    binning = Binning((0.0, 5.0, 20.0, 60.0))
    matrix, limits = uniform_matrix(0.6, 6), RiskLimits(rule=PrivacyTest.SIMPLIFIED)
    changes = [left_out("sex"), left_out("age"), in_bins("age", binning)]
    found = remedies(grouped(), changes, matrix, limits, Silent())
    assert [each.change.bins for each in found] == [None, None, 3]
    changed = (frame[["age"]], frame[["sex"]], frame.assign(age=binning.apply(frame["age"])))
    for remedy, columns in zip(found, changed, strict=True):
        groups = micro_groups(columns, list(columns.columns), Silent())
        risk = group_risk(grouped_values(groups, codes, 6), matrix, limits, Silent())
        assert remedy.total == risk.total


def test_every_level_of_a_hierarchy_is_a_remedy_of_its_own() -> None:
    frame, _, codes = table()
    frame["age"] = frame["age"].astype("Int64").mask(frame["age"] == 3)
    spec = ColumnSpec("age", kind=Kind.NUMERIC)
    recipe = Intervals(width=5, growth=3)
    hierarchy = hierarchy_of(recipe, spec, frame["age"])
    whole = grouped_values(micro_groups(frame, PUBLIC, Silent()), codes, 6)
    matrix, limits = uniform_matrix(0.6, 6), RiskLimits(rule=PrivacyTest.SIMPLIFIED)
    changes = level_by_level("age", hierarchy)
    found = remedies(whole, changes, matrix, limits, Silent())
    assert len(found) >= 2
    for remedy in found:
        level = remedy.change.level
        assert level is not None
        assert remedy.change.classes == hierarchy.classes(level)
        coarse = frame.assign(age=hierarchy.generalize(frame["age"], level))
        groups = micro_groups(coarse, PUBLIC, Silent())
        risk = group_risk(grouped_values(groups, codes, 6), matrix, limits, Silent())
        assert remedy.total == risk.total


def test_dropping_the_last_attribute_leaves_one_group() -> None:
    frame, _, codes = table()
    whole = grouped_values(micro_groups(frame, ["sex"], Silent()), codes, 6)
    found = remedies(whole, [left_out("sex")], uniform_matrix(0.6, 6), RiskLimits(), Silent())
    assert found[0].total.all_groups == 1


def test_curves_have_the_papers_tendencies() -> None:
    _, groups, codes = table()
    start = RiskSetting(0.5, RiskLimits(), 6_000)
    whole = grouped_values(groups, codes, 6)
    points = risk_curves(whole, start, Silent(), rules=[PrivacyTest.SIMPLIFIED])
    for parameter in Parameter:
        shares = [
            point.found[PrivacyTest.SIMPLIFIED].record_share
            for point in points
            if point.parameter is parameter
        ]
        assert len(shares) == 5
        assert shares == sorted(shares)
        assert shares[-1] > shares[0]


def test_a_groups_estimate_scatters_as_its_spread_says() -> None:
    whole = grouped()
    group = int(np.argmax(whole.sizes))
    matrix = uniform_matrix(0.4, 6)
    rng = np.random.default_rng(5)
    dense = whole.counts[[group]].toarray().ravel()
    true = np.repeat(np.arange(6), dense)
    inside = []
    for _ in range(400):
        kept = rng.random(len(true)) < 0.4
        released = np.bincount(np.where(kept, true, rng.integers(0, 6, len(true))), minlength=6)
        view = group_view(whole, group, matrix, released)
        assert view.estimated is not None
        inside.append(np.abs(view.estimated - view.true) <= view.spread)
    assert view.true.tolist() == sorted(view.true, reverse=True)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)
    assert group_view(whole, group, matrix).estimated is None
    _, members, codes = table()
    drawn = np.maximum(members.sizes // 4, 1)
    law = ResampledLaw(
        GroupParts.of(members, members, codes, 6),
        Resampling(drawn, SampleDraw.BY_VALUE, 0.4, 0.4, 6),
    )
    fewer = group_view(whole, group, matrix, law=law)
    assert fewer.spread[0] > 1.9 * view.spread[0]


@pytest.mark.slow
def test_draws_at_a_lower_level_give_the_variance_that_copies_have() -> None:
    rng = np.random.default_rng(6)
    size, drawn, count, top, low, m = 60, 20, 30, 0.6, 0.3, 5
    estimates = []
    for _ in range(20_000):
        sample = np.arange(drawn) < drawn * count // size
        kept = rng.random(drawn) < top
        shown = np.where(kept, np.where(sample, 0, 1), rng.integers(0, m, drawn))
        rows = np.repeat(shown, size // drawn)
        stays = rng.random(size) < low / top
        released = np.where(stays, rows, rng.integers(0, m, size))
        estimates.append(((released == 0).mean() - (1 - low) / m) / low)
    sizes, shares, samples = np.array([size]), np.array([count / size]), np.array([drawn])
    draws = effective_draws(sizes, shares, samples, low, top, m)
    other = (1 - low) / m
    own = low + other
    each = (0.5 * own * (1 - own) + 0.5 * other * (1 - other)) / low**2
    assert np.var(estimates) == pytest.approx(each / draws[0], rel=0.06)
    assert effective_draws(sizes, shares, samples, top, top, m).tolist() == [drawn]
