"""How closely 90 of 100 numbers of a table can be told, against attackers of their own code."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.engine.disclosure.noise_law import NoiseLaw, width_without, widths_with
from tests.engine.numbers import GAUSSIAN, attributes_of, number_columns

ROWS = 3000
MARGIN = 0.06
"""The trial has 700 records for the table's 3,000 and 300 releases: quantiles of such samples are
off by 2 % (one standard deviation). All draws are seeded, so the tests never fail by chance."""


def companies(rows=ROWS, seed=11):
    """Sales of companies: most are small, a few as large as all others together."""
    draw = np.random.default_rng(seed)
    staff = np.ceil(np.exp(draw.normal(1.5, 1.3, rows)))
    return staff * np.exp(draw.normal(11.0, 0.6, rows))


def ninety(errors):
    return float(np.sort(np.abs(errors))[int(np.ceil(0.9 * len(errors))) - 1])


def posterior_on_grid(shown, spread, numbers, cells=1200):
    """A posterior from a histogram of equally full cells: another way than the product's."""
    edges = np.quantile(numbers, np.linspace(0.0, 1.0, cells + 1))
    middles = (edges[1:] + edges[:-1]) / 2.0
    odds = -0.5 * ((shown[:, None] - middles) / spread) ** 2
    chances = np.exp(odds - odds.max(axis=1, keepdims=True))
    return middles, chances / chances.sum(axis=1, keepdims=True)


def guesses_of(shown, spread, numbers, width):
    """What different attackers guess, by name."""
    middles, chances = posterior_on_grid(shown, spread, numbers)
    below = np.cumsum(chances, axis=1)
    median = middles[np.argmax(below >= 0.5, axis=1)]
    # Where an interval of the stated width is most probable, by trying centres one by one.
    centres = np.unique(np.quantile(numbers, np.linspace(0.0, 0.999, 250)))
    inside = np.abs(middles - centres[:, None]) <= width
    best = centres[np.argmax(chances @ inside.T.astype(float), axis=1)]
    gain = numbers.var() / (numbers.var() + spread**2)
    return {
        "linear": numbers.mean() + gain * (shown - numbers.mean()),
        "as shown": shown,
        "posterior mean": chances @ middles,
        "posterior median": median,
        "most probable interval": best,
    }


@pytest.mark.few(1)
@pytest.mark.parametrize("level", [0.25, 1.0, 4.0])
def test_no_attacker_tells_a_skewed_column_more_closely_than_is_said(level):
    numbers = companies()
    spread = np.sqrt(level) * numbers.std()
    (stated,) = widths_with(numbers[np.newaxis], NoiseLaw(np.array([[spread**2]])))
    draw = np.random.default_rng(5)
    shown = numbers + draw.normal(0.0, spread, ROWS)
    found = {
        name: ninety(g - numbers) for name, g in guesses_of(shown, spread, numbers, stated).items()
    }
    assert min(found.values()) > (1.0 - MARGIN) * stated
    # It is no empty figure: the best of these attackers comes about as close, far closer than
    # the linear estimate, for which a normal distribution would promise 1.645 standard errors.
    assert min(found.values()) < 1.15 * stated
    normal = 1.645 * numbers.std() * np.sqrt(level / (1.0 + level))
    assert stated < 0.5 * normal


def test_without_a_release_the_shortest_interval_that_holds_90_percent_counts():
    numbers = companies(500)
    lengths = [
        np.sort(numbers)[start + 449] - np.sort(numbers)[start] for start in range(500 - 449)
    ]
    assert width_without(numbers) == pytest.approx(min(lengths) / 2.0)
    with_gaps = np.concatenate([numbers, [np.nan] * 50])
    assert width_without(with_gaps) == width_without(numbers)


def test_normal_numbers_have_the_widths_of_theory():
    numbers = np.random.default_rng(3).normal(50.0, 10.0, 20_000)
    for level in (0.25, 1.0, 4.0):
        (stated,) = widths_with(numbers[np.newaxis], NoiseLaw(np.array([[100.0 * level]])))
        assert stated == pytest.approx(16.45 * np.sqrt(level / (1.0 + level)), rel=0.03)
    assert width_without(numbers) == pytest.approx(16.45, rel=0.02)


def test_values_that_lie_far_apart_are_told_exactly_and_correlated_columns_help():
    few = np.random.default_rng(1).choice([0.0, 1000.0], 400)
    assert widths_with(few[np.newaxis], NoiseLaw(np.array([[2500.0]])))[0] < 0.1
    draw = np.random.default_rng(2)
    one = draw.normal(0.0, 1.0, 5000)
    other = one + draw.normal(0.0, 0.1, 5000)
    alone = widths_with(one[np.newaxis], NoiseLaw(np.eye(1)))
    both = widths_with(np.array([one, other]), NoiseLaw(np.eye(2)))
    assert both[0] < 0.9 * alone[0]


def test_tables_without_a_complete_record_and_single_records_have_answers():
    gaps = np.array([[1.0, np.nan], [np.nan, 2.0]])
    assert np.isnan(widths_with(gaps, NoiseLaw(np.eye(2)))).all()
    assert widths_with(np.array([[7.0]]), NoiseLaw(np.eye(1))) == pytest.approx([0.0])


def test_what_is_said_of_the_table_is_in_no_promise_and_in_nothing_published():
    columns = number_columns(sales=companies())
    attributes = attributes_of(columns)
    variance = float(columns[0].values.var())
    settings = {"mean": [0.0], "covariance": [[variance]]}
    told = GAUSSIAN.in_table(1.0, attributes, settings)
    assert "In this table" in told
    assert "90 in 100 people's sales within ±" in told
    # Another table under the same settings changes what is said here, and nothing that goes out.
    other = attributes_of(number_columns(sales=companies(seed=12)))
    assert GAUSSIAN.in_table(1.0, other, settings) != told
    assert GAUSSIAN.promise(1.0, other, settings) == GAUSSIAN.promise(1.0, attributes, settings)
    assert GAUSSIAN.published(1.0, other, settings) == GAUSSIAN.published(1.0, attributes, settings)
