"""Draws by a bound on a group's largest share, by the checker of `test_blind_promise`.

It shares no code with the mechanism: both sides are convolved draw by draw for every count, and
the noise's law is written out and summed.
"""

from __future__ import annotations

from math import exp, floor

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.grouped_values import grouped_values
from sfumato.engine.mechanisms.reconstruction.limits import (
    blind_sizes,
    default_limits,
    limits_of,
)
from sfumato.engine.mechanisms.reconstruction.mechanism import MECHANISM
from sfumato.engine.mechanisms.reconstruction.share_bounds import bounds_in, largest_by_class
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.micro_groups import GroupCounts, micro_groups
from tests.data import shared_data
from tests.engine.categories import column_of
from tests.engine.mechanisms.reconstruction.test_blind_promise import both_sides, keeps

P, EPSILON, DELTA = 0.5, "0.3", 0.17
LEAST = 32
"""With ε0 = 2 measured classes begin here."""


def limits(domain, **settings):
    return limits_of({**default_limits(), **settings}, domain)


def measured(domain, count, epsilon=2.0):
    made = {"groups": "", "counts": [count]}
    return limits(domain, shares="noisy", shares_epsilon=epsilon, measured_shares=made)


def chances(epsilon, reach):
    """Return the discrete Laplace law from -reach to reach."""
    size = np.exp(-epsilon * np.abs(np.arange(-reach, reach + 1)))
    return size / ((1 + exp(-epsilon)) / (1 - exp(-epsilon)))


@pytest.mark.few(1)
@pytest.mark.parametrize(("domain", "share"), [(10, 0.4), (4, 0.6)])
def test_each_side_is_kept_for_every_composition_within_a_stated_share(domain, share):
    bound = limits(domain, shares="stated", largest_share=share, least_records=12)
    sizes = np.array([5, 12, 13, 31, 60])
    plain = blind_sizes(limits(domain), sizes, Silent())
    for size, sample, any_share in zip(
        sizes, blind_sizes(bound, sizes, Silent()), plain, strict=True
    ):
        above, below = both_sides(int(size), int(sample), "0.5", domain, EPSILON)
        most = size if size < 12 else floor(share * size)
        assert keeps(above[:most], below[:most], DELTA).all(), size
        assert sample >= any_share
        assert sample > any_share or size < 20


@pytest.mark.slow
def test_each_side_is_kept_for_every_composition_with_the_noise_s_failing_counted():
    domain, size = 14, 37
    reach = 16
    draws = {}
    for count in range(-reach, LEAST + reach + 1):
        alike = min(max(count, -3), LEAST - 3)  # 3 are added, and a bound is from 0 to 1
        if alike not in draws:
            found = blind_sizes(measured(domain, alike), np.array([size]), Silent())
            draws[alike] = int(found[0])
        draws[count] = draws[alike]
    sides = {s: both_sides(size, s, "0.5", domain, EPSILON) for s in set(draws.values())}
    assert len(sides) > 3  # the bound decides
    law = chances(2.0, reach)
    for count in range(1, size + 1):
        each = {s: (above[count - 1], below[count - 1]) for s, (above, below) in sides.items()}
        if P * count / size + (1 - P) / domain < DELTA / 0.999:
            assert all(keeps(np.array(a), np.array(b), DELTA) for a, b in each.values()), count
            continue
        # Other groups of the class may have a larger share, never a smaller one.
        least = -(-count * LEAST // size)
        drawn = np.array([each[draws[alike]] for alike in range(least - reach, LEAST + reach + 1)])
        around = np.lib.stride_tricks.sliding_window_view(drawn, 2 * reach + 1, axis=0)
        assert (around @ law >= DELTA - 1e-9).all(), count


def test_a_measured_bound_is_too_low_once_in_a_thousand_times_at_most():
    for epsilon in (0.05, 0.1, 0.7, 2.0, 9.0):
        settings = {"shares": "noisy", "shares_epsilon": epsilon}
        found = bounds_in({**settings, "measured_shares": {"groups": "", "counts": [0]}}, None)
        [(least, share)] = found.shares
        added = round(share * least)
        assert added <= least / 2
        law = chances(epsilon, 400)
        assert law[: 400 - added].sum() <= 0.001
        assert added == 0 or law[: 401 - added].sum() > 0.001


def test_one_record_moves_what_is_measured_by_one_at_most():
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(40), rng.integers(30, 300, 40))
    found = micro_groups(pd.DataFrame({"place": groups}), ["place"], Silent())
    codes = rng.choice(5, len(groups), p=[0.6, 0.2, 0.1, 0.05, 0.05]).astype(np.uint8)
    before = np.array(largest_by_class(GroupCounts.of(found, codes, 5), 2.0))
    assert len(before) == 4
    for row in rng.integers(0, len(groups), 60):
        changed = codes.copy()
        changed[row] = (changed[row] + 1 + rng.integers(4)) % 5
        after = np.array(largest_by_class(GroupCounts.of(found, changed, 5), 2.0))
        assert np.abs(after - before).sum() <= 1


