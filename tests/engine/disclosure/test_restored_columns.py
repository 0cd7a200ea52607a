"""How well a coarsened column is restored: beside a slow count that looks at one record a time."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest

from sfumato.engine.disclosure.restored_columns import CoarsenedCodes, OpenCodes, binned, restore


def slowly(column, others, units):
    """Guess each record from the other units' records that look like it, one after the other."""
    n = len(column.shown)
    right = []
    for i in np.flatnonzero(column.affected):
        looks = [(*(one.codes for one in others),), ()]
        for beside in looks:
            known = {}
            for j in range(n):
                alike = all(codes[j] == codes[i] for codes in beside)
                alike &= bool(column.hidden[i]) or column.shown[j] == column.shown[i]
                if alike and units[j] != units[i]:
                    known.setdefault(int(column.true[j]), set()).add(units[j])
            if known:
                break
        counts = Counter({value: len(of) for value, of in known.items()})
        most = max(counts.values(), default=0)
        named = [value for value, count in counts.items() if count == most]
        right.append(1.0 / len(named) if int(column.true[i]) in named else 0.0)
    return float(np.mean(right))


def drawn(seed, rows=60):
    draw = np.random.default_rng(seed)
    true = draw.integers(0, 5, rows)
    hidden = draw.random(rows) < 0.3 if seed % 2 else np.zeros(rows, dtype=bool)
    shown = np.where(hidden, 9, true // 2)
    affected = hidden if seed % 4 == 1 else np.ones(rows, dtype=bool)
    column = CoarsenedCodes("region", shown, true, affected, hidden)
    telling = np.where(draw.random(rows) < 0.9, true * 2 + draw.integers(0, 2, rows), 11)
    return column, [OpenCodes("weight", telling)]


@pytest.mark.parametrize("seed", range(8))
def test_shares_are_those_of_guessing_each_record_from_the_others(seed):
    column, others = drawn(seed)
    units = np.arange(len(column.true))
    found = restore(column, others)
    assert found.alone == pytest.approx(slowly(column, [], units))
    assert found.telling == ("weight",)
    assert found.restored == pytest.approx(slowly(column, others, units))


def test_a_column_that_only_names_units_restores_nothing():
    """Members of a household share its region, and teach nothing of it to each other."""
    draw = np.random.default_rng(2)
    units = np.repeat(np.arange(400), 3)
    region = draw.integers(0, 6, 400)[units]
    nothing, everybody = np.zeros(1_200, dtype=np.int64), np.ones(1_200, dtype=bool)
    column = CoarsenedCodes("region", nothing, region, everybody, ~everybody)
    weight = [OpenCodes("weight", units)]
    assert restore(column, weight).restored > 0.99
    assert restore(column, weight, units).telling == ()


def test_two_columns_that_tell_only_together_with_the_first_are_found():
    draw = np.random.default_rng(3)
    true = draw.integers(0, 12, 4_000)
    nothing, everybody = np.zeros(4_000, dtype=np.int64), np.ones(4_000, dtype=bool)
    column = CoarsenedCodes("region", nothing, true, everybody, ~everybody)
    found = restore(column, [OpenCodes("a", true // 4), OpenCodes("b", true % 4)])
    assert sorted(found.telling) == ["a", "b"]
    assert found.restored > 0.99
    assert found.returned > 0.99


def test_numbers_are_known_by_bins_of_their_order():
    draw = np.random.default_rng(5)
    numbers = draw.normal(size=2_000)
    codes = binned(np.argsort(np.argsort(numbers)), np.where(numbers > 3, np.nan, numbers))
    assert int(codes.max()) <= 64
    age = np.searchsorted([-1.0, 0.0, 1.0], numbers)
    nothing, everybody = np.zeros(2_000, dtype=np.int64), np.ones(2_000, dtype=bool)
    column = CoarsenedCodes("age", nothing, age, everybody, ~everybody)
    assert restore(column, [OpenCodes("height", codes)]).restored > 0.9


@pytest.mark.slow
def test_four_hundred_columns_are_screened_quickly():
    draw = np.random.default_rng(1)
    rows = 100_000
    region = draw.integers(0, 182, rows)
    nothing, everybody = np.zeros(rows, dtype=np.int64), np.ones(rows, dtype=bool)
    column = CoarsenedCodes("region", nothing, region, everybody, ~everybody)
    sizes = [2, 5, 30, 1_000, 50_000]
    others = [OpenCodes(f"c{n}", draw.integers(0, sizes[n % 5], rows)) for n in range(400)]
    others.append(
        OpenCodes("weight", draw.permutation(546)[region * 3 + draw.integers(0, 3, rows)])
    )
    began = time.process_time()
    found = restore(column, others)
    assert (found.telling, round(found.restored, 3)) == (("weight",), 1.0)
    assert time.process_time() - began < 10.0
