"""Laplace noise as a mechanism: its settings, its levels, what it promises, and its checks."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.gaussian_attack import Dependence
from sfumato.engine.ladders.laplace import LaplaceLaw
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Origin, Released
from sfumato.engine.mechanisms.laplace.settings import grid_of
from sfumato.engine.mechanisms.postprocessing import (
    Attacker,
    Pool,
    bayes_experiment,
    expected_by_copies,
    guesses,
    make_experiment,
)
from tests.engine.numbers import attributes_of, number_columns, people, request
from tests.noise import NOISE

LAPLACE = mechanism_called("laplace")
STATED = {"lowest": 15, "highest": 95, "step": 1, "bounds": "stated"}
(AGES, INCOMES) = people()
ATTRIBUTES = attributes_of([AGES])


def released(level, settings=STATED, column=AGES, **changes):
    asked = request([column], settings, level, **changes)
    return Released(level, LAPLACE.release(asked, Silent()))


# ----- bounds and steps


def test_bounds_are_measured_with_noise_that_the_promise_counts():
    settings = LAPLACE.first_settings(ATTRIBUTES, NOISE)
    assert settings["bounds"] == "noisy"
    assert (settings["lowest"], settings["highest"], settings["step"]) == (10, 100, 1)
    assert settings["bounds_epsilon"] == LAPLACE.byproduct_epsilon(settings) > 0
    assert LAPLACE.complete_settings(ATTRIBUTES, settings, NOISE) == settings
    (told,) = LAPLACE.byproducts(ATTRIBUTES, settings)
    assert told.origin is Origin.NOISY
    level = LAPLACE.level({"epsilon": 2.0}, ATTRIBUTES, settings)
    assert level + settings["bounds_epsilon"] == pytest.approx(2.0)
    assert LAPLACE.odds_factor(level, ATTRIBUTES, settings) == pytest.approx(math.exp(2.0))


def test_one_record_far_out_does_not_move_measured_bounds():
    values = np.append(AGES.values, 1e9)
    (column,) = number_columns(age=values)
    settings = LAPLACE.first_settings((column.attribute,), NOISE)
    assert settings["highest"] == 100


def test_numbers_at_a_round_one_are_bounded_by_it():
    (column,) = number_columns(days=np.tile([1.0, 3.0, 50.0], 3000))
    settings = LAPLACE.first_settings((column.attribute,), NOISE)
    assert (settings["lowest"], settings["highest"], settings["step"]) == (1, 50, 1)


def test_measured_bounds_lie_whole_steps_apart_where_some_numbers_are_tiny():
    shares = np.random.default_rng(5).choice([-0.000002, 0.3, 40.0, 90.0], 5_000)
    (column,) = number_columns(share=shares)
    settings = LAPLACE.first_settings((column.attribute,), NOISE)
    assert (settings["lowest"], settings["highest"], settings["step"]) == (-1, 100, 1)
    assert grid_of(settings).steps == 101


def test_too_few_records_to_measure_bounds_are_refused_with_what_to_do():
    (column,) = number_columns(age=[30, 40, 50])
    with pytest.raises(PolicyError, match="can't be measured") as refused:
        LAPLACE.first_settings((column.attribute,), NOISE)
    assert "State the bounds" in refused.value.remedy


def test_stated_bounds_cost_nothing_and_take_a_usual_step():
    settings = LAPLACE.complete_settings(ATTRIBUTES, {"lowest": 0, "highest": 120}, NOISE)
    assert settings == {"lowest": 0, "highest": 120, "step": 1, "bounds": "stated"}
    assert LAPLACE.byproducts(ATTRIBUTES, settings) == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lowest": 95}, "lower bound"),
        ({"step": 0}, "step"),
        ({"step": 3}, "whole number"),
        ({"step": 0.001}, "whole number"),
        ({"highest": "many"}, "not a number"),
        ({"bounds": "guessed"}, "bounds is not one of: noisy, stated"),
        ({"rounding": 1}, "no setting called rounding"),
        ({"lowest": 15 - 1e-14}, "steps|decimal"),
    ],
)
def test_settings_that_make_no_grid_are_refused(change, words):
    with pytest.raises(PolicyError, match=words):
        LAPLACE.check_settings(ATTRIBUTES, {**STATED, **change})


def test_numbers_of_the_grid_are_the_decimal_numbers_that_are_written():
    grid = grid_of({"lowest": -0.3, "highest": 0.7, "step": 0.1})
    wanted = [-0.5, -0.4, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.7]
    assert grid.numbers(np.array([-2, -1, 0, 1, 2, 3, 4, 5, 6, 10])).tolist() == wanted
    assert grid.places(np.array([-5.0, -0.3, 0.04, 0.06, 9.0])).tolist() == [0, 0, 3, 4, 10]


def test_only_one_column_of_numbers_is_taken():
    with pytest.raises(PolicyError, match="one attribute"):
        LAPLACE.check_attributes(attributes_of([AGES, INCOMES]))


# ----- levels and the promise


@pytest.mark.parametrize("statement", [{"epsilon": 1.0}, {"gamma": 20.0}, {"noise_spread": 30.0}])
def test_a_level_stated_in_any_term_is_found_again(statement):
    level = LAPLACE.level(statement, ATTRIBUTES, STATED)
    restated = LAPLACE.restate(level, ATTRIBUTES, STATED)
    for other in restated.values():
        if set(other) & {"epsilon", "gamma", "noise_spread"}:
            assert LAPLACE.level(other, ATTRIBUTES, STATED) == pytest.approx(level, rel=1e-9)
    (name,) = statement
    found = [each[name] for each in restated.values() if name in each]
    assert found == pytest.approx([statement[name]])


def test_limits_on_belief_mean_the_loss_of_their_odds():
    level = LAPLACE.level({"rho1": 0.1, "rho2": 0.5}, ATTRIBUTES, STATED)
    assert level == pytest.approx(math.log(9))


def test_a_loss_that_the_bounds_use_up_is_refused():
    settings = {**STATED, "bounds": "noisy", "bounds_epsilon": 0.5}
    with pytest.raises(LevelError, match="too little"):
        LAPLACE.level({"epsilon": 0.5}, ATTRIBUTES, settings)


def test_the_promise_is_what_the_law_in_hand_gives():
    level = 1.5
    law = LaplaceLaw(level, 80).released(100)
    worst = (law.max(axis=1) / law.min(axis=1)).max()
    (gamma,) = (
        f.value for f in LAPLACE.promise(level, ATTRIBUTES, STATED).facts if f.symbol == "γ"
    )
    assert worst < gamma < worst * 1.01
    assert "at most 4.5" in str(LAPLACE.promise(level, ATTRIBUTES, STATED).sentence)


@pytest.mark.parametrize("highest", [90, 9_000_000])
def test_the_noise_is_told_in_digits_that_people_read(highest):
    settings = STATED | {"lowest": 0, "highest": highest, "step": highest // 90}
    told = LAPLACE.published(1.0, ATTRIBUTES, settings).values["noise_spread"]
    assert float(told.replace(",", "")) == pytest.approx(math.sqrt(2) * highest, rel=0.01)
    assert "e" not in told


def test_rows_of_a_unit_share_its_loss():
    assert LAPLACE.shared(2.0, 4, ATTRIBUTES, STATED) * 4 == 2.0
    with pytest.raises(LevelError):
        LAPLACE.shared(0.02, 2, ATTRIBUTES, STATED)


# ----- releases


def test_levels_in_any_order_and_any_part_of_the_rows_show_the_same():
    first = {level: released(level).columns["age"] for level in (4.0, 1.0, 0.25)}
    for level in (0.25, 4.0, 1.0):
        pd.testing.assert_series_equal(released(level).columns["age"], first[level])
    asked = request([AGES], STATED, 1.0).at(slice(100, 200))
    part = LAPLACE.release(asked, Silent())["age"]
    assert part.tolist() == first[1.0][100:200].tolist()


def test_missing_numbers_stay_missing_and_those_outside_become_the_bound():
    (column,) = number_columns(age=[np.nan, -400.0, 15.0, 30.0])
    (clipped,) = number_columns(age=[np.nan, 15.0, 15.0, 30.0])
    shown = released(2.0, column=column).columns["age"]
    assert shown.isna().tolist() == [True, False, False, False]
    assert str(shown.dtype) == "Int64"
    pd.testing.assert_series_equal(shown, released(2.0, column=clipped).columns["age"])


def test_sound_releases_and_pairs_pass_their_checks():
    upper, lower = released(4.0), released(0.5)
    asked = request([AGES], STATED, 4.0)
    for each in (upper, lower):
        checks = LAPLACE.check_release(replace(asked, level=each.level), each)
        assert all(check.holds for check in checks), checks
    for pair in ((upper, lower), (lower, upper), (upper, upper)):
        checks = LAPLACE.check_pair(*pair, ATTRIBUTES, STATED)
        assert all(check.holds for check in checks), checks


def failing(checks):
    return [check.title for check in checks if not check.holds]


def test_noise_of_another_level_or_ladder_is_found():
    asked, upper = request([AGES], STATED, 4.0), released(4.0)
    wrong = Released(4.0, released(2.0).columns)
    assert failing(LAPLACE.check_release(asked, wrong)) == [
        "Size, shape and independence of the noise"
    ]
    ids = np.arange(len(AGES.values)) + 10**6
    apart = released(2.0, ids=ids)
    assert failing(LAPLACE.check_pair(upper, apart, ATTRIBUTES, STATED))
    off = Released(4.0, {"age": upper.columns["age"] + 0.5})
    assert failing(LAPLACE.check_release(asked, off)) == ["Released values"]
    tied = AGES.values + np.where(AGES.values > 40, 1, -1) * np.abs(
        upper.columns["age"] - AGES.values
    )
    assert failing(LAPLACE.check_release(asked, Released(4.0, {"age": tied.round().astype(int)})))


# ----- what attackers make of it


def test_pooled_on_the_ladder_copies_tell_what_the_best_one_tells():
    pool = Pool(LAPLACE, STATED, tuple(ATTRIBUTES), (8.0, 4.0, 2.0, 1.0))
    errors = expected_by_copies(pool)
    assert errors[Dependence.LADDER] == pytest.approx(errors[Dependence.LADDER][0])
    assert errors[Dependence.INDEPENDENT][-1] < errors[Dependence.INDEPENDENT][0]
    experiment = make_experiment(pool, 1500, Silent())
    true = experiment.true[0]
    for how in experiment.copies:
        off = np.square(guesses(experiment, how, Attacker())[0] - true).mean() / true.var()
        assert off == pytest.approx(errors[how][-1], abs=0.05)
    found = bayes_experiment(experiment, 800, Silent())
    best = found.growth[Dependence.LADDER].errors[:, 0]
    assert best == pytest.approx(best[0])
    assert found.growth[Dependence.INDEPENDENT].errors[-1, 0] < best[0] < found.linear[0, 0] + 0.03


def test_the_best_attacker_s_width_is_between_nothing_and_the_noise():
    numbers = AGES.values[np.newaxis]
    widths = [
        LAPLACE.widths_in_table(level, numbers, ATTRIBUTES, STATED)[0] for level in (60, 8, 1)
    ]
    assert widths == sorted(widths)
    assert widths[0] < LAPLACE.noise_law(60, ATTRIBUTES, STATED).half_widths(0.9)[0] + 1
    assert "age within" in str(LAPLACE.in_table(8.0, ATTRIBUTES, STATED))