def grouped_attribute(rows=900):
    attribute = column_of([rows // 10] * 10, values=tuple("abcdefghij"))
    place = pd.DataFrame({"place": np.arange(rows) % 3})
    return attribute.grouped(micro_groups(place, ["place"], Silent())).attribute


@pytest.mark.slow
@pytest.mark.turns(1)
def test_what_is_proposed_is_measured_once_and_its_loss_is_counted():
    attribute = grouped_attribute()
    settings = MECHANISM.first_settings((attribute,), KeyedNoise.passing())
    assert settings["shares"] == "noisy"
    assert MECHANISM.complete_settings((attribute,), settings, KeyedNoise.passing()) == settings
    assert MECHANISM.byproduct_epsilon(settings) == 0.1
    top = MECHANISM.matrix(0.5, (attribute,), settings).gamma
    odds = MECHANISM.odds_factor(0.5, (attribute,), settings)
    assert odds == pytest.approx(top * exp(0.1))
    sentence = MECHANISM.promise(0.5, (attribute,), settings).sentence
    assert "(ε0 = 0.1)" in sentence
    assert "at most 0.1 %" in sentence
    plain = MECHANISM.sample_sizes((attribute,), default_limits(), Silent())
    assert (MECHANISM.sample_sizes((attribute,), settings, Silent()) > plain).all()


def test_what_was_measured_of_other_groups_draws_nothing_more():
    attribute, other = grouped_attribute(), grouped_attribute(600)
    settings = MECHANISM.first_settings((attribute,), KeyedNoise.passing())
    assert MECHANISM.outdated((other,), settings)
    plain = MECHANISM.sample_sizes((other,), default_limits(), Silent())
    assert (MECHANISM.sample_sizes((other,), settings, Silent()) == plain).all()


def test_a_table_that_breaks_a_stated_share_is_refused_without_telling_by_how_much():
    attribute = grouped_attribute()
    stated = {**default_limits(), "shares": "stated", "largest_share": 0.2, "least_records": 50}
    MECHANISM.check_settings((attribute,), stated)
    broken = {**stated, "largest_share": 0.05}
    with pytest.raises(PolicyError, match="in 3 groups of at least 50 records one value has more"):
        MECHANISM.check_settings((attribute,), broken)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["occupation", "education"])
def test_on_adult_the_proposed_setting_errs_below_40_percent(column):
    adult = pd.read_csv(shared_data("adult/adult.csv"), sep=";")
    public = [name for name in adult if name not in {"age", column}]
    codes, values = pd.factorize(adult[column], sort=True)
    groups = micro_groups(adult[public], public, Silent())
    known = grouped_values(groups, codes.astype(np.uint8), len(values))
    settings = {**default_limits(), "shares": "noisy"}
    costs = MECHANISM.mode_costs(known, settings, Silent())
    [proposed] = [one for one in costs if one.chosen]
    [blind] = [one for one in costs if one.rule == "exact" and one.shares == "any"][:1]
    assert proposed.error < 0.4
    assert proposed.error < blind.error
