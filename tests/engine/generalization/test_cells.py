"""Suppressed cells, beside every way to suppress them and sdcMicro's published rule."""

import itertools
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import lil_array

from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization import cells
from sfumato.engine.generalization.cells import (
    MOST_COLUMNS,
    WHOLE,
    cells_hidden,
    hide_cells,
    hides,
    of_columns,
)
from sfumato.engine.generalization.views import Demand, views_of
from tests.data import shared_data
from tests.engine.generalization.tables import coded_tables, find_chain, quasi
from tests.thorough import tried

STAR = -1


def classes_of(columns):
    """Return the classes of some rows, one column each, and how many rows each has."""
    found, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    return list(found.T.copy()), counts


def starred(columns, hidden):
    return [np.where(hides(hidden, axis), STAR, column) for axis, column in enumerate(columns)]


def smallest(columns, counts):
    frame = pd.DataFrame(dict(enumerate(columns)))
    return frame.assign(count=counts).groupby(list(range(len(columns))))["count"].sum().min()


def cost_of(hidden, counts, costs):
    return sum(float(counts[hides(hidden, axis)].sum()) * cost for axis, cost in enumerate(costs))


def nothing(counts):
    return np.zeros(len(counts), dtype=np.uint64)


def by_enumeration(columns, counts, k, costs):
    """Return the least cost: every set of columns is tried for every class."""
    sets = [
        frozenset(each)
        for size in range(len(columns) + 1)
        for each in itertools.combinations(range(len(columns)), size)
    ]
    rows = list(zip(*columns, strict=True))
    best = float("inf")
    for chosen in itertools.product(sets, repeat=len(rows)):
        sizes, cost = {}, 0.0
        for row, count, hidden in zip(rows, counts, chosen, strict=True):
            shown = tuple("*" if at in hidden else value for at, value in enumerate(row))
            sizes[shown] = sizes.get(shown, 0) + count
            cost += count * sum(costs[at] for at in hidden)
        if cost < best and min(sizes.values()) >= k:
            best = cost
    return best


def by_program(columns, counts, k, costs):
    """Return the least cost by an integer program over all patterns, solved to its end."""
    patterns, choices = {}, []
    for row, values in enumerate(zip(*columns, strict=True)):
        for hidden in itertools.product([False, True], repeat=len(columns)):
            shown = tuple("*" if h else v for h, v in zip(hidden, values, strict=True))
            cost = sum(c for h, c in zip(hidden, costs, strict=True) if h)
            place = patterns.setdefault(shown, len(patterns))
            choices.append((row, place, counts[row] * cost))
    known, some, rows = len(patterns), len(choices), len(counts)
    limits = lil_array((rows + known + some, some + known))
    for at, (row, place, _) in enumerate(choices):
        limits[row, at] = 1
        limits[rows + place, at] = counts[row]
        limits[rows + known + at, at] = -1
        limits[rows + known + at, some + place] = 1
    for place in range(known):
        limits[rows + place, some + place] = -k
    low = np.concatenate([np.ones(rows), np.zeros(known + some)])
    high = np.concatenate([np.ones(rows), np.full(known, np.inf), np.ones(some)])
    found = milp(
        np.array([cost for *_, cost in choices] + [0.0] * known),
        integrality=np.ones(some + known, dtype=int),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(limits.tocsr(), low, high),
    )
    assert found.status == 0
    return found.fun


def by_sdcmicro(columns, k):
    """Return how many cells sdcMicro's rule suppresses, `*` being a value of its own.

    From the column with most values to that with fewest, each cell of every row is suppressed
    whose class is still too small.
    """
    columns = [column.copy() for column in columns]
    order = sorted(range(len(columns)), key=lambda axis: -len(np.unique(columns[axis])))
    for axis in order:
        _, place, sizes = np.unique(
            np.stack(columns, axis=1), axis=0, return_inverse=True, return_counts=True
        )
        columns[axis][sizes[place.ravel()] < k] = STAR
    return sum(int(np.count_nonzero(column == STAR)) for column in columns)


def drawn(seed):
    """Return a small table of skewed values, a k, and what cells cost."""
    rng = np.random.default_rng(seed)
    columns, rows, k = int(rng.integers(2, 6)), int(rng.integers(8, 61)), int(rng.integers(2, 6))
    values = [
        rng.zipf(rng.uniform(1.3, 2.5), rows) % int(rng.integers(2, 9)) for _ in range(columns)
    ]
    costs = np.ones(columns) if seed % 2 else np.arange(1.0, columns + 1)
    return classes_of(values), k, costs


