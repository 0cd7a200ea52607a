"""Gaussian noise beside copies that were released elsewhere: fitted between, and examined."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.engine.core.errors import LadderError, LevelError
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms.base import Adopted
from sfumato.engine.mechanisms.gaussian.release import (
    find_noise,
    form_of,
    open_share,
    roundest,
)
from sfumato.engine.mechanisms.gaussian.settings import NumberForm
from tests.engine.numbers import GAUSSIAN, attributes_of, people, released, stated_settings

PEOPLE = people()
BOTH = attributes_of(PEOPLE)
PROPORTIONAL = stated_settings(BOTH)
TRUE = np.array([column.values for column in PEOPLE])
ROWS = TRUE.shape[1]


def shown(columns, chosen, at, **changes):
    out = released(columns, chosen, at, **changes).columns
    return np.array([out[c.attribute.name].to_numpy(float, na_value=np.nan) for c in columns])


def noisy_copies(levels, seed=11):
    """Copies that another tool made: Brownian motion at these levels, by increments."""
    draw = np.random.default_rng(seed)
    factor = np.linalg.cholesky(PROPORTIONAL["covariance"])
    copies, noise, before = [], np.zeros((2, ROWS)), 0.0
    for at in sorted(levels):
        noise = noise + math.sqrt(at - before) * factor @ draw.normal(size=(2, ROWS))
        before = at
        values = {c.attribute.name: c.values + n for c, n in zip(PEOPLE, noise, strict=True)}
        copies.append(Adopted(at, values))
    return copies


def adopting(copies):
    rungs = [{"level": c.level, "digest": str(c.level), "file": "", "columns": {}} for c in copies]
    return {**PROPORTIONAL, "adopted": rungs}


def test_new_levels_fit_between_adopted_copies():
    copies = noisy_copies([0.7, 2.3])
    chosen = adopting(copies)
    whitener = np.linalg.inv(np.linalg.cholesky(PROPORTIONAL["covariance"]))
    noise = {c.level: np.array(list(c.values.values())) - TRUE for c in copies}
    for at in (0.25, 1.0, 1.5, 8.0):
        noise[at] = shown(PEOPLE, chosen, at, adopted=copies) - TRUE
    levels = sorted(noise)
    known = ~np.isnan(TRUE).any(axis=0)
    motion = np.array([whitener @ noise[at][:, known] for at in levels])
    found = np.einsum("ain,bjn->abij", motion, motion) / known.sum()
    for a, one in enumerate(levels):
        for b, other in enumerate(levels):
            wanted = min(one, other) * np.eye(2)
            error = math.sqrt((one * other + min(one, other) ** 2) / known.sum())
            assert np.abs(found[a, b] - wanted).max() < 5 * error


def test_the_level_of_an_adopted_copy_shows_that_copy():
    copies = noisy_copies([0.7, 2.3])
    out = shown(PEOPLE, adopting(copies), 2.3, adopted=copies)
    assert np.array_equal(out, np.array(list(copies[1].values.values())), True)


def test_adopted_copies_that_do_not_fit_are_refused_by_name():
    (copy,) = noisy_copies([0.7])
    chosen = adopting([copy])
    holes = {**copy.values, "age": np.where(np.arange(ROWS) == 6, np.nan, copy.values["age"])}
    for values, what in (
        ({"age": copy.values["age"]}, "has no column income"),
        ({**copy.values, "age": np.zeros(3)}, "column age, or not as many rows"),
        (holes, "missing numbers of age .* in 1 row, first in row 7"),
    ):
        with pytest.raises(LadderError, match=what):
            shown(PEOPLE, chosen, 1.0, adopted=[Adopted(0.7, values)])
    with pytest.raises(ValueError, match="adopted releases"):
        shown(PEOPLE, chosen, 1.0)
    bad = {**PROPORTIONAL, "adopted": [{**chosen["adopted"][0], "level": 0.0}]}
    with pytest.raises(LevelError):
        GAUSSIAN.check_settings(BOTH, bad)


def test_adopted_copies_make_another_ladder():
    one, other = noisy_copies([0.7]), noisy_copies([0.8])
    ladders = {GAUSSIAN.ladder_identity(BOTH, adopting(c)) for c in (one, other, [])}
    assert len(ladders) == 3


# ----- examining


def failing(checks):
    return [check.title for check in checks if not check.holds]


def own_copies(levels):
    """Copies with noise of their own each: no ladder."""
    return [noisy_copies([level], seed)[0] for seed, level in enumerate(levels)]


def moved(copy, change):
    return Adopted(copy.level, {name: change(values) for name, values in copy.values.items()})


@pytest.mark.parametrize("level", [0.05, 0.7, 6.0])
@pytest.mark.parametrize("decimals", [None, 2])
def test_the_level_of_a_copy_is_found(level, decimals):
    (copy,) = noisy_copies([level])
    if decimals is not None:
        copy = moved(copy, lambda values: np.round(values, decimals))
    found = GAUSSIAN.find_level(PEOPLE, PROPORTIONAL, copy)
    assert found.usable
    assert found.low < level < found.high
    assert found.proposal == level
    assert f"{ROWS - 80:,} records" in found.finding
    assert failing(GAUSSIAN.check_adopted(PEOPLE, PROPORTIONAL, copy)) == []


def test_the_original_and_copies_of_other_rows_are_no_releases():
    original = Adopted(1.0, {c.attribute.name: c.values for c in PEOPLE})
    found = GAUSSIAN.find_level(PEOPLE, PROPORTIONAL, original)
    assert not found.usable
    assert "true ones" in found.finding
    (copy,) = noisy_copies([0.7])
    turned = moved(copy, lambda values: np.roll(values, 50))
    found = GAUSSIAN.find_level(PEOPLE, PROPORTIONAL, turned)
    assert not found.usable
    assert "other records" in found.finding


def test_a_copy_with_noise_of_another_kind_or_level_fails():
    (copy,) = noisy_copies([0.7])
    separate = {**PROPORTIONAL, "noise": "separate"}
    failed = failing(GAUSSIAN.check_adopted(PEOPLE, separate, copy))
    assert failed == ["Covariance of the noise"]
    other = Adopted(1.0, copy.values)
    assert failing(GAUSSIAN.check_adopted(PEOPLE, PROPORTIONAL, other)) != []


def test_copies_of_one_ladder_pass_as_a_pair_and_others_do_not():
    low, high = noisy_copies([0.7, 2.3])
    assert failing(GAUSSIAN.check_adopted_pair(PEOPLE, PROPORTIONAL, low, high)) == []
    cents = [moved(copy, lambda values: np.round(values, 2)) for copy in (low, high)]
    assert failing(GAUSSIAN.check_adopted_pair(PEOPLE, PROPORTIONAL, *cents)) == []
    own = own_copies([0.7, 2.3])
    assert failing(GAUSSIAN.check_adopted_pair(PEOPLE, PROPORTIONAL, *own)) != []


def test_the_damage_of_copies_with_noise_of_their_own_is_told():
    own = own_copies([1.0, 1.0, 1.0])
    (told,) = GAUSSIAN.describe_damage(PEOPLE, PROPORTIONAL, own, Silent())
    copies = [np.array(list(copy.values.values())) for copy in own]
    # σ²/(1 + σ²) alone, 1/(1 + 3/σ²) together.
    assert open_share(TRUE, copies[:1]) == pytest.approx([0.5, 0.5], abs=0.04)
    together = open_share(TRUE, copies)
    assert together == pytest.approx([0.25, 0.25], abs=0.03)
    assert f"{100 * together.min():.1f} %" in told or f"{100 * together.max():.1f} %" in told
    few = tuple(type(c)(c.attribute, c.values[:4]) for c in PEOPLE)
    small = [moved(copy, lambda values: values[:4]) for copy in own]
    assert "too few" in GAUSSIAN.describe_damage(few, PROPORTIONAL, small, Silent())[0]


def test_an_adopted_level_need_not_lie_on_the_grid_but_in_its_range():
    GAUSSIAN.check_adopted_level(0.123456789)
    for level in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(LevelError, match="out of range"):
            GAUSSIAN.check_adopted_level(level)


def test_how_copies_are_rounded_is_seen():
    assert form_of(np.array([1.0, np.nan, 3.0])) == NumberForm(1.0)
    assert form_of(np.array([1.25, 3.0])) == NumberForm(0.01)
    assert form_of(np.array([1 / 3, 3.0])) == NumberForm()


def test_the_roundest_number_of_an_interval_is_the_shortest():
    assert roundest(0.93, 1.08) == 1.0
    assert roundest(0.123, 0.129) == 0.126
    assert roundest(2.2, 2.4) == 2.3


def test_the_interval_of_a_level_holds_it_19_times_in_20():
    draw = np.random.default_rng(3)
    true = draw.normal(size=(1, 400))
    inside = 0
    for _ in range(400):
        found = find_noise(true, true + draw.normal(size=(1, 400)), np.ones(1))
        inside += found.low <= 1.0 <= found.high
    assert 360 <= inside <= 396
