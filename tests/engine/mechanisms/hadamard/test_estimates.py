"""What is estimated from many releases of symbols: how far off, and how often intervals hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.ladders.hadamard import release_symbols
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.matrices.estimate import estimate_frequencies
from sfumato.engine.matrices.hadamard_matrix import HadamardMatrix, SymbolSets
from sfumato.engine.matrices.privacy import retention_for_gamma
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.randomness.keys import KeyRing

CODES, NOBODY = 1000, 50
"""How many codes there are, and how many of them nobody has."""


def records(count):
    """Skewed codes: Zipf shares, the last codes nobody has; with identifiers."""
    shares = np.where(np.arange(CODES) < CODES - NOBODY, 1 / np.arange(1, CODES + 1), 0.0)
    rng = np.random.default_rng(8)
    codes = rng.choice(CODES, count, p=shares / shares.sum()).astype(np.uint16)
    return codes, np.arange(count, dtype=np.uint64)


def released(codes, ids, sets, level, number):
    ring = KeyRing(number.to_bytes(32, "big"))
    keys = tuple(ring.for_attribute("code", "", what) for what in ("symbol", "below"))
    symbols = release_symbols(codes, sets, level, ids, keys, Silent())
    return np.bincount(symbols, minlength=sets.symbols)


def level_of(epsilon, blocks):
    return retention_for_gamma(math.exp(epsilon), 2 * blocks)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "releases", "epsilon", "blocks"),
    [
        (100_000, 60, 1.0, 1),
        (100_000, 60, 3.0, 10),
        (10_000_000, 8, 1.0, 1),
    ],
)
def test_intervals_hold_the_truth_for_frequent_codes_and_for_those_that_nobody_has(
    count, releases, epsilon, blocks
):
    sets = SymbolSets(CODES, blocks)
    matrix = HadamardMatrix(level_of(epsilon, blocks), sets)
    codes, ids = records(count)
    true = np.bincount(codes, minlength=CODES) / count
    common, nobody = np.argsort(-true)[:50], np.flatnonzero(true == 0.0)[-NOBODY:]
    held, off = [], []
    for number in range(releases):
        seen = released(codes, ids, sets, matrix.retention, number)
        found = estimate_frequencies(seen, matrix)
        held.append((found.low <= true) & (true <= found.high))
        off.append((found.frequencies - true) / found.standard_errors)
    covered, errors = np.array(held), np.array(off)
    slack = 2.0 * math.sqrt(0.05 * 0.95 / (releases * 50))
    assert 0.93 - slack < covered[:, common].mean() < 0.97 + slack
    # A count is at least 0, and so are the ends: from below, 0 is never missed. Without that,
    # the interval holds the truth as often as any other's.
    assert 0.95 - slack < covered[:, nobody].mean() < 0.985 + slack
    assert 0.93 - slack < (np.abs(errors[:, nobody]) < 1.96).mean() < 0.97 + slack
    assert np.square(errors).mean() == pytest.approx(1.0, abs=0.05)


@pytest.mark.slow
def test_shares_of_a_thousand_codes_are_fifty_times_closer_than_by_uniform_retention():
    codes, ids = records(100_000)
    true, sets = np.bincount(codes, minlength=CODES) / len(codes), SymbolSets(CODES)
    matrix = HadamardMatrix(level_of(1.0, 1), sets)
    plain = uniform_matrix(retention_for_gamma(math.e, CODES), CODES)
    errors = np.zeros(2)
    for number in range(6):
        seen = released(codes, ids, sets, matrix.retention, number)
        errors[0] += np.square(matrix.solve(seen / len(codes)) - true).sum()
        key = KeyRing(number.to_bytes(32, "big")).for_attribute("code", "", "uniform")
        retention = float(plain.retention[0])
        shown = release_codes(codes, CODES, retention, ids, key, Silent())
        counts = np.bincount(shown, minlength=CODES)
        errors[1] += np.square(plain.solve(counts / len(codes)) - true).sum()
    symbols, values = errors * len(codes) / 6 / CODES
    assert symbols == pytest.approx(4.68, rel=0.1)
    assert values / symbols > 50
