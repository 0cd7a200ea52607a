"""How numbers vary, measured with noise: what it costs, what it finds, and that it is private."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.mechanisms.base import Origin
from sfumato.engine.mechanisms.gaussian.promise import right_guesses
from sfumato.engine.mechanisms.gaussian.settings import measure_covariance, usual_epsilon
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from tests.engine.numbers import GAUSSIAN, attributes_of, number_columns, stated_settings
from tests.noise import NOISE


class Recorded(KeyedNoise):
    """Adds no noise, and writes down what is asked."""

    def __init__(self):
        super().__init__(KeyRing(bytes(32)))
        self.asked = []

    def integers(self, what, exact, sensitivity, epsilon):
        values = tuple(int(value) for value in exact)
        self.asked.append((what, values, sensitivity, epsilon))
        return values


class Replayed(Recorded):
    """Answers what another table's noise made of the same questions, so that both go one way."""

    def __init__(self, answers):
        super().__init__()
        self._answers = iter(answers)

    def integers(self, what, exact, sensitivity, epsilon):
        super().integers(what, exact, sensitivity, epsilon)
        return next(self._answers)


def table(rows=400, seed=1, size=2):
    draw = np.random.default_rng(seed)
    common = draw.normal(size=rows)
    return np.array([np.exp(common + draw.normal(size=rows)) * 10.0**k for k in range(size)])


def asked(numbers, answers=None, epsilon=2.0):
    noise = Recorded() if answers is None else Replayed(answers)
    columns = number_columns(**{f"x{place}": column for place, column in enumerate(numbers)})
    measure_covariance(attributes_of(columns), epsilon, noise)
    return noise.asked


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("worst", ["other", "huge", "zero", "mirrored", "infinitely far"])
def test_one_replaced_record_moves_no_question_further_than_is_said(size, worst):
    numbers = table(size=size)
    before = asked(numbers)
    answers = [values for _, values, _, _ in before]
    for record in (0, 17, 399):
        changed = numbers.copy()
        changed[:, record] = {
            "other": numbers[:, (record + 5) % 400],
            "huge": np.full(size, 1e30),
            "zero": np.zeros(size),
            "mirrored": -5.0 * numbers[:, record],
            "infinitely far": np.where(np.arange(size) % 2, 1e308, -1e308),
        }[worst]
        after = asked(changed, answers)
        assert [each[0] for each in after] == [each[0] for each in before]
        for (what, one, bound, _), (_, other, same, _) in zip(before, after, strict=True):
            assert bound == same
            moved = np.abs(np.array(one) - np.array(other))
            # Of the scores of sizes only the best place is used: each score moves by half at most.
            assert (moved.max() <= bound / 2) if "size" in what else (moved.sum() <= bound)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_parts_add_up_to_the_whole_loss(size):
    for epsilon in (0.5, 2.0, 20.0):
        asked_for = asked(table(rows=8_000, size=size), epsilon=epsilon)
        spent = sum(part for _, _, _, part in asked_for)
        assert spent == pytest.approx(epsilon)
        assert spent <= epsilon * (1 + 1e-12)


def test_the_bound_on_signs_is_that_of_all_sign_patterns():
    for size in (2, 3, 4):
        patterns = list(itertools.product((-1, 0, 1), repeat=size))
        upper = np.triu_indices(size, 1)
        products = np.array([np.outer(p, p)[upper] for p in patterns])
        worst = max(np.abs(products - other).sum(axis=1).max() for other in products)
        assert worst <= size**2 // 2


def test_the_same_table_and_key_give_the_same_covariance_and_others_another():
    columns = attributes_of(number_columns(x=table(size=1)[0]))
    one = measure_covariance(columns, 1.0, NOISE).covariance
    assert measure_covariance(columns, 1.0, NOISE).covariance == one
    other_key = KeyedNoise(KeyRing(bytes([9]) * 32))
    assert measure_covariance(columns, 1.0, other_key).covariance != one
    moved = table(size=1)[0]
    moved[3] += 1.0
    other = measure_covariance(attributes_of(number_columns(x=moved)), 1.0, NOISE)
    assert other.covariance != one


