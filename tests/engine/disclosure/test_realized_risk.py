"""What a coalition restores from what it really holds: against enumeration by the definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import Cancelled, LadderError, TableError
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.disclosure import realized_risk as engine
from sfumato.engine.disclosure.coalition_risk import coalition_risk
from sfumato.engine.disclosure.realized_risk import RealizedRisks
from sfumato.engine.matrices.matrix import DenseMatrix
from sfumato.engine.matrices.retention_matrix import RetentionMatrix, uniform_matrix
from sfumato.engine.randomness.keys import draw_released, uniforms
from tests.thorough import tried

UNEVEN = np.array([0.9, 0.4, 0.2])
TOP = np.array([[0.7, 0.1, 0.2], [0.2, 0.8, 0.2], [0.1, 0.1, 0.6]])
DOWN = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
LADDERS = {
    "uniform": [uniform_matrix(p, 3) for p in (0.6, 0.3, 0.1)],
    "equal levels": [uniform_matrix(p, 3) for p in (0.5, 0.5)],
    "the original": [uniform_matrix(p, 3) for p in (1.0, 0.4)],
    "nothing": [uniform_matrix(p, 3) for p in (0.3, 0.0)],
    "uneven": [RetentionMatrix(UNEVEN * factor) for factor in (1.0, 0.5, 0.2)],
    "any matrix": [DenseMatrix(TOP), DenseMatrix(DOWN @ TOP)],
}


def realized_risk(true, held, matrices, shares, context, covered=None):
    """What a coalition restores of records that come at once."""
    found = RealizedRisks(matrices, shares, len(true))
    found.add(true, held, covered or [None] * len(held), context)
    return found.found(context)


def released_down(matrices, true):
    """What each member holds: every release is made from the one above."""
    columns, above = [], None
    for place, matrix in enumerate(matrices):
        channel = matrix if above is None else above.garbling_to(matrix)
        source = true if above is None else columns[-1]
        columns.append(draw_released(channel, source, uniforms(len(true), 50 + place)))
        above = matrix
    return columns


def joint_belief(matrices, frequencies, outcome):
    """Pr[original | all that is held], from the chain's joint law (Lemma 1)."""
    weight = frequencies * matrices[0].row(outcome[0])
    for (upper, lower), (above, below) in zip(
        itertools.pairwise(matrices), itertools.pairwise(outcome), strict=True
    ):
        weight = weight * upper.garbling_to(lower).dense()[below, above]
    return weight / weight.sum()


def records(frequencies, count=300):
    true = np.repeat(np.arange(len(frequencies)), np.ceil(frequencies * count).astype(int))
    return true, np.bincount(true, minlength=len(frequencies)) / len(true)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", LADDERS)
@pytest.mark.parametrize("cells", [engine.MOST_CELLS, 0])
def test_every_record_has_the_probability_of_the_definition(monkeypatch, name, cells):
    monkeypatch.setattr(engine, "MOST_CELLS", cells)
    matrices = LADDERS[name]
    true, shares = records(np.array([0.6, 0.3, 0.1]))
    held = released_down(matrices, true)
    found = realized_risk(true, held, matrices, shares, Silent())
    own, guessed = [], 0.0
    for x, *outcome in zip(true, *held, strict=True):
        belief = joint_belief(matrices, shares, outcome)
        own.append(belief[x])
        likeliest = np.flatnonzero(belief >= belief.max() * (1 - 1e-9))
        guessed += (x in likeliest) / len(likeliest)
    own = np.array(own)
    assert found.risk.average == pytest.approx(own.mean())
    assert found.together == pytest.approx(own.mean())
    assert found.risk.guessed == pytest.approx(guessed / len(true))
    for value in range(3):
        assert found.risk.by_value[value] == pytest.approx(own[true == value].mean())
    assert found.risk.likely == pytest.approx((own >= 0.5 - 1e-9).mean())
    assert found.risk.certain == pytest.approx((own >= 0.9 - 1e-9).mean())
    assert found.risk.histogram.sum() == pytest.approx(1.0)
    assert (found.compared, found.records) == (len(true), len(true))
    assert found.largest_difference < 1e-14
    assert found.risk.exact


