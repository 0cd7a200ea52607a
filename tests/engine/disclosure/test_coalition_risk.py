"""What coalitions restore, record by record: against enumeration by the definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import Cancelled, LadderError
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.disclosure import coalition_risk as engine
from sfumato.engine.disclosure.best_guess import restored_alone, restored_without
from sfumato.engine.disclosure.coalition_risk import (
    added_recipient,
    coalition_risk,
    restored_together,
    risk_of_independent,
)
from sfumato.engine.disclosure.record_risk import BINS, SparseBeliefs, WholeBeliefs, steps_of
from sfumato.engine.matrices.matrix import DenseMatrix
from sfumato.engine.matrices.retention_matrix import RetentionMatrix, uniform_matrix
from sfumato.engine.randomness.keys import draw_released, uniforms, words
from tests.thorough import tried

FREQUENCIES = np.array([0.5, 0.3, 0.15, 0.05])
LEVELS = (0.6, 0.3, 0.1)
UNEVEN = np.array([0.9, 0.4, 0.2])
TRANSITION = np.array([[0.7, 0.1, 0.2], [0.2, 0.8, 0.2], [0.1, 0.1, 0.6]])
DOWN = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])

weights = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=4)
levels = st.lists(st.floats(0.01, 0.99), min_size=1, max_size=4)


def chain_law(size, levels):
    """The ladder's joint law given each true value, by the steps of Lemma 1."""
    law = {}
    for x in range(size):
        for outcome in itertools.product(range(size), repeat=len(levels)):
            chance, level, value = 1.0, 1.0, x
            for p, y in zip(levels, outcome, strict=True):
                chance *= (1 - p / level) / size + (p / level if y == value else 0.0)
                level, value = p, y
            law[x, outcome] = chance
    return law


def independent_law(matrices):
    size = matrices[0].size
    return {
        (x, outcome): np.prod([m.row(y)[x] for m, y in zip(matrices, outcome, strict=True)])
        for x in range(size)
        for outcome in itertools.product(range(size), repeat=len(matrices))
    }


def by_definition(law, frequencies):
    """Each value's mean reconstruction probability (appendix 2, equation 25)."""
    outcomes = {outcome for _, outcome in law}
    risk = np.zeros(len(frequencies))
    for outcome in outcomes:
        joint = np.array([f * law[x, outcome] for x, f in enumerate(frequencies)])
        if joint.sum() > 0:
            risk += joint * joint / joint.sum()
    return risk / frequencies


@given(levels, weights)
@settings(deadline=None, max_examples=tried(30))
def test_independent_risk_is_appendix_2_for_every_value(chosen, given_weights):
    frequencies = np.array(given_weights) / np.sum(given_weights)
    matrices = [uniform_matrix(p, len(frequencies)) for p in chosen]
    risk = risk_of_independent(matrices, frequencies, Silent())
    assert risk.exact
    expected = by_definition(independent_law(matrices), frequencies)
    assert risk.by_value == pytest.approx(expected, abs=1e-12)
    assert risk.average == pytest.approx(frequencies @ expected)
    assert risk.histogram.sum() == pytest.approx(1.0)


@given(levels, weights)
@settings(deadline=None, max_examples=tried(30))
def test_on_the_ladder_every_coalition_knows_what_its_best_member_knows(chosen, given_weights):
    """By enumeration of the chain's joint law, for every coalition of the recipients."""
    frequencies = np.array(given_weights) / np.sum(given_weights)
    ladder = sorted(set(chosen), reverse=True)
    for count in range(1, len(ladder) + 1):
        for coalition in itertools.combinations(ladder, count):
            matrices = [uniform_matrix(p, len(frequencies)) for p in coalition]
            risk = coalition_risk(matrices, frequencies, Silent())
            expected = by_definition(chain_law(len(frequencies), coalition), frequencies)
            assert risk.on_ladder.by_value == pytest.approx(expected, abs=1e-12)
            assert risk.alone.by_value == pytest.approx(expected, abs=1e-12)
            assert risk.largest_difference < 1e-9
            assert risk.independent.average >= risk.alone.average - 1e-9


