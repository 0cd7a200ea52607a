"""What rounding and bounds tell a coalition by Bayes' rule."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from sfumato.engine.core.errors import EstimationError, LevelError
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms.gaussian.checks import reach
from sfumato.engine.mechanisms.gaussian.rounding_leakage import likelihoods, rounding_leak
from sfumato.engine.mechanisms.gaussian.settings import NumberForm


def numeric_likelihood(shown, levels, form, atom):
    """The chance of two rounded numbers of a ladder, by integrating numerically."""
    first, second = math.sqrt(levels[0]), math.sqrt(levels[1] - levels[0])
    half = form.step / 2

    def ends(number):
        low = -np.inf if form.lowest is not None and number <= form.lowest else number - half
        high = np.inf if form.highest is not None and number >= form.highest else number + half
        return low, high

    low, high = ends(shown[1])

    def inside(y):
        step = stats.norm(y, second)
        return stats.norm.pdf(y, atom, first) * (step.cdf(high) - step.cdf(low))

    low_first, high_first = ends(shown[0])
    start, end = max(low_first, atom - 9 * first), min(high_first, atom + 9 * first)
    return integrate.quad(inside, start, end, limit=200, points=[(start + end) / 2])[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("levels", "form"),
    [
        ([1.0, 2.0], NumberForm(1.0)),
        ([1.0, 1.05], NumberForm(1.0)),
        ([0.04, 0.05], NumberForm(2.0)),
        ([1.0, 1.5], NumberForm(1.0, -1.0, 2.0)),
        ([4.0, 4.004], NumberForm(2.0)),
    ],
)
def test_the_likelihood_of_rounded_numbers_is_their_integral(levels, form):
    atoms = np.array([-0.3, 0.0, 0.4])
    shown = np.array([[0.0, 1.0, -1.0, 2.0], [0.0, 0.0, -1.0, 2.0]])
    shown = form.apply(shown * (form.step if form.lowest is None else 1.0))
    found = likelihoods(shown, 1.0, levels, form, atoms)
    found /= found.sum(axis=1, keepdims=True)
    for row in range(shown.shape[1]):
        wanted = np.array([numeric_likelihood(shown[:, row], levels, form, a) for a in atoms])
        if wanted.max() > 1e-9:
            assert found[row] == pytest.approx(wanted / wanted.sum(), abs=0.01), shown[:, row]


def ages(rows=3000):
    draw = np.random.default_rng(3)
    return np.clip(draw.normal(40, 13, rows), 17, 90).round()


@pytest.mark.slow
@pytest.mark.parametrize("step", [30.0, 1.0])
def test_a_leak_lies_between_the_best_rounded_copy_and_the_best_unrounded_one(step):
    found = rounding_leak(ages(), 13.0, [1.0, 0.25, 0.5, 2.0], NumberForm(step), Silent())
    assert found.records == 2000
    slack = 4.5 * found.error + 1e-3
    assert found.plain <= found.together + slack
    assert found.together <= found.best + slack
    assert found.leak == found.best - found.together
    if step == 30.0:
        assert found.leak > 4.5 * found.error
        assert found.leak > 0.03
    else:
        assert abs(found.leak) < 1e-3


def test_one_copy_alone_leaks_nothing_and_missing_numbers_are_left_out():
    numbers = ages(300)
    numbers[::3] = np.nan
    form = NumberForm(5.0, 17.0, 90.0)
    found = rounding_leak(numbers, 13.0, [0.5, 0.5], form, Silent())
    assert found.leak == 0.0
    assert found.records == 200
    assert found.plain == pytest.approx(found.best, abs=0.02)


def test_there_has_to_be_a_copy_and_a_number():
    with pytest.raises(EstimationError, match="nothing to measure"):
        rounding_leak(ages(), 13.0, [], NumberForm(1.0), Silent())
    with pytest.raises(EstimationError, match="nothing to measure"):
        rounding_leak(np.array([np.nan]), 13.0, [1.0], NumberForm(1.0), Silent())
    with pytest.raises(LevelError):
        rounding_leak(ages(), 13.0, [0.0], NumberForm(1.0), Silent())


def chances_on_a_grid(shown, levels, form, atoms):
    """Posterior of some true numbers, all equally likely, by summing over fine grids."""
    steps = np.sqrt(np.diff([0.0, *levels]))
    far = 12.0 * math.sqrt(levels[-1])
    low, high = reach(shown, form)
    low, high = np.maximum(low, atoms.min() - far), np.minimum(high, atoms.max() + far)
    places, ahead = np.linspace(low[-1], high[-1], 601), np.ones(601)
    for copy in range(len(levels) - 2, -1, -1):
        here = np.linspace(low[copy], high[copy], 601)
        steps_on = stats.norm.pdf(places, here[:, None], steps[copy + 1]) * ahead
        places, ahead = here, np.trapezoid(steps_on, places, axis=1)
    first = stats.norm.pdf(places, atoms[:, None], steps[0]) * ahead
    likelihood = np.trapezoid(first, places, axis=1)
    return likelihood / likelihood.sum()


FORMS = [
    NumberForm(None, 0.5),
    NumberForm(None, None, -0.5),
    NumberForm(1.0, -0.3, 1.7),
    NumberForm(3.0),
    NumberForm(8.0, 1.0),
]


@pytest.mark.few(8)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("levels", [[0.01], [0.01, 0.02, 1.0], [0.05, 0.25], [0.5, 1.0, 4.0]])
def test_bounds_and_steps_of_any_size_are_reckoned_with(form, levels):
    """Also bounds among the true numbers, far beyond which the noise alone does not reach."""
    draw = np.random.default_rng(8)
    atoms = np.array([-2.1, -0.4, 0.3, 0.9, 2.6])
    true = atoms
    steps = np.sqrt(np.diff([0.0, *levels]))[:, np.newaxis]
    noise = np.cumsum(steps * draw.normal(size=(len(levels), 5)), axis=0)
    shown = form.apply(true + noise)
    if form.step is None:  # all that is not a point is behind the bound
        bound = form.lowest if form.highest is None else form.highest
        shown = shown[:, (shown == bound).all(axis=0)]
    found = likelihoods(shown, 1.0, levels, form, atoms)
    found /= found.sum(axis=1, keepdims=True)
    assert len(found)
    for row, chances in enumerate(found):
        wanted = chances_on_a_grid(shown[:, row], levels, form, atoms)
        assert chances == pytest.approx(wanted, abs=0.01), shown[:, row]


@pytest.mark.slow
def test_where_the_numbers_lie_does_not_matter():
    """Moments of time, in seconds since 1970, that differ by minutes."""
    form, times = NumberForm(60.0, -120.0), 13.0 * (ages(900) - 40.0)
    found = rounding_leak(times, 170.0, [0.1, 0.5], form, Silent())
    later = NumberForm(60.0, 1.7e9 - 140.0)  # 1.7e9 lies 20 above a multiple of 60
    moved = rounding_leak(times + 1.7e9 - 20.0, 170.0, [0.1, 0.5], later, Silent())
    assert moved.best == pytest.approx(found.best, abs=0.02)
    assert moved.together == pytest.approx(found.together, abs=0.02)
    assert found.best > 1.5 * found.plain
