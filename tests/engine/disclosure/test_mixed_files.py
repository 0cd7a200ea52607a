"""Files mixed cell by cell from several releases: who took part is named, and nobody else."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.mixed_files import (
    ColumnCells,
    Mixing,
    MixingRule,
    mixed_likelihood,
    mixings,
    with_mixing,
)
from sfumato.engine.disclosure.tracing import (
    RowGroups,
    RowOrigin,
    TracedLeak,
    count_rows,
    trace_leak,
)

VALUES, ROWS, PUBLIC = 6, 600, 300
KEPT = (0.9, 0.6, 0.4, 0.2)
NOISE = (0.1, 0.3, 0.6, 1.2)


@dataclass(frozen=True)
class Case:
    """A table with a category and a number, and four releases of it on two ladders."""

    public: np.ndarray
    truth: tuple[np.ndarray, np.ndarray]
    categories: np.ndarray
    numbers: np.ndarray

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Case:
        true, size = rng.integers(0, VALUES, ROWS), rng.normal(50, 10, ROWS).round()
        categories, numbers, shown, above, noisy, spread = [], [], true, 1.0, size, 0.0
        for kept, noise in zip(KEPT, NOISE, strict=True):
            replaced = rng.random(ROWS) >= kept / above
            shown = np.where(replaced, rng.integers(0, VALUES, ROWS), shown)
            noisy = noisy + rng.normal(0, 10 * np.sqrt(noise - spread), ROWS)
            categories.append(shown)
            numbers.append(noisy)
            above, spread = kept, noise
        public = rng.integers(0, PUBLIC, ROWS)
        return cls(public, (true, size), np.array(categories, float), np.array(numbers))

    def mixed(self, members, rule, rng) -> tuple[np.ndarray, np.ndarray]:
        """Mix some releases as recipients would."""
        found = []
        for cells, average in ((self.categories, False), (self.numbers, True)):
            own = cells[list(members)]
            taken = own[rng.integers(0, len(own), ROWS), np.arange(ROWS)]
            match rule:
                case MixingRule.LOWER:
                    taken = own.min(axis=0)
                case MixingRule.HIGHER:
                    taken = own.max(axis=0)
                case MixingRule.AVERAGE if average:
                    taken = (own / len(own)).sum(axis=0).round(rng.integers(1, 6))
                case MixingRule.VOTE if average:
                    taken = np.median(own, axis=0)
                case MixingRule.VOTE:
                    pairs = [own[0] == own[1], own[0] == own[2], own[1] == own[2]]
                    taken = np.select(pairs, [own[0], own[0], own[1]], taken)
            found.append(taken)
        return found[0], found[1]

    def trace(self, rows, categories, numbers) -> TracedLeak:
        """Trace the rows of a file."""
        leaked = (categories[rows], numbers[rows])

        def split(groups, values, shown):
            _, places = np.unique(np.concatenate([shown, values]), return_inverse=True)
            return groups.split_by(places[: len(shown)], places[len(shown) :])

        start = RowGroups.before_any_column(len(rows), ROWS)
        start = start.split_by(self.public[rows], self.public)
        groups = [
            split(split(start, self.categories[j], leaked[0]), self.numbers[j], leaked[1])
            for j in range(len(KEPT))
        ]
        ways = []
        for kept in ((), (0,), (1,), (0, 1)):
            own = start
            for column in kept:
                own = split(own, self.truth[column].astype(float), leaked[column])
            chance = np.prod([1 / n for c, n in enumerate((VALUES, ROWS)) if c not in kept])
            ways.append(RowOrigin(own, np.full(len(rows), chance), bool(kept)))
        whole = RowGroups.before_any_column(len(rows), len(rows))
        for shown in (self.public[rows], *leaked):
            whole = split(whole, shown, shown)
        counts = count_rows(groups, ROWS, PUBLIC * VALUES * ROWS, ways, whole)
        traced = trace_leak(counts, Silent())
        if len(traced.sources) == 1:
            return traced
        columns = [
            ColumnCells(leaked[0], self.categories, False),
            ColumnCells(leaked[1], self.numbers, True),
        ]
        tried = mixings(len(KEPT), numbers=True)
        likelihoods = np.zeros((len(tried), whole.count))
        for place, mixing in enumerate(tried):
            likelihoods[place, whole.leaked] = mixed_likelihood(mixing, columns, start, ROWS)
        return with_mixing(traced, counts, tried, likelihoods, Silent())


def named(traced: TracedLeak) -> set[int]:
    return {place for suspect in traced.sources for place in suspect.candidates}


def trials(count: int) -> Counter:
    """Mix and trace files; count what became of them."""
    found: Counter = Counter()
    ways = mixings(len(KEPT), numbers=True)
    for trial in range(count):
        rng = np.random.default_rng([20261123, trial])
        case, mixing = Case.drawn(rng), ways[trial % len(ways)]
        rows = rng.permutation(ROWS)[: int(rng.choice([10, 40, 200]))]
        categories, numbers = case.mixed(mixing.members, mixing.rule, rng)
        if trial % 4 == 0:  # Some cells are altered as well.
            numbers = np.where(rng.random(ROWS) < 0.1, numbers + 1.5, numbers)
        traced = case.trace(rows, categories, numbers)
        accused = named(traced)
        found["trials"] += 1
        found["innocent named"] += bool(accused - set(mixing.members))
        found["all named"] += accused == set(mixing.members)
        found["nobody named"] += not accused
        found["rule found"] += traced.rule is mixing.rule
    return found


@pytest.mark.few(2)
@pytest.mark.parametrize("rule", list(MixingRule))
def test_who_mixed_a_file_and_how_is_found(rule):
    rng = np.random.default_rng(5)
    members = (0, 1, 3) if rule is MixingRule.VOTE else (1, 3)
    case = Case.drawn(rng)
    rows = rng.permutation(ROWS)[:200]
    traced = case.trace(rows, *case.mixed(members, rule, rng))
    assert named(traced) == set(members)
    assert traced.rule is rule
    assert traced.mixed


def test_a_file_of_one_release_or_of_none_is_not_said_to_be_mixed():
    rng = np.random.default_rng(6)
    case = Case.drawn(rng)
    rows = rng.permutation(ROWS)[:200]
    alone = case.trace(rows, case.categories[2], case.numbers[2])
    assert named(alone) == {2}
    assert alone.rule is None
    other = Case.drawn(rng)
    assert named(case.trace(rows, *other.mixed((0, 1), MixingRule.AVERAGE, rng))) == set()


@pytest.mark.slow
def test_trials_name_no_innocent():
    found = trials(24)
    assert found["innocent named"] == 0
    assert found["all named"] >= 18, found


@pytest.mark.slow
@pytest.mark.turns(6)
def test_hardly_any_mixed_file_names_an_innocent():
    found = trials(300)
    # At 1 in 1,000, more than 3 such files are seen with a probability of 0.0003.
    assert found["innocent named"] <= 3, found
    assert found["all named"] >= 270, found


def test_so_many_releases_that_mixtures_could_not_all_be_tried_are_left():
    assert mixings(13, numbers=True) == []
    assert Mixing((0, 1, 2), MixingRule.VOTE) in mixings(3, numbers=False)
    assert not any(each.rule is MixingRule.AVERAGE for each in mixings(4, numbers=False))
    assert {len(each.members) for each in mixings(7, numbers=True)} == {2}
