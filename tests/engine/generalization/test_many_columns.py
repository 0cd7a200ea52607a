"""Levels of many columns, found step by step: what is stated is kept, and little more is lost."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization import chain
from sfumato.engine.generalization.views import Demand
from tests.engine.generalization.tables import coded_tables, find_chain, quasi
from tests.thorough import tried


def smallest_shown(attributes, view, units=None):
    """Count the smallest class of what is shown, from its labels alone."""
    columns = {
        each.name: each.levels[level][each.codes].astype(str)
        for each, level in zip(attributes, view.node, strict=True)
    }
    frame = pd.DataFrame(columns)
    frame[view.suppressed] = "*"
    names = list(frame.columns)
    if units is None:
        return frame.groupby(names).size().min()
    return frame.assign(unit=units).groupby(names)["unit"].nunique().min()


@pytest.fixture
def step_by_step(monkeypatch):
    """As if every table had too many combinations of levels to search."""
    monkeypatch.setattr(chain, "LARGEST_LATTICE", 0)


@settings(max_examples=tried(60))
@given(coded_tables(), st.sampled_from([(2, 3), (1, 4), (3, 3)]), st.booleans())
def test_classes_shares_and_order_are_kept_and_what_is_suppressed_is_nested(table, ks, by_unit):
    attributes = [each.with_one_group_on_top() for each in table.quasi_identifiers]
    rows = len(attributes[0].codes)
    units = np.arange(rows) // 2 if by_unit else None
    counted = rows if units is None else int(units.max()) + 1
    demands = [Demand(min(k, counted), 0.3) for k in ks]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chain, "LARGEST_LATTICE", 0)
        views = find_chain(attributes, demands, Silent(), units)
    for view, demand in zip(views, demands, strict=True):
        assert smallest_shown(attributes, view, units) >= demand.k
        assert view.suppressed_rows <= 0.3 * rows
    finer, coarser = views
    assert all(a <= b for a, b in zip(finer.node, coarser.node, strict=True))
    assert not (finer.suppressed & ~coarser.suppressed).any()


def survey(rows, columns):
    """Return columns of two to six values, the first of two each, made without chance."""
    place = np.arange(rows)
    found = []
    for at in range(columns):
        size = 2 + at % 5
        codes = (place * (2 * at + 3) // (at + 1) + place // 7 * at) % size
        found.append(quasi(f"c{at}", codes, np.zeros(size, dtype=int)))
    return found


def test_little_more_is_lost_than_by_searching_all_combinations(step_by_step, monkeypatch):
    attributes, demands = survey(3_000, 8), [Demand(5, 0.01)]
    (found,) = find_chain(attributes, demands, Silent())
    monkeypatch.undo()
    (best,) = find_chain(attributes, demands, Silent())
    assert best.loss <= found.loss <= best.loss + 0.1


def test_columns_that_matter_more_are_kept(step_by_step):
    attributes, demands = survey(400, 8), [Demand(5, 0.01)]
    weights = [1.0] * 7 + [20.0]
    (found,) = find_chain(attributes, demands, Silent(), importance=weights)
    assert found.node[7] == 0


def test_something_of_an_important_column_is_kept_before_many_of_two_values(step_by_step):
    place = np.arange(1_200)
    of_two = [quasi(f"c{at}", place // 2**at % 2, [0, 0]) for at in range(7)]
    regions = quasi("region", place % 12, [at // 4 for at in range(12)], [0] * 12)
    demands, weights = [Demand(5, 0.0)], [1.0] * 7 + [2.0]
    (found,) = find_chain([*of_two, regions], demands, Silent(), importance=weights)
    assert found.node[7] < 2
    assert smallest_shown([*of_two, regions], found) >= 5


def test_forty_columns_are_answered():
    attributes, demands = survey(2_000, 40), [Demand(5, 0.01), Demand(20, 0.01)]
    views = find_chain(attributes, demands, Silent())
    smallest = [smallest_shown(attributes, view) for view in views]
    assert smallest[0] >= 5
    assert smallest[1] >= 20
    assert sum(level == 0 for level in views[0].node) >= 4


def test_what_is_suppressed_for_one_is_enough_to_hide_from_all():
    """Fewer than the largest k could not be suppressed for the recipient with that k."""
    attributes, demands = survey(400, 40), [Demand(3, 0.1), Demand(20, 0.1)]
    views = find_chain(attributes, demands, Silent())
    assert [view.suppressed_rows == 0 or view.suppressed_rows >= 20 for view in views] == [True] * 2
    assert smallest_shown(attributes, views[0]) >= 3
    assert smallest_shown(attributes, views[1]) >= 20


def test_each_further_column_that_costs_nothing_is_shown(step_by_step):
    """Where a step suppresses too few to hide from all, others that suppress none still follow."""
    place = np.arange(128)
    rare = np.where(place < 4, place % 2 + 1, 0)  # two values of two records each
    halves = [quasi(f"half {at}", place // 2 ** (at + 4) % 2, [0, 0]) for at in range(3)]
    attributes = [quasi("rare", rare, [0] * 3), *halves]
    demands = [Demand(3, 0.1), Demand(8, 0.1)]
    views = find_chain(attributes, demands, Silent(), importance=[9.0, 1.0, 1.0, 1.0])
    assert views[0].node == (1, 0, 0, 0)
    assert [view.suppressed_rows for view in views] == [0, 0]


def test_a_search_that_would_take_long_goes_on_step_by_step(monkeypatch):
    attributes, demands = survey(600, 8), [Demand(5, 0.01), Demand(10, 0.01)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chain, "LARGEST_LATTICE", 0)
        steps = find_chain(attributes, demands, Silent())
    size = int(np.prod([len(each.levels) + 1 for each in attributes]))
    for most in (size, 120 * size):  # not begun, and given up
        monkeypatch.setattr(chain, "MOST_LOOKED_AT", most)
        found = find_chain(attributes, demands, Silent())
        assert [view.node for view in found] == [view.node for view in steps]
