"""Normal numbers from words: the tables, the law of the parts, and the elementary functions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from sfumato.engine.randomness.normals import (
    LAYERS,
    RIGHT_END,
    Ziggurat,
    below_density,
    layer_of,
    layers,
    logarithms,
    tail_places,
)
from tests.thorough import tried

END = float(RIGHT_END)
UNIT = 2.0**53


def words(count, seed=1):
    return np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)


def test_the_layers_have_equal_areas_and_close_at_the_top():
    known = layers()
    widths = known.width * UNIT
    areas = widths[1:] * (known.high[1:] - known.low[1:])
    lowest = END * math.exp(-0.5 * END**2) + math.sqrt(2 * math.pi) * special.ndtr(-END)
    assert len(widths) == LAYERS
    assert areas == pytest.approx(lowest, rel=1e-12)
    assert widths[0] * math.exp(-0.5 * END**2) == pytest.approx(lowest, rel=1e-12)
    assert known.inner[-1] == 0.0
    assert known.high[-1] == 1.0


def test_what_is_certain_lies_under_the_density_and_the_rest_is_told():
    drawn = words(200_000)
    out = np.empty(len(drawn))
    uncertain = Ziggurat(len(drawn)).normals(drawn, out)
    layer = layer_of(drawn)
    inner = layers().inner[layer]
    assert (np.flatnonzero(np.abs(out) >= inner) == uncertain).all()
    assert 0.002 < len(uncertain) / len(drawn) < 0.004
    assert (np.abs(out) <= layers().width[layer] * UNIT).all()
    assert (out != 0.0).all()


def test_the_smallest_and_the_largest_word_name_places_inside_their_layers():
    drawn = np.array([0, 2**63 - 1, 2**63, 2**64 - 1, 0x3FF, 0x400], dtype=np.uint64)
    out = np.empty(len(drawn))
    Ziggurat(len(drawn)).normals(drawn, out)
    assert (np.abs(out) < layers().width[layer_of(drawn)] * UNIT).all()
    assert np.sign(out).tolist() == [1, 1, -1, -1, 1, 1]


def test_a_rim_is_accepted_as_often_as_it_lies_below_the_density():
    layer = np.full(200_000, 160)
    known = layers()
    outer, inner = float(known.width[160] * UNIT), float(known.inner[160])
    place = np.random.default_rng(2).uniform(inner, outer, len(layer))
    share = below_density(layer, place, words(len(layer), 3)).mean()
    area = math.sqrt(2 * math.pi) * (special.ndtr(outer) - special.ndtr(inner))
    low, high = math.exp(-0.5 * outer**2), math.exp(-0.5 * inner**2)
    wanted = (area / (outer - inner) - low) / (high - low)
    assert share == pytest.approx(wanted, abs=4.5 * math.sqrt(0.25 / len(layer)))


def test_the_tail_is_that_of_the_normal_distribution():
    beyond, accepted = tail_places(words(300_000, 4), words(300_000, 5))
    tail = beyond[accepted]
    assert accepted.mean() > 0.9
    assert tail.min() > END
    assert stats.kstest(special.ndtr(-tail) / special.ndtr(-END), "uniform").pvalue > 1e-5


@settings(deadline=None, max_examples=tried(200))
@given(st.floats(2.0**-53, 1.0))
def test_logarithms_are_those_of_the_library_to_a_few_units_in_the_last_place(number):
    found = float(logarithms(np.array([number]))[0])
    assert found == pytest.approx(math.log(number), rel=1e-15, abs=1e-16)