@given(
    values=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=3, max_size=6),
    k=st.integers(2, 3),
    dear=st.integers(1, 3),
)
@settings(max_examples=tried(30), deadline=None)
def test_tiny_tables_lose_as_few_cells_as_can_be(values, k, dear):
    columns, counts = classes_of([np.array(each) for each in zip(*values, strict=True)])
    costs = np.array([1.0, float(dear)])
    found = hide_cells(columns, nothing(counts), counts, k, costs)
    best = by_enumeration(columns, counts, k, costs)
    assert cost_of(found, counts, costs) == pytest.approx(best)


@pytest.mark.slow
def test_small_tables_lose_hardly_more_than_the_exact_optimum():
    for seed in range(tried(16)):
        (columns, counts), k, costs = drawn(seed)
        found = hide_cells(columns, nothing(counts), counts, k, costs)
        assert smallest(starred(columns, found), counts) >= k
        best = by_program(columns, counts, k, costs)
        assert cost_of(found, counts, costs) <= 1.1 * best + 1e-6, seed


@pytest.mark.slow
@pytest.mark.parametrize("left_out", ["salary-class", "occupation"])
def test_adult_loses_fewer_cells_than_by_sdcmicro_s_rule_within_two_seconds(left_out):
    table = pd.read_csv(shared_data("adult/adult.csv"), sep=";").drop(columns=left_out)
    rows = [pd.factorize(table[name], sort=True)[0] for name in table]
    columns, counts = classes_of(rows)
    begun = time.process_time()
    found = hide_cells(columns, nothing(counts), counts, 5, np.ones(len(columns)))
    assert time.process_time() - begun < 2
    cells = int(counts @ cells_hidden(found, len(columns)))
    assert smallest(starred(columns, found), counts) >= 5
    assert cells < 0.95 * by_sdcmicro(rows, 5)


@given(table=coded_tables(), ks=st.lists(st.integers(1, 6), min_size=1, max_size=3), data=st.data())
@settings(max_examples=tried(60), deadline=None)
def test_each_view_of_cells_keeps_its_k_and_is_a_function_of_the_one_before(table, ks, data):
    attributes = [each.with_one_group_on_top() for each in table.quasi_identifiers]
    ks = sorted(ks)
    node, nodes = [0] * len(attributes), []
    for _ in ks:
        node = [
            data.draw(st.integers(low, each.height))
            for low, each in zip(node, attributes, strict=True)
        ]
        nodes.append(tuple(node))
    by_cell = [data.draw(st.booleans()) for _ in ks]
    costs = [(1.0,) * len(attributes) if cells else None for cells in by_cell]
    before = None
    for view, k in zip(views_of(attributes, nodes, ks, costs=costs), ks, strict=True):
        columns = [
            each.levels[level][each.codes]
            for each, level in zip(attributes, view.node, strict=True)
        ]
        shown = pd.DataFrame(dict(enumerate(starred(columns, view.hidden))))
        sizes = shown.value_counts()
        if len(shown) >= k:
            assert sizes.min() >= k
        assert sorted(sizes) == sorted(view.sizes)
        whole = (shown == STAR).all(axis=1).to_numpy()
        assert np.array_equal(view.suppressed, whole)
        assert view.suppressed_cells == int((shown == STAR).to_numpy().sum())
        if before is not None:
            pairs = pd.concat([before.astype(str).agg(",".join, axis=1), shown], axis=1)
            named = pairs.drop_duplicates()
            assert named.iloc[:, 0].is_unique
        before = shown


@given(table=coded_tables(), k=st.integers(2, 5), seed=st.integers(0, 9))
@settings(max_examples=tried(40), deadline=None)
def test_neither_the_order_of_rows_nor_of_columns_decides_which_cells_are_hidden(table, k, seed):
    attributes = [each.with_one_group_on_top() for each in table.quasi_identifiers]
    order = np.random.default_rng(seed).permutation(table.rows)
    turned = [quasi(each.name, each.codes[order], *each.levels[1:]) for each in attributes][::-1]
    node = (0,) * len(attributes)
    cost = tuple(float(place + 1) for place in range(len(attributes)))
    (view,) = views_of(attributes, [node], [k], costs=[cost])
    (other,) = views_of(turned, [node], [k], costs=[cost[::-1]])
    back = list(range(len(attributes)))[::-1]
    assert np.array_equal(view.hidden[order], of_columns(other.hidden, back))


