"""Bins of features are those of every row, though they are made from each distinct value once."""

import numpy as np
import pytest

from sfumato.engine.disclosure.boosted_trees import BINS, Bins, Placed, bins_of
from sfumato.engine.disclosure.open_features import Design

RNG = np.random.default_rng(5)
COLUMNS = {
    "numbers": RNG.normal(size=4_000),
    "numbers that repeat": RNG.integers(0, 200, 4_000).astype(float),
    "few numbers": RNG.integers(0, 5, 4_000).astype(float),
    "skewed": np.where(RNG.random(4_000) < 0.7, 3.0, RNG.lognormal(size=4_000)),
    "one value": np.full(4_000, 2.0),
    "some missing": np.where(RNG.random(4_000) < 0.2, np.nan, RNG.normal(size=4_000)),
    "all missing": np.full(4_000, np.nan),
}


def bins_of_rows(column, learned, level):
    """Return the bins as they are defined, from every row."""
    known = column[learned & ~np.isnan(column)]
    distinct = np.unique(known)
    if level or len(distinct) < BINS - 1:
        edges = (distinct[1:] + distinct[:-1]) / 2.0
    else:
        edges = np.unique(np.quantile(known, np.arange(1, BINS - 1) / (BINS - 1)))
    found = np.searchsorted(edges[: BINS - 2], column, side="right") + 1
    return np.where(np.isnan(column), 0, found)


@pytest.mark.parametrize("name", COLUMNS)
def test_bins_are_those_of_every_row(name):
    column, learned = COLUMNS[name], RNG.random(4_000) < 0.6
    placed = Placed.of(column)
    counts = np.bincount(placed.places[learned], minlength=len(placed.values))
    tables = [bins_of(placed.values, counts, level=False)]
    bins = Bins(tables, [placed.places])
    np.testing.assert_array_equal(bins.of(0), bins_of_rows(column, learned, level=False))


def test_a_category_has_a_bin_of_its_own_and_values_in_any_order_the_same():
    column, learned = RNG.integers(0, 25, 4_000).astype(float), RNG.random(4_000) < 0.6
    order = RNG.permutation(25)
    counts = np.bincount(column[learned].astype(int), minlength=25)[order]
    table = bins_of(np.arange(25.0)[order], counts, level=True)
    places = np.argsort(order)[column.astype(int)].astype(np.uint8)
    np.testing.assert_array_equal(table[places], bins_of_rows(column, learned, level=True))
    assert len(set(table)) == 25


def test_some_rows_of_some_features_are_looked_up():
    placed = [Placed.of(COLUMNS[name]) for name in ("numbers", "few numbers", "some missing")]
    counts = [np.bincount(each.places, minlength=len(each.values)) for each in placed]
    tables = [bins_of(p.values, c, level=False) for p, c in zip(placed, counts, strict=True)]
    bins = Bins(tables, [each.places for each in placed])
    some = bins.among(np.arange(1, 4_000, 2)).among(np.arange(0, 2_000, 7))
    expected = np.stack([bins.of(feature) for feature in (2, 0)])[:, 1::2][:, ::7]
    np.testing.assert_array_equal(some.matrix([2, 0]), expected)
    assert some.number_of_rows == expected.shape[1]
    assert len(some) == 3


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("logarithms", [False, True])
def test_what_differs_by_rounding_alone_is_no_yardstick_for_other_rows(order, logarithms):
    """Else a row that differs a little would be foretold to be far beyond all numbers."""
    learn = np.full((345, 1), 0.1, order=order)
    learn[::2] += 1e-17
    for rows in range(2, len(learn)):
        terms = Design(learn[:rows], np.array([False])).apply(
            np.array([[0.2]]), logarithms=logarithms
        )
        assert np.abs(terms).max() <= 1.0
