"""What somebody believes of one person who may be any of several records.

The attacker knows that the person is one of k records, and how likely each of them is before the
released values are looked at. Of everybody else he believes π, of the person he may believe ρ,
something of their own. Record i shows y_i. By Bayes' rule, over all ways in which the person is a
record and the records have values,

    Pr[X = x | y] ∝ ρ(x) · Σ_i v_i · Pr[y_i | x] / m(y_i),   m(y) = Σ_z π(z)·Pr[y | z],

and record i is the person's with a probability ∝ v_i·Σ_x ρ(x)·Pr[y_i | x] / m(y_i), which is v_i
where ρ = π. The sum over records is one product with the transposed matrix, so it is exact for any
number of records and values. Several attributes that are drawn independently multiply these
weights of the records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.values import Floats, Indices
from sfumato.engine.disclosure.gaussian_attack import Prior
from sfumato.engine.disclosure.noise_law import NoiseLaw
from sfumato.engine.matrices.matrix import PerturbationMatrix, Vector

_CELLS = 4_000_000
"""Likelihoods held in memory at once."""


@dataclass(frozen=True)
class Shown:
    """What one release shows of an attribute in those records of which it is the most telling.

    Parameters
    ----------
    records
        The records' places among the k that the person may be, shape (r,).
    codes
        What is shown of them, shape (r,).
    matrix
        How it was made.
    """

    records: Indices = field(repr=False)
    codes: Codes = field(repr=False)
    matrix: PerturbationMatrix


def weights_of_records(
    shown: Sequence[Shown], person: Vector, others: Vector, count: int
) -> Vector:
    """Return by how much what is shown makes each record likelier to be the person's, shape (k,).

    Parameters
    ----------
    shown
        What releases show of the records; those in none weigh 1.
    person, others
        What is believed of the person (ρ) and of everybody else (π), shape (m,).
    count
        The number of records, k.
    """
    weights = np.ones(count)
    for each in shown:
        ratio = _ratio(each.matrix.apply(person), each.matrix.apply(others))
        weights[each.records] = ratio[each.codes]
    return weights


def belief_about_person(
    shown: Sequence[Shown], weights: Vector, person: Vector, others: Vector
) -> Vector:
    """Return what is believed of the person once the records are looked at, shape (m,).

    Parameters
    ----------
    shown, person, others
        As in `weights_of_records`.
    weights
        How likely each record is the person's by everything but this attribute, shape (k,).
    """
    size = len(others)
    unseen = weights.copy()
    evidence = np.zeros(size)
    for each in shown:
        seen = weights[each.records]
        counted = np.bincount(each.codes, seen, size).astype(np.float64)
        expected = each.matrix.apply(others)
        evidence += each.matrix.apply_transposed(_ratio(counted, expected))
        unseen[each.records] = 0.0
    belief = person * (evidence + unseen.sum())
    total = float(belief.sum())
    return belief / total if total > 0.0 else person


def _ratio(above: Vector, below: Vector) -> Vector:
    return np.divide(above, below, out=np.zeros_like(below), where=below > 0.0)


@dataclass(frozen=True)
class ShownNumbers:
    """What one release with noise shows of N numbers in some of the records.

    Parameters
    ----------
    records
        The records' places among the k that the person may be, shape (r,).
    numbers
        What is shown of them, shape (N, r), without gaps.
    noise
        The law of the noise.
    """

    records: Indices = field(repr=False)
    numbers: Floats = field(repr=False)
    noise: NoiseLaw


def belief_about_numbers(shown: Sequence[ShownNumbers], weights: Vector, prior: Prior) -> Vector:
    """Return how likely the person's numbers are each of the prior's, shape (A,).

    Of the person and of everybody else the same is believed before.

    Parameters
    ----------
    shown
        What releases show of the records.
    weights
        How likely each record is the person's, shape (k,).
    prior
        The numbers that occur, and how often.
    """
    unseen = weights.copy()
    found = np.zeros(len(prior.shares))
    own = np.log(prior.shares)
    step = max(1, _CELLS // len(own))
    for each in shown:
        for start in range(0, each.numbers.shape[1], step):
            block = slice(start, start + step)
            scores = each.noise.scores(each.numbers[:, block], prior.atoms) + own
            chances = np.exp(scores - scores.max(axis=1, keepdims=True))
            chances /= chances.sum(axis=1, keepdims=True)
            found += weights[each.records[block]] @ chances
        unseen[each.records] = 0.0
    found += unseen.sum() * prior.shares
    total = float(found.sum())
    return found / total if total > 0.0 else prior.shares