@given(
    st.lists(st.floats(0.01, 0.99), min_size=2, max_size=5),
    st.lists(st.floats(0.01, 1.0), min_size=2, max_size=5),
    st.booleans(),
)
@settings(deadline=None, max_examples=tried(40))
def test_the_coalition_believes_what_its_best_member_believes(levels, weights, uneven):
    levels = sorted(levels, reverse=True)
    profile = np.linspace(0.3, 1.0, len(weights)) if uneven else np.ones(len(weights))
    matrices = [RetentionMatrix(level * profile) for level in levels]
    true, shares = records(np.array(weights) / sum(weights), 60)
    found = realized_risk(true, released_down(matrices, true), matrices, shares, Silent())
    assert found.largest_difference < 1e-12
    assert found.together == pytest.approx(found.risk.average, abs=1e-12)
    assert found.alone == pytest.approx(found.risk.average, abs=1e-12)


def test_over_many_records_it_is_what_was_expected():
    matrices = [uniform_matrix(p, 4) for p in (0.6, 0.3)]
    true, shares = records(np.array([0.5, 0.3, 0.15, 0.05]), 200_000)
    found = realized_risk(true, released_down(matrices, true), matrices, shares, Silent())
    expected = coalition_risk(matrices, shares, Silent()).on_ladder
    assert found.risk.average == pytest.approx(expected.average, abs=0.003)
    assert found.risk.guessed == pytest.approx(expected.guessed, abs=0.005)
    assert found.risk.histogram == pytest.approx(expected.histogram, abs=0.005)


def test_the_values_restored_best_come_first_and_those_that_do_not_occur_never():
    matrices = [uniform_matrix(0.5, 4)]
    true, shares = records(np.array([0.2, 0.0, 0.5, 0.3]))
    found = realized_risk(true, released_down(matrices, true), matrices, shares, Silent())
    assert found.worst(2) == (2, 3)
    assert set(found.worst(9)) == {0, 2, 3}
    assert np.isnan(found.risk.by_value[1])
    assert found.largest_difference == 0.0


def test_where_there_is_too_much_to_compare_some_records_are(monkeypatch):
    monkeypatch.setattr(engine, "WORK", 600)
    monkeypatch.setattr(engine, "MOST_CELLS", 0)
    matrices = LADDERS["uniform"]
    true, shares = records(np.array([0.6, 0.3, 0.1]))
    held = released_down(matrices, true)
    found = realized_risk(true, held, matrices, shares, Silent())
    assert found.compared == 600 // 9
    assert found.records == len(true)
    assert found.together == pytest.approx(found.alone, abs=1e-14)


def test_what_does_not_fit_is_refused():
    matrices, shares = LADDERS["uniform"][:2], np.full(3, 1 / 3)
    true = np.array([0, 1, 2])
    for held in ([true], [true, true[:2]], [true, true + 1], []):
        with pytest.raises(TableError, match="does not fit"):
            realized_risk(true, held, matrices, shares, Silent())
    with pytest.raises(TableError):
        realized_risk(true[:0], [true[:0]] * 2, matrices, shares, Silent())
    with pytest.raises(LadderError):
        realized_risk(true, [true, true], matrices[::-1], shares, Silent())


def test_it_can_be_cancelled():
    true = np.array([0, 1, 2])
    stop = Callback(lambda _share, _text: None, lambda: True)
    with pytest.raises(Cancelled):
        realized_risk(true, [true], LADDERS["uniform"][:1], np.full(3, 1 / 3), stop)


def test_where_members_hold_a_part_what_the_others_hold_of_a_record_decides():
    frequencies = np.array([0.5, 0.3, 0.2])
    true, shares = records(frequencies, 200)
    matrices = LADDERS["uneven"]
    held = released_down(matrices, true)
    some = np.arange(len(true)) % 3
    covered = [some == 0, some != 2, some == 0]
    found = realized_risk(true, held, matrices, shares, Silent(), covered)
    beliefs = []
    for record, value in enumerate(true):
        has = [member for member in range(3) if covered[member][record]]
        seen = [held[member][record] for member in has]
        belief = joint_belief([matrices[m] for m in has], shares, seen) if has else shares
        beliefs.append(belief[value])
    beliefs = np.array(beliefs)
    assert found.risk.average == pytest.approx(beliefs.mean())
    assert found.together == pytest.approx(beliefs.mean())
    assert found.alone == pytest.approx(beliefs.mean())
    assert found.largest_difference < 1e-12
    assert found.compared == found.records == len(true)
    assert found.risk.by_value == pytest.approx([beliefs[true == x].mean() for x in range(3)])
    assert found.risk.histogram.sum() == pytest.approx(1.0)
    # Nothing is known of the records that nobody's release has but how frequent values are.
    nothing = [np.zeros(len(true), dtype=bool)]
    nobody = realized_risk(true, held[:1], matrices[:1], shares, Silent(), nothing)
    assert nobody.risk.average == pytest.approx(shares[true].mean())
    assert nobody.risk.guessed == pytest.approx(shares.max())
