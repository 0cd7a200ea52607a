"""Reconstruction privacy as a mechanism: its levels, its promise, its checks, what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.matrices.estimate import expected_standard_errors
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Released
from sfumato.engine.mechanisms.reconstruction.mechanism import share_of_top
from sfumato.engine.mechanisms.reconstruction.release import gap_of, group_figures
from sfumato.engine.table.micro_groups import micro_groups
from tests.engine.categories import KEYS, column_of, released, request_for

MECHANISM = mechanism_called("reconstruction")
RULES = ("exact", "chernoff", "simplified")
SAMPLINGS = ("blind", "published")


def grouped(column, groups=300, seed=5):
    """Return the column with groups of very different sizes."""
    shares = np.random.default_rng(seed).pareto(1.2, groups) + 0.05
    members = np.random.default_rng(seed).choice(
        groups, len(column.values), p=shares / shares.sum()
    )
    frame = pd.DataFrame({"place": members // 10, "age": members % 10})
    return column.grouped(micro_groups(frame, ["place", "age"], Silent()))


@pytest.fixture(scope="module")
def column():
    return grouped(column_of([8000, 6000, 3000, 2000, 1000]))


def settings(column, **changes):
    return {**MECHANISM.default_settings((column.attribute,)), **changes}


@pytest.mark.few(2)
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("rule", RULES)
def test_a_release_and_its_garblings_pass_their_checks(column, rule, sampling):
    chosen = settings(column, rule=rule, sampling=sampling)
    made = [released(MECHANISM, request_for(column, chosen, level)) for level in (0.5, 0.3, 0.05)]
    for release in made:
        checks = MECHANISM.check_release(request_for(column, chosen, release.level), release)
        assert len(checks) >= 2
        assert all(check.holds for check in checks), checks
    for upper, lower in ((made[0], made[1]), (made[1], made[2])):
        checks = MECHANISM.check_pair(upper, lower, (column.attribute,), chosen)
        assert all(check.holds for check in checks), checks


def test_a_plain_release_is_found_out(column):
    uniform = mechanism_called("uniform")
    plain = released(uniform, request_for(column, {}, 0.5))
    checks = MECHANISM.check_release(request_for(column, settings(column), 0.5), plain)
    assert [check.title for check in checks if not check.holds] == ["Resampled groups: copies"]


def test_a_release_of_other_groups_is_found_out(column):
    other = grouped(replace(column, values=np.roll(column.values, 7)), seed=9)
    release = released(MECHANISM, request_for(other, settings(other), 0.5))
    checks = MECHANISM.check_release(request_for(column, settings(column), 0.5), release)
    assert not all(check.holds for check in checks)


def test_a_part_of_the_rows_is_checked_as_far_as_it_goes(column):
    release = released(MECHANISM, request_for(column, settings(column), 0.5))
    part = Released(0.5, {"Disease": release.columns["Disease"].iloc[:500]})
    checks = MECHANISM.check_release(
        request_for(column.at(slice(500)), settings(column), 0.5), part
    )
    assert all(check.holds for check in checks)


def test_a_release_is_a_function_of_the_key(column):
    one = MECHANISM.release(request_for(column, settings(column), 0.4), Silent())["Disease"]
    same = MECHANISM.release(request_for(column, settings(column), 0.4), Silent())["Disease"]
    assert KEYS is not None
    pd.testing.assert_series_equal(one, same)


def test_a_level_above_the_top_is_refused_with_the_reason(column):
    with pytest.raises(LevelError, match="would have to draw more"):
        MECHANISM.level({"retention_probability": 0.6}, (column.attribute,), settings(column))
    with pytest.raises(LevelError, match="retention_probability"):
        MECHANISM.level({"epsilon": 1.0}, (column.attribute,), settings(column))


def test_the_step_below_the_top_never_keeps_more_than_the_level():
    for top in (0.5, 0.3, 0.7, 0.123):
        for level in np.linspace(0, top, 57):
            share = share_of_top(float(level), top)
            assert 0 <= share <= 1
            assert share * top <= level or share == 1.0


def test_whatever_decides_who_is_drawn_makes_another_ladder(column):
    attribute = column.attribute
    same = MECHANISM.ladder_identity((attribute,), settings(column))
    assert same == MECHANISM.ladder_identity((attribute,), settings(column))
    changes = [
        {"epsilon": 0.31}, {"delta": 0.1}, {"rule": "chernoff"}, {"sampling": "published"},
        {"retention_probability": 0.4},
    ]  # fmt: skip
    others = {MECHANISM.ladder_identity((attribute,), settings(column, **c)) for c in changes}
    others.add(MECHANISM.ladder_identity((grouped(column, seed=8).attribute,), settings(column)))
    assert len(others) == 6
    assert same not in others


def test_the_ladder_does_not_depend_on_the_order_of_the_rows(column):
    order = np.random.default_rng(2).permutation(len(column.values))
    frame = pd.DataFrame({"place": column.groups.codes[order]})
    groups = pd.DataFrame({"place": column.groups.codes})
    one = column.grouped(micro_groups(groups, ["place"], Silent()))
    other = replace(column, values=column.values[order]).grouped(
        micro_groups(frame, ["place"], Silent())
    )
    assert one.attribute.groups.digest == other.attribute.groups.digest


def test_the_promise_names_the_groups_and_what_is_computed(column):
    promise = MECHANISM.promise(0.5, (column.attribute,), settings(column))
    assert "alike in place and age" in promise.sentence
    assert "off by more than 30 % at least one time in three" in promise.sentence
    assert "at most 6." in promise.sentence
    figures = {fact.symbol: fact.value for fact in promise.facts}
    assert figures["Pr"] == pytest.approx(0.34)
    assert figures["γ"] == pytest.approx(6.0)


def test_the_promise_of_a_published_test_states_the_true_probability(column):
    promise = MECHANISM.promise(0.5, (column.attribute,), settings(column, rule="simplified"))
    figures = {fact.symbol: fact.value for fact in promise.facts}
    assert figures["Pr"] < 0.01
    assert "can be as low as 0." in promise.sentence


def test_drawing_as_published_promises_less_about_a_person_and_says_why(column):
    promise = MECHANISM.promise(0.5, (column.attribute,), settings(column, sampling="published"))
    assert "Whatever anyone believed" not in promise.sentence
    assert any("number of copies shows it" in limit for limit in promise.limits)
    assert any("everybody else" in limit for limit in promise.limits)


def test_a_lower_level_promises_what_the_top_does(column):
    promise = MECHANISM.promise(0.2, (column.attribute,), settings(column))
    assert "This release is made from that one" in promise.sentence
    assert "at most 6, and by at most 2.3 in groups that are not resampled" in promise.sentence


def test_recipients_are_told_how_many_draws_a_group_comes_from_only_where_nothing_shows(column):
    blind = MECHANISM.published(0.5, (column.attribute,), settings(column))
    draws = dict(blind.parameters["draws_by_group_size"])
    samples = MECHANISM.sample_sizes((column.attribute,), settings(column), Silent())
    sizes = column.attribute.groups.sizes
    assert draws == {int(n): int(s) for n, s in zip(sizes, samples, strict=True) if s < n}
    open_draws = MECHANISM.published(
        0.5, (column.attribute,), settings(column, sampling="published")
    )
    assert open_draws.parameters["draws_by_group_size"] == []


@pytest.mark.slow
def test_intervals_are_as_wide_as_the_copies_make_them(column):
    attribute, chosen = column.attribute, settings(column)
    truth = attribute.frequencies
    matrix = MECHANISM.matrix(0.5, (attribute,), chosen)
    estimates = np.array(
        [
            matrix.solve(
                np.bincount(
                    attribute.domain.encode(
                        MECHANISM.release(
                            request_for(column, chosen, 0.5, type(KEYS)(bytes([seed]) * 32)),
                            Silent(),
                        )["Disease"]
                    ),
                    minlength=5,
                )
                / len(column.values)
            )
            for seed in range(60)
        ]
    )
    told = MECHANISM.estimate_law(0.5, (attribute,), chosen)(truth)
    alone = expected_standard_errors(truth, matrix, len(column.values)) ** 2
    # Chi-square with 60 degrees: a ratio beyond 0.5 to 1.7 is rarer than once in 10,000.
    ratio = ((estimates - truth) ** 2).mean(axis=0) / told
    assert np.all((ratio > 0.4) & (ratio < 1.8))
    assert np.all(told > 2 * alone), "copies matter here"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"epsilon": "much"}, "epsilon.*not a number"),
        ({"rule": "guess"}, "exact"),
        ({"sampling": "never"}, "blind"),
        ({"retention_probability": 1.0}, "between"),
        ({"colour": 1}, "no setting called colour"),
    ],
)
def test_settings_that_mean_nothing_are_refused(column, changes, named):
    with pytest.raises(PolicyError, match=named):
        MECHANISM.check_settings((column.attribute,), settings(column, **changes))


def test_a_table_with_no_public_column_is_refused(column):
    alone = column.grouped(
        micro_groups(pd.DataFrame(index=range(len(column.values))), [], Silent())
    )
    with pytest.raises(PolicyError, match="no public column"):
        MECHANISM.check_settings((alone.attribute,), settings(alone))


def test_an_attribute_with_one_value_is_refused():
    with pytest.raises(PolicyError, match="single value"):
        MECHANISM.check_attributes((column_of([20]).attribute,))


def test_a_release_without_groups_is_refused(column):
    bare = replace(column, groups=None)
    with pytest.raises(PolicyError, match="not known"):
        MECHANISM.release(request_for(bare, settings(column), 0.5), Silent())


def test_groups_of_one_stay_as_they_are_perturbed():
    column = column_of([50, 50, 50])
    frame = pd.DataFrame({"id": np.arange(150)})
    single = column.grouped(micro_groups(frame, ["id"], Silent()))
    samples = MECHANISM.sample_sizes((single.attribute,), settings(single), Silent())
    assert samples.tolist() == [1] * 150
    assert len(released(MECHANISM, request_for(single, settings(single), 0.5)).columns["Disease"])


def test_a_resettled_entry_keeps_what_fits(column):
    kept = settings(column, delta=0.1)
    assert MECHANISM.resettled((column.attribute,), kept) == kept
    wrong = {**kept, "delta": 0.9}
    assert MECHANISM.resettled((column.attribute,), wrong) == settings(column)


def test_the_figures_count_what_is_resampled(column):
    limits = MECHANISM.limits((column.attribute,), settings(column))
    groups = column.attribute.groups
    figures = group_figures(groups, limits, Silent())
    samples = MECHANISM.sample_sizes((column.attribute,), settings(column), Silent())
    few = samples < groups.sizes
    assert figures.resampled_records == groups.sizes[few].sum()
    assert figures.drawn_records == samples[few].sum()
    assert figures.records == len(column.values)
    assert figures.single_groups == np.count_nonzero(groups.sizes == 1)
    assert [size for size, _ in figures.examples] == [5, 20, 100, 1000]


def test_the_gap_is_that_between_what_is_published_and_what_is_true(column):
    chosen = settings(column, rule="simplified", delta=0.3)
    limits = replace(MECHANISM.limits((column.attribute,), chosen), size_of_domain=10)
    gap = gap_of(limits)
    assert (gap.allowed, gap.exact) == (128, 10)
    assert gap.missed == pytest.approx(0.021, abs=1e-3)
