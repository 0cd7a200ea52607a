"""What is believed of a person who may be any of several records, beside all ways counted out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.engine.disclosure.gaussian_attack import Prior
from sfumato.engine.disclosure.noise_law import NoiseLaw
from sfumato.engine.disclosure.record_risk import (
    ShownNumbers,
    TellingRelease,
    belief_about_numbers,
    belief_about_person,
    weights_of_records,
)
from sfumato.engine.matrices.matrix import DenseMatrix
from sfumato.engine.matrices.retention_matrix import uniform_matrix


def counted(matrices, codes, weights, person, others):
    """All ways in which a record is the person's and the records have values, one by one."""
    count, size = len(weights), len(others)
    belief, chances = np.zeros(size), np.zeros(count)
    for who in range(count):
        for values in itertools.product(range(size), repeat=count):
            chance = weights[who]
            for record, value in enumerate(values):
                chance *= person[value] if record == who else others[value]
                if matrices[record] is not None:
                    chance *= matrices[record][codes[record], value]
            belief[values[who]] += chance
            chances[who] += chance
    return belief / belief.sum(), chances / chances.sum()


@pytest.mark.parametrize("person", [(0.6, 0.3, 0.1), (0.05, 0.05, 0.9), (0.0, 0.5, 0.5)])
def test_beliefs_and_chances_are_those_of_every_way_counted_out(person):
    entries = np.array([[0.7, 0.1, 0.3], [0.2, 0.8, 0.1], [0.1, 0.1, 0.6]])
    fine, coarse = DenseMatrix(entries), uniform_matrix(0.3, 3)
    others, person = np.array([0.6, 0.3, 0.1]), np.array(person)
    weights, codes = np.array([0.5, 0.2, 0.2, 0.1]), np.array([2, 0, 1, 0])
    matrices = [entries, entries, coarse.dense(), None]
    shown = [
        TellingRelease(np.array([0, 1]), codes[:2].astype(np.uint8), fine),
        TellingRelease(np.array([2]), codes[2:3].astype(np.uint8), coarse),
    ]
    belief, chances = counted(matrices, codes, weights, person, others)
    found = belief_about_person(shown, weights, person, others)
    assert found == pytest.approx(belief, abs=1e-14)
    weighed = weights * weights_of_records(shown, person, others, 4)
    assert weighed / weighed.sum() == pytest.approx(chances, abs=1e-14)


def test_a_person_believed_like_everybody_is_each_record_as_likely_as_before():
    others = np.array([0.5, 0.25, 0.25])
    shown = [TellingRelease(np.arange(3), np.array([0, 1, 2], np.uint8), uniform_matrix(0.4, 3))]
    assert weights_of_records(shown, others, others, 3) == pytest.approx(np.ones(3))


def test_numbers_are_believed_by_bayes_over_the_records():
    atoms, shares = np.array([[1.0, 2.0, 4.0], [0.0, 5.0, 1.0]]), np.array([0.5, 0.3, 0.2])
    noise = np.array([[2.0, 0.5], [0.5, 1.0]])
    seen, weights = np.array([[1.5, 3.0], [1.0, 2.0]]), np.array([0.6, 0.3, 0.1])
    expected = weights[2] * shares
    for record in range(2):
        off = seen[:, record, None] - atoms
        chance = shares * np.exp(-0.5 * (off * np.linalg.solve(noise, off)).sum(axis=0))
        expected = expected + weights[record] * chance / chance.sum()
    shown = [ShownNumbers(np.array([0, 1]), seen, NoiseLaw(noise))]
    found = belief_about_numbers(shown, weights, Prior(atoms, shares))
    assert found == pytest.approx(expected, abs=1e-12)