@pytest.mark.slow
def test_two_tables_that_differ_in_a_record_give_results_of_nearly_equal_probability():
    """Events that the spread is above some number, over 600 keys for each table.

    Their probabilities may differ by e^0.9 at most. The logarithm of a share of 0.2 has a standard
    error of 0.08, that of a ratio 0.12, so that 0.25 more are 2 of them; the keys are fixed, so
    there is no false alarm.
    """
    numbers = np.random.default_rng(4).normal(50.0, 10.0, 300)
    changed = numbers.copy()
    changed[7] = 1e6

    def spreads(column):
        attributes = attributes_of(number_columns(x=column))
        rings = (KeyedNoise(KeyRing(k.to_bytes(2) * 16)) for k in range(600))
        return np.array([_spread(attributes, ring) for ring in rings])

    def _spread(attributes, ring):
        try:
            return float(measure_covariance(attributes, 0.9, ring).covariance[0, 0])
        except PolicyError:
            return 0.0

    one, other = spreads(numbers), spreads(changed)
    for cut in np.quantile(one, [0.2, 0.5, 0.8]):
        shares = [np.clip((side > cut).mean(), 0.02, 0.98) for side in (one, other)]
        assert abs(math.log(shares[0] / shares[1])) < 0.9 + 0.25
        assert abs(math.log((1 - shares[0]) / (1 - shares[1]))) < 0.9 + 0.25


@pytest.mark.parametrize(("rows", "within"), [(1_000, 0.4), (10_000, 0.25)])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_normal_numbers_are_measured_well(rows, within, size):
    draw = np.random.default_rng(rows + size)
    shape = np.full((size, size), 0.5) + 0.5 * np.eye(size)
    numbers = draw.multivariate_normal(np.full(size, 50.0), 100.0 * shape, rows).T
    attributes = attributes_of(number_columns(**{f"x{k}": c for k, c in enumerate(numbers)}))
    found = measure_covariance(attributes, usual_epsilon(rows, size), NOISE).covariance
    spreads = np.sqrt(np.diag(found))
    assert spreads == pytest.approx(np.full(size, 10.0), rel=within)
    correlation = found / np.outer(spreads, spreads)
    assert correlation == pytest.approx(shape, abs=0.35)
    assert np.linalg.eigvalsh(correlation)[0] >= 0.009


def test_columns_that_are_one_and_the_same_keep_noise_of_their_own():
    column = np.random.default_rng(5).normal(0, 1, 2000)
    attributes = attributes_of(number_columns(a=column, b=column * 3))
    found = measure_covariance(attributes, 1.0, NOISE).covariance
    spreads = np.sqrt(np.diag(found))
    assert np.linalg.eigvalsh(found / np.outer(spreads, spreads))[0] >= 0.009


def test_sorted_tables_far_from_zero_and_with_gaps_are_measured_as_others_are():
    draw = np.random.default_rng(6)
    years = np.sort(draw.normal(1.7e9, 1e7, 4000))
    other = draw.normal(0, 1, 4000)
    other[::7] = np.nan
    attributes = attributes_of(number_columns(born=years, other=other))
    spreads = np.sqrt(np.diag(measure_covariance(attributes, 1.0, NOISE).covariance))
    assert spreads == pytest.approx([1e7, 1.0], rel=0.3)


def test_a_table_too_small_for_its_loss_is_refused_with_what_to_do():
    attributes = attributes_of(number_columns(x=np.arange(40.0)))
    with pytest.raises(PolicyError, match="Too few records differ in x") as refused:
        measure_covariance(attributes, 0.1, NOISE)
    assert "State the spread" in refused.value.remedy
    mostly_zero = np.zeros(5000)
    mostly_zero[:3] = 7.0
    with pytest.raises(PolicyError, match="Too few records differ"):
        measure_covariance(attributes_of(number_columns(x=mostly_zero)), 0.1, NOISE)


