"""Chains of views, beside brute force and what pandas counts in the values that would leave."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import Cancelled, DiversityError
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.generalization import grouping
from sfumato.engine.generalization.chain import nested_allowances, nodes_keeping
from sfumato.engine.generalization.criteria import KAnonymity
from sfumato.engine.generalization.search import search
from sfumato.engine.generalization.views import Demand, views_of
from tests.engine.generalization.tables import coded_tables, find_chain, quasi
from tests.thorough import tried


def topped(table):
    return [each.with_one_group_on_top() for each in table.quasi_identifiers]


def shown(attributes, view):
    """Return the quasi-identifiers as a recipient sees them."""
    columns = {}
    for attribute, level in zip(attributes, view.node, strict=True):
        labels = np.array([f"{code}" for code in range(attribute.sizes[level])], dtype=object)
        columns[attribute.name] = labels[attribute.levels[level][attribute.codes]]
    frame = pd.DataFrame(columns)
    frame[view.suppressed] = "*"
    return frame


def least_total(attributes, ks):
    """Return the least total loss of a chain without suppression: every chain is tried."""
    rows = len(attributes[0].codes)
    nodes = list(itertools.product(*(range(len(each.levels)) for each in attributes)))
    loss, smallest = {}, {}
    for node in nodes:
        columns = [q.levels[at][q.codes] for q, at in zip(attributes, node, strict=True)]
        smallest[node] = pd.DataFrame(dict(enumerate(columns))).value_counts().min()
        lost = 0.0
        for attribute, level in zip(attributes, node, strict=True):
            groups = attribute.levels[level]
            others = max(len(groups) - 1, 1)
            lost += sum((list(groups).count(groups[c]) - 1) / others for c in attribute.codes)
        loss[node] = lost / (rows * len(attributes))
    best = dict.fromkeys(nodes, 0.0)
    for k in ks:
        best = {
            node: loss[node] + min(best[n] for n in nodes if all(map(int.__le__, n, node)))
            if smallest[node] >= k
            else float("inf")
            for node in nodes
        }
    return min(best.values())


@given(table=coded_tables(), ks=st.lists(st.integers(1, 6), min_size=1, max_size=3))
@settings(max_examples=tried(60), deadline=None)
def test_without_suppression_no_chain_loses_less(table, ks):
    found = find_chain(table.quasi_identifiers, [Demand(k) for k in ks], Silent())
    assert sum(view.loss for view in found) == pytest.approx(least_total(topped(table), ks))
    assert not any(view.suppressed.any() for view in found)


@given(
    table=coded_tables(),
    asked=st.lists(
        st.tuples(st.integers(1, 6), st.sampled_from([0.0, 0.1, 0.3, 0.6])), min_size=1, max_size=3
    ),
)
@settings(max_examples=tried(60), deadline=None)
def test_every_view_keeps_what_was_asked_and_follows_from_the_one_before(table, asked):
    demands = [Demand(k, share) for k, share in asked]
    attributes = topped(table)
    found = find_chain(table.quasi_identifiers, demands, Silent())
    for view, demand in zip(found, demands, strict=True):
        sizes = shown(attributes, view).value_counts()
        assert sizes.min() >= demand.k
        assert view.suppressed.sum() <= demand.suppression * table.rows + 1e-9
        assert view.suppressed_rows == view.suppressed.sum()
        assert view.smallest <= sizes.min()
        assert view.sizes.sum() == table.rows
    for finer, coarser in itertools.pairwise(found):
        assert not (finer.suppressed & ~coarser.suppressed).any()
        before = shown(attributes, finer).agg("|".join, axis=1)
        after = shown(attributes, coarser).agg("|".join, axis=1)
        # Rows alike to the more trusted are alike to the less trusted.
        assert after.groupby(before).nunique().max() == 1


@given(table=coded_tables(), k=st.integers(2, 5), share=st.sampled_from([0.2, 0.5]))
@settings(max_examples=tried(60), deadline=None)
def test_with_suppression_a_view_loses_no_more_than_without(table, k, share):
    (without,) = find_chain(table.quasi_identifiers, [Demand(k)], Silent())
    (found,) = find_chain(table.quasi_identifiers, [Demand(k, share)], Silent())
    beside = [q.levels[at][q.codes] for q, at in zip(topped(table), found.node, strict=True)]
    sizes = pd.DataFrame(dict(enumerate(beside))).value_counts()
    outlying = int(sizes[sizes < k].sum())
    if outlying == found.suppressed_rows:  # nobody had to join them to make up k
        assert found.loss <= without.loss + 1e-12


def smallest_in_units(attributes, view, units):
    """Return the fewest different units that share what is shown; pandas counts them."""
    frame = shown(attributes, view)
    return int(pd.Series(units).groupby([frame[name] for name in frame]).nunique().min())


@given(
    table=coded_tables(),
    ks=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    several=st.integers(1, 4),
    seed=st.integers(0, 99),
)
@settings(max_examples=tried(80), deadline=None)
def test_no_chain_that_counts_units_loses_less(table, ks, several, seed):
    """Every node of the lattice is tried, and its units are counted by pandas."""
    units = np.random.default_rng(seed).integers(0, max(table.rows // several, 3), table.rows)
    ks = [min(k, len(np.unique(units))) for k in ks]
    attributes = topped(table)
    found = find_chain(attributes, [Demand(k) for k in ks], Silent(), units)
    assert all(
        smallest_in_units(attributes, view, units) == view.smallest >= k
        for view, k in zip(found, ks, strict=True)
    )
    nodes = list(itertools.product(*(range(len(each.levels)) for each in attributes)))
    views = {node: views_of(attributes, [node], [1], units)[0] for node in nodes}
    kept = {node: smallest_in_units(attributes, view, units) for node, view in views.items()}
    best = dict.fromkeys(nodes, 0.0)
    for k in ks:
        best = {
            node: views[node].loss + min(best[n] for n in nodes if all(map(int.__le__, n, node)))
            if kept[node] >= k
            else float("inf")
            for node in nodes
        }
    assert sum(view.loss for view in found) == pytest.approx(min(best.values()))


@given(
    table=coded_tables(),
    asked=st.lists(
        st.tuples(st.integers(1, 4), st.sampled_from([0.0, 0.2, 0.5])), min_size=1, max_size=3
    ),
    several=st.integers(1, 4),
    seed=st.integers(0, 99),
)
@settings(max_examples=tried(80), deadline=None)
def test_views_keep_k_units_when_rows_are_suppressed(table, asked, several, seed):
    units = np.random.default_rng(seed).integers(0, max(table.rows // several, 3), table.rows)
    demands = [Demand(min(k, len(np.unique(units))), share) for k, share in asked]
    attributes = topped(table)
    found = find_chain(attributes, demands, Silent(), units)
    for view, demand in zip(found, demands, strict=True):
        assert smallest_in_units(attributes, view, units) >= max(demand.k, view.smallest)
        assert view.suppressed_rows <= demand.suppression * table.rows + 1e-9
        frame = shown(attributes, view)
        together = pd.Series(units).groupby([frame[name] for name in frame])
        alone = together.transform("nunique") == 1
        if not view.suppressed.any():  # "*" may also be a level's label
            assert (view.unique, view.unique_rows) == (len(set(units[alone])), alone.sum())
    for finer, coarser in itertools.pairwise(found):
        assert not (finer.suppressed & ~coarser.suppressed).any()


class InParts:
    """Whose each row is, a few units at a time; `place` says which distinct row each row is."""

    def __init__(self, units, place):
        self._units, self._place = units, place
        self.sizes = np.bincount(np.bincount(pd.factorize(units)[0]))

    def parts(self):
        for chosen in (self._units % 3 == rest for rest in range(3)):
            yield self._place[chosen], pd.factorize(self._units[chosen])[0]


def counted(attributes, seed):
    """Return distinct rows in some order, which of them each row is, and how many each stands for.

    Some that are alike stay apart.
    """
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({each.name: each.codes for each in attributes})
    frame["apart"] = rng.integers(0, 2, len(frame))
    place = frame.groupby(list(frame), sort=False).ngroup().to_numpy()
    place = rng.permutation(place.max() + 1)[place]
    first = pd.Series(range(len(place))).groupby(place).first().to_numpy()
    alike = [replace(each, codes=each.codes[first]) for each in attributes]
    return alike, place, np.bincount(place)


@given(
    table=coded_tables(),
    asked=st.lists(
        st.tuples(st.integers(1, 6), st.sampled_from([0.0, 0.1, 0.3, 0.6])), min_size=1, max_size=3
    ),
    several=st.sampled_from([0, 2, 4]),
    seed=st.integers(0, 99),
)
@settings(max_examples=tried(80), deadline=None)
def test_rows_that_come_counted_have_the_chain_of_all_rows(table, asked, several, seed):
    units, read = None, None
    attributes = topped(table)
    alike, place, counts = counted(attributes, seed)
    if several:
        drawn = np.random.default_rng(seed).integers(0, max(table.rows // several, 3), table.rows)
        units, read = drawn, InParts(drawn, place)
    most = table.rows if units is None else len(np.unique(units))
    demands = [Demand(min(k, most), share) for k, share in asked]
    every = find_chain(attributes, demands, Silent(), units)
    found = find_chain(alike, demands, Silent(), read, counts)
    for view, known in zip(found, every, strict=True):
        assert view.node == known.node
        assert list(view.suppressed[place]) == list(known.suppressed)
        assert sorted(view.sizes) == sorted(known.sizes)
        assert (view.unique, view.unique_rows) == (known.unique, known.unique_rows)
        assert (view.rows, view.suppressed_rows) == (known.rows, known.suppressed_rows)
        assert view.loss == pytest.approx(known.loss)
    if units is None:
        kept = nodes_keeping(alike, demands[0], Silent(), counts)
        allowed = demands[0].allowed(table.rows) / table.rows
        whole = replace(table, quasi_identifiers=tuple(attributes))
        safe = search(whole, [KAnonymity(demands[0].k)], Silent(), allowed).safe
        assert np.array_equal(kept, safe)


def test_units_that_are_too_many_to_be_kept_are_read_each_time(monkeypatch):
    rng = np.random.default_rng(5)
    table = [quasi(name, rng.integers(0, 4, 300), [0, 0, 1, 1], [0] * 4) for name in "abc"]
    units = rng.integers(0, 120, 300)
    alike, place, counts = counted(table, 5)
    demands = [Demand(3, 0.1), Demand(9, 0.2)]
    kept = find_chain(table, demands, Silent(), units)
    monkeypatch.setattr(grouping, "_MOST_PAIRS", 10)
    read = find_chain(alike, demands, Silent(), InParts(units, place), counts)
    assert [view.node for view in read] == [view.node for view in kept]
    assert [view.suppressed_rows for view in read] == [view.suppressed_rows for view in kept]


def test_a_household_of_rows_that_are_alike_is_one_unit():
    # Nine rows are alike: five of one household, and four people.
    codes = np.repeat([0, 1], [9, 5])
    units = np.array([0] * 5 + [1, 2, 3, 4] + [5] * 5)
    area = quasi("area", codes, np.zeros(2, int))
    (view,) = views_of([area], [(0,)], [1], units)
    assert (view.smallest, view.unique, view.unique_rows) == (1, 1, 5)
    (view,) = find_chain([area], [Demand(5)], Silent(), units)
    assert (view.node, view.smallest) == ((1,), 6)
    with pytest.raises(DiversityError, match="k is 7, and the table has 6"):
        find_chain([area], [Demand(7)], Silent(), units)


def test_a_chain_that_is_known():
    # Ages 0 to 7 in pairs, fours and all; one person is of age 7.
    codes = np.repeat(np.arange(8), [4, 4, 4, 4, 4, 4, 4, 1])
    age = quasi("age", codes, np.arange(8) // 2, np.arange(8) // 4, np.zeros(8, int))
    first, second, third = find_chain([age], [Demand(1), Demand(2), Demand(9)], Silent())
    assert [view.node for view in (first, second, third)] == [(0,), (1,), (2,)]
    assert [view.smallest for view in (first, second, third)] == [1, 5, 13]
    assert [view.unique for view in (first, second, third)] == [1, 0, 0]
    assert [view.classes for view in (first, second, third)] == [8, 4, 2]
    assert [round(view.loss, 4) for view in (first, second, third)] == [0.0, 0.1429, 0.4286]


def test_fewer_outlying_rows_than_k_are_joined_by_the_smallest_class():
    codes = np.repeat(np.arange(4), [9, 6, 7, 1])
    area = quasi("area", codes, np.zeros(4, int))
    (view,) = views_of([area], [(0,)], [5])
    assert np.array_equal(np.flatnonzero(view.suppressed), [*range(9, 15), 22])
    assert view.smallest == 7
    assert sorted(view.sizes) == [7, 7, 9]


def test_which_class_joins_does_not_depend_on_the_order_of_the_rows():
    codes = np.array([0, 0, 1, 1, 2, 2, 3])
    area = quasi("area", codes, np.zeros(4, int))
    turned = quasi("area", codes[::-1], np.zeros(4, int))
    (view,) = views_of([area], [(0,)], [2])
    (other,) = views_of([turned], [(0,)], [2])
    assert np.array_equal(view.suppressed, other.suppressed[::-1])
    assert np.array_equal(view.suppressed, codes % 3 == 0)


def test_a_share_of_fewer_rows_than_k_suppresses_nobody():
    assert Demand(5, 0.04).allowed(100) == 0
    assert Demand(5, 0.05).allowed(100) == 5
    assert Demand(5, 0.07).allowed(100) == 7
    assert nested_allowances([7, 3, 5]) == [3, 3, 5]


@pytest.mark.parametrize(
    ("demand", "named"),
    [
        (Demand(0), "k is 0"),
        (Demand(24), "k is 24"),
        (Demand(2, 1.0), "share"),
        (Demand(2, -0.1), "share"),
    ],
)
def test_what_no_view_can_keep_is_refused_by_name(demand, named):
    area = quasi("area", np.repeat(np.arange(4), [9, 6, 7, 1]), np.zeros(4, int))
    with pytest.raises(DiversityError, match=named):
        find_chain([area], [demand], Silent())


def test_levels_that_fall_along_the_chain_are_refused():
    area = quasi("area", np.repeat(np.arange(4), 5), np.zeros(4, int))
    with pytest.raises(DiversityError, match="area is at level 0"):
        views_of([area], [(1,), (0,)], [2, 2])


def test_a_search_can_be_cancelled():
    random = np.random.default_rng(1)
    columns = [
        quasi(f"q{n}", random.integers(0, 16, 3000), *(np.arange(16) // 2**at for at in (1, 2, 3)))
        for n in range(5)
    ]

    stopped = Callback(lambda _fraction, _text: None, lambda: True)
    with pytest.raises(Cancelled):
        find_chain(columns, [Demand(2, 0.01), Demand(9, 0.03)], stopped)