@pytest.mark.parametrize(
    "matrices",
    [
        [RetentionMatrix(UNEVEN), RetentionMatrix(0.5 * UNEVEN), RetentionMatrix(0.1 * UNEVEN)],
        [DenseMatrix(TRANSITION), DenseMatrix(DOWN @ TRANSITION)],
    ],
)
def test_any_matrices_of_one_ladder_will_do(matrices):
    frequencies = np.array([0.2, 0.5, 0.3])
    risk = coalition_risk(matrices, frequencies, Silent())
    expected = by_definition(independent_law(matrices), frequencies)
    assert risk.independent.by_value == pytest.approx(expected)
    assert risk.alone.by_value == pytest.approx(
        by_definition(independent_law(matrices[:1]), frequencies)
    )
    assert risk.on_ladder.by_value == pytest.approx(risk.alone.by_value)
    assert risk.largest_difference < 1e-12


def test_releases_that_are_on_no_ladder_are_refused():
    unrelated = [RetentionMatrix(UNEVEN), RetentionMatrix(UNEVEN[::-1].copy())]
    with pytest.raises(LadderError):
        coalition_risk(unrelated, np.full(3, 1 / 3), Silent())


def test_it_agrees_with_the_averages_of_the_bars():
    matrices = [uniform_matrix(p, 4) for p in LEVELS]
    risk = coalition_risk(matrices, FREQUENCIES, Silent())
    together = restored_together(matrices, FREQUENCIES, Silent())
    alone = restored_alone(matrices[0], FREQUENCIES, Silent())
    assert risk.independent.average == pytest.approx(together.posterior)
    assert risk.independent.guessed == pytest.approx(together.guessed)
    assert (risk.alone.average, risk.alone.guessed) == pytest.approx(
        (alone.posterior, alone.guessed)
    )
    assert risk.without == pytest.approx(0.365)


def test_drawn_risks_agree_with_enumerated_ones(monkeypatch):
    """Bounds of five standard errors: a false alarm in 10^6 runs; the draws are always the same."""
    matrices = [uniform_matrix(p, 4) for p in LEVELS]
    exact = coalition_risk(matrices, FREQUENCIES, Silent())
    monkeypatch.setattr(engine, "MOST_ENTRIES", 0)
    drawn = coalition_risk(matrices, FREQUENCIES, Silent())
    assert not drawn.independent.exact
    for kind in ("independent", "on_ladder", "alone"):
        one, other = getattr(drawn, kind), getattr(exact, kind)
        assert 0.0 < one.average_error < 0.01
        assert abs(one.average - other.average) < 5 / 1.96 * one.average_error
        assert abs(one.guessed - other.guessed) < 5 / 1.96 * one.guessed_error
        assert np.all(np.abs(one.by_value - other.by_value) < 5 / 1.96 * one.error_by_value)
        assert one.histogram.sum() == pytest.approx(1.0)
    assert drawn.largest_difference < 1e-12


@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5),
    st.integers(0, 3),
)
@settings(deadline=None, max_examples=tried(30))
def test_sparse_beliefs_are_the_whole_ones(chosen, unused):
    frequencies = np.array([0.4, 0.1, 0.2, 0.15, 0.1, 0.05, 0.0])
    true = np.arange(60) % 6
    sparse = SparseBeliefs(true, frequencies, len(chosen))
    whole = WholeBeliefs(true, frequencies)
    for place, level in enumerate(chosen):
        profile = level * np.linspace(0.3, 1.0, 7) if place != unused else np.full(7, level)
        matrix = RetentionMatrix(profile)
        seen = draw_released(matrix, true, uniforms(60, 7 + place))
        sparse.see(matrix, seen)
        whole.see(matrix, seen)
        assert sparse.of_true() == pytest.approx(whole.of_true(), abs=1e-9)
        assert sparse.of_best() == pytest.approx(whole.of_best(), abs=1e-9)


