"""Naming the releases that a leaked file comes from."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.traceability import TableRows, count_released, traceability
from sfumato.engine.disclosure.tracing import (
    LeakCounts,
    RowGroups,
    RowOrigin,
    TracedLeak,
    count_rows,
    likeliest_mixture,
    trace_leak,
)
from tests.engine.disclosure.leak_trials import LeakTrials
from tests.thorough import tried

Codes = npt.NDArray[np.int64]

ROWS, VALUES, PUBLIC = 10_000, 10, 3_000
SEED = 20_261_120


def ladder(true: Codes, levels: npt.NDArray[np.float64], generator: np.random.Generator) -> list:
    releases, current, above = [], true, 1.0
    for level in levels:
        kept = generator.random(len(true)) < level / above
        current = np.where(kept, current, generator.integers(0, VALUES, len(true)))
        releases.append(current)
        above = level
    return releases


@pytest.fixture(scope="module")
def public() -> Codes:
    return np.random.default_rng(SEED).integers(0, PUBLIC, ROWS)


@pytest.fixture(scope="module")
def clear(public: Codes) -> list[Codes]:
    generator = np.random.default_rng(SEED + 1)
    true = generator.integers(0, VALUES, ROWS)
    return ladder(true, np.linspace(0.9, 0.09, 10), generator)


def traced(public: Codes, releases: list[Codes], leaked_public: Codes, leaked: Codes) -> TracedLeak:
    start = RowGroups.before_any_column(len(leaked), len(public)).split_by(leaked_public, public)
    groups = [start.split_by(leaked, release) for release in releases]
    return trace_leak(count_rows(groups, len(public), PUBLIC * VALUES), Silent())


def traced_beside_table(
    public: Codes, true: Codes, releases: list[Codes], leaked_public: Codes, leaked: Codes
) -> TracedLeak:
    """Trace a leak by somebody who also knows what the table itself would explain."""
    start = RowGroups.before_any_column(len(leaked), len(public)).split_by(leaked_public, public)
    groups = [start.split_by(leaked, release) for release in releases]
    nothing = np.ones(len(leaked))
    ways = [
        RowOrigin(start, nothing / VALUES, False),
        RowOrigin(start.split_by(leaked, true), nothing, True),
    ]
    return trace_leak(count_rows(groups, len(public), PUBLIC * VALUES, ways), Silent())


def named(leak: TracedLeak) -> list[tuple[int, ...]]:
    return sorted(suspect.candidates for suspect in leak.sources)


@given(data=st.data())
@settings(max_examples=tried(60), deadline=None)
def test_rows_are_counted_as_by_comparing_each_pair(data: st.DataObject) -> None:
    columns = data.draw(st.integers(1, 3))
    table_rows, leaked_rows = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 8))
    value = st.integers(-3, 3)

    def rows(count: int) -> Codes:
        row = st.lists(value, min_size=columns, max_size=columns)
        return np.array(data.draw(st.lists(row, min_size=count, max_size=count)))

    leaked, candidates = rows(leaked_rows), [rows(table_rows), rows(table_rows)]
    groups = []
    for candidate in candidates:
        group = RowGroups.before_any_column(leaked_rows, table_rows)
        for column in range(columns):
            group = group.split_by(leaked[:, column], candidate[:, column])
        groups.append(group)
    counts = count_rows(groups, table_rows, 1.0)
    found = sorted(zip(counts.leaked, *counts.released, strict=True))
    distinct = {tuple(row) for row in leaked.tolist()}
    expected = sorted(
        tuple(sum(tuple(row) == like for row in rows.tolist()) for rows in (leaked, *candidates))
        for like in distinct
    )
    assert [tuple(int(n) for n in row) for row in found] == expected


def test_two_hundred_shuffled_rows_name_the_right_one_of_ten(
    public: Codes, clear: list[Codes]
) -> None:
    generator = np.random.default_rng(SEED + 2)
    for truth in range(10):
        chosen = generator.permutation(ROWS)[:200]
        leak = traced(public, clear, public[chosen], clear[truth][chosen])
        assert named(leak) == [(truth,)]
        assert not leak.mixed
        assert leak.sources[0].posterior > 0.99


def test_a_mixture_names_both_sources_and_their_shares(public: Codes, clear: list[Codes]) -> None:
    generator = np.random.default_rng(SEED + 3)
    for one, other in ((1, 7), (0, 4), (5, 9)):
        first, second = generator.permutation(ROWS)[:600], generator.permutation(ROWS)[:300]
        leak = traced(
            public,
            clear,
            np.r_[public[first], public[second]],
            np.r_[clear[one][first], clear[other][second]],
        )
        assert leak.mixed
        assert named(leak) == [(one,), (other,)]
        shares = {suspect.candidates: suspect.share for suspect in leak.sources}
        assert shares[(one,)] == pytest.approx(2 / 3, abs=0.12)


def test_altered_rows_do_not_hide_the_source(public: Codes, clear: list[Codes]) -> None:
    generator = np.random.default_rng(SEED + 4)
    chosen = generator.permutation(ROWS)[:400]
    values = clear[3][chosen].copy()
    values[:80] = generator.integers(0, VALUES, 80)
    leak = traced(public, clear, public[chosen], values)
    assert named(leak) == [(3,)]
    assert 0.05 < leak.altered < 0.3


def test_a_file_from_elsewhere_names_nobody(public: Codes, clear: list[Codes]) -> None:
    generator = np.random.default_rng(SEED + 5)
    leak = traced(
        public,
        clear,
        generator.integers(PUBLIC, 2 * PUBLIC, 300),
        generator.integers(0, VALUES, 300),
    )
    assert named(leak) == []
    assert leak.altered > 0.99


@pytest.mark.few(1)
@pytest.mark.parametrize("kept", [1.0, 0.9, 0.5, 0.1])
def test_the_table_itself_or_another_perturbation_of_it_is_put_down_to_nobody(
    public: Codes, kept: float
) -> None:
    generator = np.random.default_rng(SEED + 8)
    true = generator.integers(0, VALUES, ROWS)
    releases = ladder(true, np.linspace(0.9, 0.09, 10), generator)
    for _ in range(4):
        other = ladder(true, np.array([kept]), generator)[0]
        chosen = generator.permutation(ROWS)[:800]
        leak = traced_beside_table(public, true, releases, public[chosen], other[chosen])
        assert named(leak) == []
        assert leak.of_table == pytest.approx(kept, abs=0.1)
        assert max(suspect.posterior for suspect in leak.suspects) < 0.5


def test_a_release_is_named_beside_the_table_and_beside_rows_of_the_table(public: Codes) -> None:
    generator = np.random.default_rng(SEED + 9)
    true = generator.integers(0, VALUES, ROWS)
    releases = ladder(true, np.linspace(0.9, 0.09, 10), generator)
    for truth in range(10):
        chosen = generator.permutation(ROWS)[:200]
        leak = traced_beside_table(public, true, releases, public[chosen], releases[truth][chosen])
        assert named(leak) == [(truth,)]
        assert leak.sources[0].posterior > 0.99
        assert leak.of_table == 0.0
    own, added = generator.permutation(ROWS)[:600], generator.permutation(ROWS)[:600]
    leak = traced_beside_table(
        public,
        true,
        releases,
        np.r_[public[own], public[added]],
        np.r_[releases[6][own], true[added]],
    )
    assert named(leak) == [(6,)]
    assert leak.altered == pytest.approx(0.5, abs=0.15)


def test_whoever_was_given_the_table_itself_is_named(public: Codes, clear: list[Codes]) -> None:
    generator = np.random.default_rng(SEED + 10)
    true = generator.integers(0, VALUES, ROWS)
    chosen = generator.permutation(ROWS)[:300]
    releases = [true, *clear[3:5]]
    leak = traced_beside_table(public, true, releases, public[chosen], true[chosen])
    assert named(leak) == [(0,)]
    assert leak.of_table == 0.0


def test_releases_with_the_same_values_are_named_together(
    public: Codes, clear: list[Codes]
) -> None:
    chosen = np.random.default_rng(SEED + 6).permutation(ROWS)[:300]
    releases = [clear[0], clear[2], clear[2]]
    leak = traced(public, releases, public[chosen], clear[2][chosen])
    assert named(leak) == [(1, 2)]


def test_the_likelihood_of_a_mixture_is_the_highest_on_a_grid() -> None:
    leaked = np.array([40, 25, 30, 5])
    released = np.array([[60, 10, 20, 10], [5, 60, 15, 20], [10, 10, 70, 10]])
    leak = trace_leak(LeakCounts(leaked, released, 100, 1e9), Silent())
    rows = np.vstack([np.full(4, 1e-9), released / 100])
    steps = np.linspace(0.0, 1.0, 41)
    best = max(
        (float(leaked @ np.log(np.array([1 - a - b - c, a, b, c]) @ rows)), a, b, c)
        for a, b, c in itertools.product(steps, repeat=3)
        if a + b + c <= 1.0 and a + b + c > 0.0
    )
    shares = {suspect.candidates[0]: suspect.share for suspect in leak.suspects}
    assert leak.mixed
    for candidate in range(3):
        assert shares[candidate] == pytest.approx(best[candidate + 1], abs=0.03)


@pytest.mark.slow
def test_the_rows_computed_for_near_levels_suffice(public: Codes) -> None:
    """At least 99 % are promised; below 93 of 100 would be a false alarm once in 10,000."""
    generator = np.random.default_rng(SEED + 7)
    true = generator.integers(0, VALUES, ROWS)
    near = ladder(true, 0.5 * (1 - 0.02 * np.arange(10)), generator)
    releases = [public * VALUES + release for release in near]
    found = traceability(releases, Silent())
    assert 20 < found.most_rows < ROWS
    rows = int(found.most_rows)
    leaks = [generator.choice(ROWS, size=rows, replace=False) for _ in range(100)]
    trials = LeakTrials(releases, public * VALUES + true, public, VALUES)
    assert trials.success(leaks) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("levels", [(0.97, 0.5), (0.9, 0.1)])
def test_the_rows_computed_suffice_beside_the_table_too(
    public: Codes, levels: tuple[float, float]
) -> None:
    """A release near the original looks like the table: only its few replaced values tell.

    At least 99 % are promised; below 93 of 100 would be a false alarm once in 10,000.
    """
    generator = np.random.default_rng(SEED + 11)
    true = generator.integers(0, VALUES, ROWS)
    releases = [public * VALUES + one for one in ladder(true, np.array(levels), generator)]
    table = public * VALUES + true
    ways = [TableRows([public, public], public, 1 / VALUES), TableRows(releases, table, 1.0)]
    found, beside = traceability(releases, Silent()), traceability(releases, Silent(), ways)
    assert np.all(beside.rows_needed > found.rows_needed)
    trials = LeakTrials(releases, table, public, VALUES)
    for place, rows in enumerate(beside.rows_needed.astype(int)):
        chosen = [generator.choice(ROWS, size=rows, replace=False) for _ in range(100)]
        assert sum(trials.named({place: leak}) == [(place,)] for leak in chosen) >= 93


def test_a_release_that_is_the_table_is_not_told_from_the_table(public: Codes) -> None:
    other = np.roll(public, 1)
    way = TableRows([public, other], public, 1.0)
    found = traceability([public, other], Silent(), [way])
    assert np.array_equal(found.rows_needed, traceability([public, other], Silent()).rows_needed)


def test_the_nearest_level_is_the_hardest_to_tell_apart(public: Codes, clear: list[Codes]) -> None:
    found = traceability([public * VALUES + release for release in clear], Silent())
    assert all(abs(int(h) - j) == 1 for j, h in enumerate(found.hardest))
    assert np.all(found.differing > 0.05)


def test_releases_without_a_row_in_common_are_compared_with_each_other() -> None:
    found = traceability([np.arange(50), np.arange(50, 100)], Silent())
    assert found.hardest.tolist() == [1, 0]
    assert found.differing.tolist() == [1.0, 1.0]


def test_equal_releases_are_never_told_apart(public: Codes) -> None:
    found = traceability([public, public.copy()], Silent())
    assert found.most_rows == math.inf
    assert count_released([public, public]).sum() == 2 * ROWS


def test_copied_rows_tell_no_more_than_the_releases_that_show_them():
    copied = LeakCounts(np.array([20, 20, 1]), np.array([[1, 0, 3], [2, 0, 0]]), 5, 100.0)
    assert copied.evidence.tolist() == [2.0, 1.0, 1.0]


def test_copied_rows_count_alike_whichever_release_is_the_candidate():
    own, other = np.array([3, 1, 2]), np.array([1, 4, 2])
    for candidate, drawn in ((own, other), (other, own)):
        counts = LeakCounts(np.array([20, 20, 20]), candidate[None], 7, 100.0)
        evidence = counts.beside({0: [drawn]}).evidence
        assert evidence[0] / evidence[2] == pytest.approx(3 / 2)
        assert evidence[1] / evidence[2] == pytest.approx(4 / 2)


def test_rows_that_come_together_more_often_than_drawn_count_less():
    shown = np.full((2, 1, 50), 40)
    once = LeakCounts(np.ones(50, dtype=np.int64), shown[0], 2_000, 100.0)
    copied = LeakCounts(np.repeat([20, 0], 25), shown[0], 2_000, 100.0)
    assert once.beside({0: [shown[1, 0]]}).evidence.sum() == pytest.approx(50)
    assert copied.beside({0: [shown[1, 0]]}).evidence.sum() == pytest.approx(50)


def test_a_release_drawn_with_other_keys_explains_what_a_candidate_does_by_chance():
    counts = LeakCounts(np.array([3, 3]), np.array([[4, 0]]), 4, 100.0)
    beside = counts.beside({0: [np.array([0, 2])]})
    assert beside.unreleased is not None
    assert beside.unreleased.truthful.tolist() == [[0.5, 0.25]]
    assert trace_leak(counts, Silent()).suspects[0].chance < 0.01
    assert trace_leak(beside, Silent()).suspects[0].chance > 0.1


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_no_mixture_is_likelier_than_the_likeliest(seed, alike):
    """The log-likelihood is concave: where no single way leads upwards, nothing does."""
    draw = np.random.default_rng(seed)
    ways, count = int(draw.integers(2, 30)), int(draw.integers(20, 400))
    rows = draw.exponential(size=(ways, count)) * (draw.random((ways, count)) < 0.3)
    if alike:
        rows[:] = rows[-1] * (1.0 + 0.01 * draw.random((ways, count)))
    rows[0] = 1e-5  # by chance, so that every row is possible
    leaked = draw.integers(1, 5, count).astype(float)
    reached, shares = likeliest_mixture(rows, leaked)
    assert (shares >= 0.0).all()
    assert shares.sum() == pytest.approx(1.0)
    assert reached == pytest.approx(float(leaked @ np.log(shares @ rows)))
    gradient = rows @ (leaked / (shares @ rows))
    assert gradient.max() - leaked.sum() < 1e-3