def test_the_cells_of_an_important_column_are_kept():
    codes = np.array([0, 0, 0, 1, 2, 2, 2, 3])
    ages, areas = quasi("age", codes, [0, 0, 0, 0]), quasi("area", codes[::-1], [0, 0, 0, 0])
    ages, areas = (each.with_one_group_on_top() for each in (ages, areas))
    for costs, kept in [((5.0, 1.0), 0), ((1.0, 5.0), 1)]:
        (view,) = views_of([ages, areas], [(0, 0)], [2], costs=[costs])
        assert view.starred_in(kept) < view.starred_in(1 - kept)
        assert view.smallest >= 2


@pytest.mark.parametrize("seed", range(8))
def test_levels_that_are_found_keep_every_share_whatever_others_suppress(seed):
    """Rows and cells by turns, shares that fall, and columns of unlike importance."""
    draw = np.random.default_rng(seed)
    rows, columns = int(draw.integers(20, 60)), int(draw.integers(2, 4))
    halves, quarters = np.arange(8) // 2, np.arange(8) // 4
    found = [
        quasi(f"column {place}", draw.integers(0, 8, rows), halves, quarters, np.zeros(8, int))
        for place in range(columns)
    ]
    demands = []
    for k in sorted(draw.integers(1, 8, 3).tolist()):
        costs = tuple(map(float, draw.integers(1, 5, columns))) if draw.random() < 0.75 else None
        demands.append(Demand(k, float(draw.choice([0.0, 0.02, 0.05, 0.1, 0.2, 0.3])), costs))
    for view, demand in zip(find_chain(found, demands, Silent()), demands, strict=True):
        shown = [
            np.where(hides(view.hidden, axis), STAR, each.levels[level][each.codes])
            for axis, (each, level) in enumerate(zip(found, view.node, strict=True))
        ]
        cells = np.stack(shown, axis=1) == STAR
        share = cells.mean() if demand.costs else cells.all(axis=1).mean()
        assert share <= demand.suppression + 1e-9
        assert classes_of(shown)[1].min() >= demand.k


def test_cells_keep_levels_fine_that_whole_rows_would_raise():
    rng = np.random.default_rng(4)
    attributes = [
        quasi(name, rng.zipf(1.6, 400) % 8, [0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 0, 0, 1, 1, 1, 1])
        for name in ("age", "area", "trade")
    ]
    (rows,) = find_chain(attributes, [Demand(5, 0.05)], Silent())
    (cells,) = find_chain(attributes, [Demand(5, 0.05, (1.0, 1.0, 1.0))], Silent())
    assert sum(cells.node) < sum(rows.node)
    assert cells.loss < rows.loss
    assert cells.smallest >= 5
    assert cells.suppressed_cells <= 0.05 * 400 * 3


@pytest.mark.slow
@pytest.mark.turns(1)
def test_more_columns_than_sets_that_can_be_tried_still_keep_k():
    rng = np.random.default_rng(2)
    columns, counts = classes_of([rng.integers(0, 3, 300) for _ in range(MOST_COLUMNS)])
    found = hide_cells(columns, nothing(counts), counts, 3, np.ones(MOST_COLUMNS))
    assert smallest(starred(columns, found), counts) >= 3


def test_fewer_records_than_k_show_nothing():
    columns, counts = classes_of([np.array([0, 1]), np.array([0, 0])])
    assert (hide_cells(columns, nothing(counts), counts, 3, np.ones(2)) == WHOLE).all()


def test_answers_that_are_kept_are_given_to_the_same_question_alone():
    random = np.random.default_rng(8)
    columns, counts = classes_of([random.integers(0, size, 60) for size in (3, 4, 5)])
    costs = np.array([1.0, 2.0, 1.5])
    others = [
        (columns, nothing(counts), counts, 3, costs, False),
        (columns, nothing(counts), counts, 4, costs, True),
        (columns, nothing(counts), counts, 4, costs[::-1].copy(), False),
        (columns[::-1], nothing(counts), counts, 4, costs, False),
        (columns, np.full(len(counts), 2, dtype=np.uint64), counts, 4, costs, False),
        (columns, nothing(counts), counts[::-1].copy(), 4, costs, False),
    ]
    asked = (columns, nothing(counts), counts, 4, costs, False)
    first = hide_cells(*asked).copy()
    for other in others:
        found = hide_cells(*other)
        cells._kept.cache_clear()
        assert (found == hide_cells(*other)).all()
    assert len({hide_cells(*other).tobytes() for other in [asked, *others]}) > 4
    assert (hide_cells(*asked) == first).all()