def test_large_domains_are_drawn_with_an_error_that_is_stated():
    size = 6000
    frequencies = 1.0 / np.arange(1, size + 1)
    frequencies /= frequencies.sum()
    risk = risk_of_independent([uniform_matrix(0.5, size)], frequencies, Silent())
    exact = restored_alone(uniform_matrix(0.5, size), frequencies, Silent())
    assert risk.draws > 0
    assert abs(risk.average - exact.posterior) < 5 / 1.96 * risk.average_error


def test_a_value_that_does_not_occur_has_no_risk():
    frequencies = np.array([0.6, 0.4, 0.0])
    risk = risk_of_independent([uniform_matrix(0.5, 3)], frequencies, Silent())
    assert np.isnan(risk.by_value[2])
    assert np.isfinite(risk.by_value[:2]).all()


def test_the_original_restores_every_record_and_noise_none():
    everything = coalition_risk([uniform_matrix(1.0, 4)], FREQUENCIES, Silent())
    assert everything.alone.average == pytest.approx(1.0)
    assert everything.alone.certain == pytest.approx(1.0)
    nothing = coalition_risk([uniform_matrix(0.0, 4)], FREQUENCIES, Silent())
    assert nothing.alone.average == pytest.approx(nothing.without)
    assert np.flatnonzero(nothing.alone.histogram)[-1] == round(0.5 * BINS)


def test_edges_of_the_distribution_belong_to_the_step_above():
    assert steps_of(np.array([0.0, 0.5, 0.5 - 1e-15, 0.4999, 1.0])).tolist() == [
        0,
        BINS // 2,
        BINS // 2,
        BINS // 2 - 1,
        BINS - 1,
    ]


@pytest.mark.parametrize(("level", "rank"), [(0.8, 0), (0.6, 1), (0.2, 2), (0.01, 3)])
def test_only_a_more_trusted_recipient_adds_to_the_ladder(level, rank):
    matrices = [uniform_matrix(p, 4) for p in LEVELS]
    change = added_recipient(
        matrices, LEVELS, uniform_matrix(level, 4), level, FREQUENCIES, Silent()
    )
    assert change.rank == rank
    assert change.independent_after.average > change.independent_before.average
    if rank == 0:
        assert change.raises_the_top
        assert change.after.average > change.before.average
        assert change.after is change.alone
    else:
        assert change.after is change.before


def test_the_first_recipient_has_nobody_to_collude_with():
    change = added_recipient([], [], uniform_matrix(0.5, 4), 0.5, FREQUENCIES, Silent())
    assert change.before is None
    assert change.after.average == change.independent_after.average


def test_known_draws_are_the_same_from_any_start():
    assert np.array_equal(words(40, 3)[16:], words(24, 3, start=4))
    drawn = uniforms(20_000, 5)
    assert 0.0 <= drawn.min() < drawn.max() < 1.0
    assert abs(drawn.mean() - 0.5) < 5 * (1 / 12 / 20_000) ** 0.5


@pytest.mark.parametrize("members", [3, 6])
def test_weighing_can_be_cancelled(members):
    matrices = [uniform_matrix(0.6 / (1 + place), 40) for place in range(members)]
    context = Callback(lambda _fraction, _text: None, lambda: True)
    with pytest.raises(Cancelled):
        coalition_risk(matrices, np.full(40, 1 / 40), context)


def brute_force(matrices, frequencies):
    """Go through all outcomes of all members, by the definition."""
    size = len(frequencies)
    guessed = posterior = 0.0
    for outcome in itertools.product(range(size), repeat=len(matrices)):
        joint = np.array(
            [
                frequencies[x]
                * np.prod([m.row(y)[x] for m, y in zip(matrices, outcome, strict=True)])
                for x in range(size)
            ]
        )
        guessed += joint.max()
        posterior += (joint**2).sum() / joint.sum() if joint.sum() else 0.0
    return guessed, posterior


