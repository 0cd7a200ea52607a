"""The joint linear estimate: the paper's worked example, its theorems, and attacks on a table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import EstimationError, LevelError, PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.gaussian_attack import (
    Dependence,
    between_copies,
    estimate,
    expected_errors,
    joint_weights,
    learned_moments,
    learned_weights,
)
from sfumato.engine.ladders.brownian import on_grid
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.gaussian.promise import Uncertainty
from sfumato.engine.mechanisms.gaussian.settings import (
    CovarianceSource,
    GaussianSettings,
    NoiseDependence,
    NumberForm,
)
from sfumato.engine.mechanisms.postprocessing import (
    Attacker,
    Pool,
    bayes_experiment,
    complete_records,
    expected_by_copies,
    make_experiment,
    simulated_copies,
)
from tests.benchmarks.gaussian_figures import found_by_copies, found_errors
from tests.engine.numbers import GAUSSIAN, attributes_of, number_columns, stated_settings
from tests.thorough import tried

LADDER, INDEPENDENT, LINEAR = Dependence
ONE = np.array([[1.0]])
LEVELS = st.lists(st.integers(1, 80).map(lambda n: n / 16), min_size=1, max_size=8)


def overall(levels, dependence, covariance=ONE):
    return expected_errors(levels, dependence, covariance, covariance).overall


def random_covariance(seed, size=3):
    root = np.random.default_rng(seed).normal(size=(size, size))
    return root @ root.T + 0.05 * np.eye(size)


# ----- sections 4.2 and 4.3: X = [9, 11], mean 10, variance 1, σ² of 1 and 4


def test_the_worked_example_of_the_paper():
    assert overall([1.0], LADDER) == pytest.approx(0.5)
    assert overall([4.0], LADDER) == pytest.approx(0.8)
    assert overall([1.0, 4.0], INDEPENDENT) == pytest.approx(4 / 9)
    assert overall([1.0, 4.0], LINEAR) == pytest.approx(0.0, abs=1e-12)
    assert overall([1.0, 4.0], LADDER) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("levels", "dependence", "constants", "slopes"),
    [
        ([1.0], LADDER, [9.5, 10.5], [0.5]),
        ([4.0], LADDER, [9.8, 10.2], [0.2]),
        ([1.0, 4.0], INDEPENDENT, [85 / 9, 95 / 9], [4 / 9, 1 / 9]),
        ([1.0, 4.0], LADDER, [9.5, 10.5], [0.5, 0.0]),
    ],
)
def test_the_estimates_of_the_worked_example(levels, dependence, constants, slopes):
    weights = joint_weights(levels, dependence, ONE, ONE)
    assert weights[:, 0, 0] == pytest.approx(slopes, abs=1e-12)
    exact = np.broadcast_to([9.0, 11.0], (len(levels), 1, 2))
    assert estimate(exact, weights, np.array([10.0]))[0] == pytest.approx(constants)


def test_two_linearly_dependent_copies_give_the_numbers_away():
    true, noise = np.array([9.0, 11.0]), np.random.default_rng(1).normal(size=2)
    copies = np.array([[true + noise], [true + 2 * noise]])
    weights = joint_weights([1.0, 4.0], LINEAR, ONE, ONE)
    assert estimate(copies, weights, np.array([10.0]))[0] == pytest.approx([9.0, 11.0])


# ----- the theorems


@settings(deadline=None, max_examples=tried(80))
@given(LEVELS, st.integers(0, 50))
def test_on_a_ladder_a_coalition_knows_what_its_best_member_knows(levels, seed):
    covariance = random_covariance(seed)
    best = min(levels)
    found = expected_errors(levels, LADDER, covariance, covariance)
    assert found.overall == pytest.approx(best / (1 + best), rel=1e-7)
    assert found.normalized == pytest.approx(np.full(3, best / (1 + best)), rel=1e-7)
    assert found.covariance == pytest.approx(best / (1 + best) * covariance, rel=1e-6)


@settings(deadline=None, max_examples=tried(60))
@given(LEVELS, st.integers(0, 50))
def test_it_does_so_with_separate_noise_as_well(levels, seed):
    covariance = random_covariance(seed)
    noise = np.diag(np.diag(covariance))
    found = expected_errors(levels, LADDER, covariance, noise)
    alone = expected_errors([min(levels)], LADDER, covariance, noise)
    assert found.normalized == pytest.approx(alone.normalized, rel=1e-6)


@settings(deadline=None, max_examples=tried(60))
@given(LEVELS)
def test_independent_noise_averages_out(levels):
    """Theorem 3."""
    precision = sum(1 / level for level in levels)
    assert overall(levels, INDEPENDENT) == pytest.approx(1 / (1 + precision), rel=1e-9)


def test_the_structure_of_proportional_noise_gives_what_the_whole_matrix_gives():
    covariance, levels = random_covariance(4), [0.5, 2.0, 1.0]
    nearly = covariance.copy()
    nearly[0, 1] = nearly[1, 0] = nearly[0, 1] * (1 + 1e-13)
    for dependence in (LADDER, INDEPENDENT):
        short = joint_weights(levels, dependence, covariance, covariance)
        whole = joint_weights(levels, dependence, covariance, nearly)
        assert whole == pytest.approx(short, abs=1e-8)


@settings(deadline=None, max_examples=tried(40))
@given(st.floats(0.01, 50.0), st.integers(0, 50), st.sampled_from(NoiseDependence))
def test_what_a_promise_says_is_what_the_attack_leaves(level, seed, noise):
    covariance = random_covariance(seed)
    chosen = GaussianSettings(covariance, CovarianceSource.STATED, 0.0, noise, (NumberForm(),) * 3)
    promised = Uncertainty(chosen).remaining(level)
    found = expected_errors([level], LADDER, covariance, chosen.noise_covariance)
    assert found.normalized == pytest.approx(promised, rel=1e-7)


# ----- attacks on a table


def people(rows=6000):
    draw = np.random.default_rng(2)
    age = np.clip(draw.normal(40, 13, rows).round(), 17, 90)
    return np.array([age, np.exp(draw.normal(3, 0.4, rows)) + 0.3 * age])


TRUE = people()
ORDER = [on_grid(level) for level in (0.9, 0.5, 0.7, 0.3, 1.0, 0.8, 0.6, 0.4)]
PERFECT = Attacker()


def pool(true=TRUE, levels=ORDER, **settings):
    attributes = attributes_of(number_columns(a=true[0], b=true[1]))
    chosen = stated_settings(attributes, **settings)
    return Pool(GAUSSIAN, chosen, attributes, tuple(levels))


EXPERIMENT = make_experiment(pool(), None, Silent())
MOMENTS = EXPERIMENT.pool.moments


def errors(dependence, attacker=PERFECT):
    return found_by_copies(EXPERIMENT, dependence, attacker)


def test_errors_on_a_table_are_those_that_were_computed():
    """With this key, once and for all; sound copies fail for one key in 1,000."""
    for dependence in (LADDER, INDEPENDENT):
        found = errors(dependence)
        for count in range(1, len(ORDER) + 1):
            wanted = overall(ORDER[:count], dependence)
            assert found[count - 1] == pytest.approx([wanted, wanted], rel=0.08)
        expected = expected_by_copies(EXPERIMENT.pool)[dependence]
        assert found.min(axis=1) == pytest.approx(expected, rel=0.08)


def test_on_a_ladder_the_error_falls_only_with_a_better_copy():
    found = errors(LADDER)[:, 0]
    best = np.minimum.accumulate(ORDER)
    alone = {}
    for count, level in enumerate(ORDER):
        alone.setdefault(best[count], found[count])
        assert found[count] == pytest.approx(alone[best[count]], rel=1e-9), level


def test_what_an_attacker_learns_from_a_sample_is_nearly_as_good():
    perfect = errors(INDEPENDENT)
    assert errors(INDEPENDENT, Attacker(400)) == pytest.approx(perfect, rel=0.02)


def test_who_learns_every_covariance_pays_for_further_copies():
    few = errors(INDEPENDENT, Attacker(100, structured=False))[:, 0]
    many = errors(INDEPENDENT, Attacker(1200, structured=False))[:, 0]
    perfect = errors(INDEPENDENT)[:, 0]
    assert (perfect[2:] < many[2:]).all()
    assert (many[2:] < few[2:]).all()


@pytest.mark.parametrize("noise", NoiseDependence)
def test_learned_moments_are_those_of_the_table(noise):
    asked = pool(levels=[0.5], noise=noise.value)
    copy = make_experiment(asked, None, Silent()).copies[LADDER][0]
    learned = learned_moments(copy, 0.5, 6000, asked.noise)
    assert learned.mean == pytest.approx(MOMENTS.mean, rel=0.03)
    assert learned.covariance == pytest.approx(MOMENTS.covariance, rel=0.12)


def test_too_small_samples_are_refused():
    copies = np.zeros((2, 2, 50))
    copies[:, :, 3:] = np.nan
    with pytest.raises(EstimationError, match="3 complete records are too few"):
        learned_weights(copies, [1.0, 2.0], 400)
    with pytest.raises(EstimationError, match="2 complete records"):
        learned_moments(copies[0], 1.0, 2, np.eye(2))


def test_the_copies_of_an_experiment_hang_together_as_stated():
    for dependence, copies in EXPERIMENT.copies.items():
        noise = (copies - TRUE)[:, 0] / MOMENTS.spreads[0]
        found = noise @ noise.T / TRUE.shape[1]
        assert found == pytest.approx(between_copies(ORDER, dependence), abs=0.07)


def test_copies_are_rounded_and_bounded_as_releases_are():
    asked = pool(rounding={"a": 5.0}, lowest={"a": 20.0})
    found = make_experiment(asked, 500, Silent())
    assert found.true.shape == (2, 500)
    for copies in found.copies.values():
        assert (copies[:, 0] % 5.0 == 0.0).all()
        assert copies[:, 0].min() == 20.0


def test_an_experiment_on_who_knows_the_distribution_finds_the_ladder_sound():
    ordered = make_experiment(pool(levels=sorted(ORDER)), 600, Silent())
    found = bayes_experiment(ordered, 300, Silent())
    assert found.records == 300
    assert found.growth[LADDER].apart < 1e-9
    assert found.growth[INDEPENDENT].errors[-1].max() < 0.8 * found.growth[LADDER].errors[-1].min()
    assert found.linear == pytest.approx(np.full((8, 2), 0.3 / 1.3), rel=0.1)


def test_incomplete_records_are_left_out_of_an_experiment():
    holes = TRUE.copy()
    holes[1, ::3] = np.nan
    attributes = attributes_of(number_columns(a=holes[0], b=holes[1]))
    assert complete_records(attributes).shape == (2, 4000)
    assert complete_records(attributes, 100).shape == (2, 100)


def test_an_experiment_needs_a_mechanism_with_noise():
    uniform = mechanism_called("uniform")
    asked = Pool(uniform, {}, EXPERIMENT.pool.attributes, (0.5,))
    with pytest.raises(PolicyError, match="Nothing is known of the noise on a, b"):
        expected_by_copies(asked)


def test_missing_numbers_are_left_out():
    asked = pool()
    copies = simulated_copies(GAUSSIAN, asked.attributes, asked.settings, TRUE, [1.0], Silent())
    holes = TRUE.copy()
    holes[1, ::3] = np.nan
    copies = copies + np.where(np.isnan(holes), np.nan, 0.0)
    weights = joint_weights([1.0], LADDER, MOMENTS.covariance, MOMENTS.covariance)
    guessed = estimate(copies, weights, MOMENTS.mean)
    assert found_errors(holes, guessed) == pytest.approx([0.5, 0.5], abs=0.04)


def test_a_coalition_needs_a_copy_with_a_sound_level():
    with pytest.raises(EstimationError, match="no copy"):
        overall([], LADDER)
    with pytest.raises(LevelError):
        overall([1.0, 0.0], LADDER)