def test_the_usual_loss_shrinks_with_the_table():
    losses = [usual_epsilon(rows, 2) for rows in (50, 500, 5_000, 50_000)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == 0.1


# ----- what the promise makes of it


def test_the_published_covariance_is_counted_in_what_is_promised():
    columns = number_columns(x=np.random.default_rng(7).normal(50, 10, 2000))
    attributes = attributes_of(columns)
    noisy = GAUSSIAN.first_settings(attributes, NOISE)
    stated = {"measured": "stated", "covariance": noisy["covariance"]}
    loss = noisy["measured_epsilon"]
    assert GAUSSIAN.byproduct_epsilon(noisy) == loss
    assert GAUSSIAN.byproduct_epsilon(stated) == 0.0
    (told,) = GAUSSIAN.byproducts(attributes, noisy)
    assert told.origin is Origin.NOISY
    assert GAUSSIAN.byproducts(attributes, stated) == ()
    promise = GAUSSIAN.promise(1.0, attributes, noisy)
    assert any(f"ε0 = {loss:g}" in limit for limit in promise.limits)
    figures = {fact.title: fact.value for fact in promise.facts}
    assert figures["Privacy loss of the noise's size"] == loss
    plain = {f.title: f.value for f in GAUSSIAN.promise(1.0, attributes, stated).facts}
    assert figures["Told apart 3 times in 4: x"] < plain["Told apart 3 times in 4: x"]


@pytest.mark.parametrize("loss", [0.0, 0.1, 0.5, 1.0])
def test_no_guess_after_a_published_covariance_is_right_more_often_than_is_said(loss):
    """The worst by-product there is: it names the likelier of two values as e^ε0 allows.

    Over 200,000 draws a share has a standard error of 0.001; 0.005 is more than 4 of them.
    """
    draw = np.random.default_rng(8)
    likelier = 1.0 / (1.0 + math.exp(-loss))
    for apart in (0.5, 1.0, 2.0):
        truth = draw.integers(0, 2, 200_000)
        hint = np.where(draw.random(200_000) < likelier, truth, 1 - truth)
        shown = truth * apart + draw.normal(size=200_000)
        evidence = apart * (shown - apart / 2.0) + np.where(hint == 1, loss, -loss)
        right = np.mean((evidence > 0) == (truth == 1))
        assert right == pytest.approx(right_guesses(apart, loss), abs=0.005)


def test_exact_moments_of_an_old_project_are_named_as_a_danger():
    attributes = attributes_of(number_columns(x=np.arange(500.0)))
    old = {"noise": "proportional", "publish_covariance": True, "mean": [249.5]}
    old["covariance"] = stated_settings(attributes)["covariance"]
    assert GAUSSIAN.byproduct_epsilon(old) == math.inf
    promise = GAUSSIAN.promise(1.0, attributes, old)
    assert "anyone who knows all other records can" in promise.sentence
    assert "nobody can tell" not in promise.sentence
    assert GAUSSIAN.complete_settings(attributes, old, NOISE) == old
    kept = {k: v for k, v in old.items() if k not in ("covariance", "mean")}
    again = GAUSSIAN.complete_settings(attributes, kept, NOISE)
    assert again["measured"] == "noisy"
    assert "mean" not in again


def test_spreads_can_be_stated_without_asking_the_table():
    attributes = attributes_of(number_columns(x=[1.0, 2.0], y=[5.0, 5.5]))
    made = GAUSSIAN.complete_settings(attributes, {"spreads": {"x": 10, "y": 2.5}}, Recorded())
    assert made["covariance"] == [[100.0, 0.0], [0.0, 6.25]]
    assert made["measured"] == "stated"
    with pytest.raises(PolicyError, match="No spread above 0 is stated for y"):
        GAUSSIAN.complete_settings(attributes, {"spreads": {"x": 10}}, NOISE)


@pytest.mark.slow
def test_no_size_is_wrong_by_orders_of_magnitude_in_300_tables():
    draw = np.random.default_rng(3)
    attributes = attributes_of(number_columns(x=draw.normal(50.0, 10.0, 1_000)))
    found = []
    for seed in range(300):
        noise = KeyedNoise(KeyRing(seed.to_bytes(2, "big") * 16))
        try:
            measured = measure_covariance(attributes, usual_epsilon(1_000, 1), noise)
        except PolicyError:
            continue  # refused, because too few seemed to differ
        found.append(math.sqrt(measured.covariance[0, 0]))
    assert len(found) > 285
    assert 4.0 < min(found) < max(found) < 20.0