def test_without_a_release_the_commonest_value_is_guessed():
    result = restored_without(FREQUENCIES)
    assert result.guessed == 0.5
    assert result.posterior == pytest.approx((FREQUENCIES**2).sum())


@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=3),
    st.lists(st.floats(0.01, 1.0), min_size=2, max_size=4),
)
@settings(deadline=None, max_examples=tried(40))
def test_independent_coalitions_agree_with_enumeration(levels, weights):
    frequencies = np.array(weights) / np.sum(weights)
    matrices = [uniform_matrix(level, len(frequencies)) for level in levels]
    result = restored_together(matrices, frequencies, Silent())
    guessed, posterior = brute_force(matrices, frequencies)
    assert result.half_width == 0.0
    assert result.guessed == pytest.approx(guessed)
    assert result.posterior == pytest.approx(posterior)


def test_any_matrix_will_do():
    dense = DenseMatrix(np.array([[0.7, 0.1, 0.2], [0.2, 0.8, 0.2], [0.1, 0.1, 0.6]]))
    matrices = [dense, RetentionMatrix(np.array([0.2, 0.4, 0.0]))]
    frequencies = np.array([0.2, 0.5, 0.3])
    result = restored_together(matrices, frequencies, Silent())
    assert (result.guessed, result.posterior) == pytest.approx(brute_force(matrices, frequencies))


def test_the_original_restores_everything_and_noise_nothing():
    original, noise = uniform_matrix(1.0, 4), uniform_matrix(0.0, 4)
    assert restored_alone(original, FREQUENCIES, Silent()).guessed == pytest.approx(1.0)
    assert restored_alone(noise, FREQUENCIES, Silent()).guessed == pytest.approx(0.5)


def test_drawn_outcomes_agree_with_enumerated_ones(monkeypatch):
    matrices = [uniform_matrix(level, 4) for level in (0.6, 0.3, 0.1)]
    exact = restored_together(matrices, FREQUENCIES, Silent())
    monkeypatch.setattr(engine, "MOST_ENTRIES", 0)
    drawn = restored_together(matrices, FREQUENCIES, Silent())
    assert 0.0 < drawn.half_width < 0.01
    assert abs(drawn.guessed - exact.guessed) < 2 * drawn.half_width
    assert drawn == restored_together(matrices, FREQUENCIES, Silent())


def test_drawing_never_sees_an_impossible_value(monkeypatch):
    monkeypatch.setattr(engine, "MOST_ENTRIES", 0)
    frequencies = np.array([0.6, 0.4, 0.0])
    matrices = [uniform_matrix(1.0, 3), uniform_matrix(0.5, 3)]
    result = restored_together(matrices, frequencies, Silent())
    assert result.guessed == pytest.approx(1.0)


@given(st.lists(st.floats(0.05, 0.9), min_size=2, max_size=3))
@settings(deadline=None, max_examples=tried(25))
def test_independent_noise_gives_a_coalition_at_least_what_the_ladder_gives(levels):
    matrices = [uniform_matrix(level, 4) for level in levels]
    best = max(restored_alone(m, FREQUENCIES, Silent()).guessed for m in matrices)
    assert restored_together(matrices, FREQUENCIES, Silent()).guessed >= best - 1e-12


def test_many_independent_releases_restore_far_more_than_the_ladder():
    """The paper's Figure 7: independent releases approach certainty, the ladder does not."""
    frequencies = np.full(20, 0.05)
    matrices = [uniform_matrix(level, 20) for level in np.linspace(0.001, 0.5, 30)]
    together = restored_together(matrices, frequencies, Silent())
    alone = restored_alone(matrices[-1], frequencies, Silent())
    assert together.guessed > 0.98
    assert alone.guessed == pytest.approx(0.525)


def test_a_coalition_over_a_large_domain_can_be_cancelled():
    context = Callback(lambda _fraction, _text: None, lambda: True)
    with pytest.raises(Cancelled):
        restored_alone(uniform_matrix(0.5, 3000), np.full(3000, 1 / 3000), context)
