"""Count queries: what a recipient answers from a release, and what noisy answers give away.

A query counts the records with given public values and one sensitive value. Public values are
released as they are, so the matching records are known; among them the sensitive value's share
is estimated from the released values (Wang, Han and Fu 2012, section 3.1). All of it works on
the distinct groups, never on rows.

How well a release answers queries is measured on a pool of random ones. Wang, Han and Fu
(2012), section 6.1, draw a query by choosing how many public attributes it
names (1 to 3), which, a value for each, and a sensitive value, all evenly, and keep it where at
least 0.1 % of the records answer it. Most draws are thrown away. Here the queries that would be
kept are listed, each with its chance, and the pool is drawn from that list: the same law, at
once.

*Two noisy counts* give away a small group's distribution. A query system that answers counts with
Laplace noise of scale b = 1/λ is λ-differentially private for one answer. Whoever asks for the size
of a group (true answer o1) and for its records with one sensitive value (o2) divides the answers:
F' = o2'/o1' estimates f = o2/o1. Wang, Han and Fu (2012), section 6.3, drew 100 such pairs for each
group; here the chances are exact.

With W = ξ2 − t·ξ1 and D = t·o1 − o2, the ratio exceeds t when W > D, except where the noisy size
is negative and the comparison turns round; both parts have closed forms.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from sfumato.engine.core.errors import EstimationError, LevelError, PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Flags, Floats, Integers, Value, plain
from sfumato.engine.disclosure.grouped_values import GroupedValues
from sfumato.engine.disclosure.resampled_law import ResampledLaw
from sfumato.engine.matrices.estimate import VarianceLaw, estimate_frequencies
from sfumato.engine.matrices.matrix import PerturbationMatrix, Vector
from sfumato.engine.randomness.keys import places_of, uniforms
from sfumato.engine.table.micro_groups import PublicAttribute, merge


@dataclass(frozen=True)
class CountAnswer:
    """One query's answer from one release.

    Parameters
    ----------
    estimate
        The estimated number of records; it may be negative.
    low, high
        Its confidence interval, clipped to what is possible.
    observed
        How many matching records show the value in the release.
    matching
        How many records meet the public conditions.
    """

    estimate: float
    low: float
    high: float
    observed: int
    matching: int


def matching_groups(grouped: GroupedValues, conditions: Mapping[str, Value]) -> Flags:
    """Return which groups meet every condition, shape (G,).

    Parameters
    ----------
    grouped
        The groups.
    conditions
        For some public attributes, the value asked for; None asks for missing.

    Raises
    ------
    EstimationError
        If an attribute is not public, or no record has a value asked for.
    """
    met = np.ones(grouped.groups, dtype=bool)
    known = {attribute.name: attribute for attribute in grouped.attributes}
    for name, value in conditions.items():
        if name not in known:
            raise EstimationError(
                "There is no public attribute {column} to ask about.",
                "Ask about: {known}.",
                column=name,
                known=", ".join(known) or "none",
            )
        attribute = known[name]
        codes = [len(attribute.values)] if value is None else _codes_of(attribute.values, value)
        met &= np.isin(attribute.codes, codes)
    if not met.any():
        raise EstimationError(
            "No record meets the conditions on {columns}.",
            "Choose values that occur together.",
            columns=", ".join(conditions),
        )
    return met


def _codes_of(values: pd.Index, asked: Value) -> list[int]:
    return [code for code, value in enumerate(values) if plain(value) == asked]


def true_answer(grouped: GroupedValues, met: Flags, value: int) -> int:
    """Return how many records of the matching groups have the sensitive value."""
    return int(_added(grouped.counts, met)[value])


def estimated_answer(
    sizes: Integers,
    released: scipy.sparse.csr_array,
    met: Flags,
    value: int,
    matrix: PerturbationMatrix,
    confidence: float = 0.95,
    law: ResampledLaw | None = None,
) -> CountAnswer:
    """Estimate a query's answer from a release.

    Parameters
    ----------
    sizes
        Each group's number of records, shape (G,).
    released
        How often each value was released in each group, shape (G, m).
    met
        Which groups meet the conditions, shape (G,).
    value
        The sensitive value's code.
    matrix
        The release's perturbation matrix.
    confidence
        The level of the interval.
    law
        The law of the groups where the release repeats records; None where every record was
        perturbed by itself.

    Raises
    ------
    EstimationError
        If no record matches, or the release can't tell values apart.
    LevelError
        If the confidence is not between 0 and 1.
    """
    observed = _added(released, met)
    matching = int(sizes[met].sum())
    repeated: VarianceLaw | None = None
    if law is not None:

        def repeated(shares: Vector) -> Vector:
            return law.estimate_variance(met, shares) / matching**2

    estimate = estimate_frequencies(observed, matrix, confidence, law=repeated)
    return CountAnswer(
        estimate=matching * float(estimate.frequencies[value]),
        low=matching * float(estimate.low[value]),
        high=matching * float(estimate.high[value]),
        observed=int(observed[value]),
        matching=matching,
    )


def _added(counts: scipy.sparse.csr_array, met: Flags) -> Integers:
    """Return the values' counts over the matching groups, shape (m,)."""
    return np.asarray(met.astype(np.int64) @ counts, dtype=np.int64)


QUERIES: Final = 5_000
MOST_ATTRIBUTES: Final = 3
"""The largest number of public attributes in a query, d."""
SELECTIVITY: Final = 0.001

_CELLS: Final = 1 << 22
"""Conditions times values that are held at once."""


@dataclass(frozen=True)
class QueryBlock:
    """The pool's queries that name the same public attributes.

    Parameters
    ----------
    names
        The attributes.
    condition
        For each group, which of the block's conditions it meets, shape (G,); -1 for none.
    records
        How many records meet each condition, shape (C,).
    asked
        Each query's condition, shape (Q,).
    values
        Each query's sensitive value, shape (Q,).
    truth
        Each query's true answer, shape (Q,).
    """

    names: tuple[str, ...]
    condition: Integers = field(repr=False)
    records: Integers = field(repr=False)
    asked: Integers = field(repr=False)
    values: Integers = field(repr=False)
    truth: Integers = field(repr=False)

    def estimates(self, released: scipy.sparse.csr_array, matrix: PerturbationMatrix) -> Floats:
        """Return each query's answer as estimated from a release, shape (Q,).

        Parameters
        ----------
        released
            How often each value was released in each group, shape (G, m).
        matrix
            The release's perturbation matrix.

        Raises
        ------
        EstimationError
            If the release can't tell values apart.
        """
        size = released.shape[1]
        cells = self.condition[np.repeat(np.arange(len(self.condition)), np.diff(released.indptr))]
        answers = np.empty(len(self.asked))
        step = max(_CELLS // size, 1)
        for start in range(0, len(self.records), step):
            end = min(start + step, len(self.records))
            inside = (cells >= start) & (cells < end)
            key = (cells[inside] - start) * size + released.indices[inside]
            added = (
                np.bincount(key, weights=released.data[inside], minlength=(end - start) * size)
                .reshape(end - start, size)
                .astype(np.float64)
            )
            estimated = np.stack([matrix.solve(row) for row in added])
            here = (self.asked >= start) & (self.asked < end)
            answers[here] = estimated[self.asked[here] - start, self.values[here]]
        return answers


@dataclass(frozen=True)
class QueryPool:
    """Random count queries with their true answers."""

    blocks: tuple[QueryBlock, ...]

    @property
    def size(self) -> int:
        """The number of queries."""
        return sum(len(block.asked) for block in self.blocks)

    @property
    def truth(self) -> Integers:
        """The true answers, shape (Q,)."""
        return np.concatenate([block.truth for block in self.blocks])

    def estimates(self, released: scipy.sparse.csr_array, matrix: PerturbationMatrix) -> Floats:
        """Return the answers as estimated from a release, shape (Q,); see `QueryBlock`."""
        return np.concatenate([block.estimates(released, matrix) for block in self.blocks])

    def relative_errors(
        self, released: scipy.sparse.csr_array, matrix: PerturbationMatrix
    ) -> Floats:
        """Return |estimate − truth|/truth of each query, shape (Q,)."""
        return np.abs(self.estimates(released, matrix) - self.truth) / self.truth


def query_pool(
    grouped: GroupedValues,
    context: Context,
    count: int = QUERIES,
    selectivity: float = SELECTIVITY,
    seed: int = 1,
) -> QueryPool:
    """Draw a pool of random count queries.

    Parameters
    ----------
    grouped
        The table's groups with their true values.
    context
        Progress and cancelling.
    count
        How many queries to draw; the same query may be drawn again, as in the paper.
    selectivity
        The smallest share of the records that a true answer may be.
    seed
        The same seed draws the same pool.

    Raises
    ------
    EstimationError
        If there are no public attributes, or no query is answered by so many records.
    """
    if not grouped.attributes:
        raise EstimationError(
            "There are no public attributes to ask about.",
            "Mark a column as a quasi-identifier, or choose one that is released as it is.",
        )
    least = max(1, int(np.ceil(selectivity * grouped.records)))
    candidates = []
    subsets = list(_subsets(grouped))
    for done, (chance, attributes) in enumerate(subsets):
        context.report(0.9 * done / len(subsets), "Looking for queries to ask")
        candidates.append(_candidates(grouped, attributes, chance, least))
    weights = np.concatenate([np.full(len(each.values), each.chance) for each in candidates])
    if not len(weights):
        raise EstimationError(
            "No query about these attributes is answered by {least} {least:record|records} or"
            " more.",
            "Lower the selectivity, or choose attributes with fewer values.",
            least=least,
        )
    drawn = places_of(np.cumsum(weights), uniforms(count, seed))
    bounds = np.cumsum([0, *(len(each.values) for each in candidates)])
    blocks = []
    for each, (start, end) in zip(candidates, itertools.pairwise(bounds), strict=True):
        chosen = np.sort(drawn[(drawn >= start) & (drawn < end)]) - start
        if len(chosen):
            blocks.append(_block(grouped, each, chosen))
    context.report(1.0, "Queries are drawn")
    return QueryPool(tuple(blocks))


@dataclass(frozen=True)
class _Candidates:
    """The queries about some attributes that enough records answer, all equally likely."""

    attributes: tuple[PublicAttribute, ...]
    chance: float
    merged: Integers
    conditions: Integers
    values: Integers
    truth: Integers


def _subsets(
    grouped: GroupedValues,
) -> Iterator[tuple[float, tuple[PublicAttribute, ...]]]:
    """Yield each choice of attributes with the chance of any one query about them."""
    largest = min(MOST_ATTRIBUTES, len(grouped.attributes))
    for number in range(1, largest + 1):
        choices = list(itertools.combinations(grouped.attributes, number))
        for attributes in choices:
            cells = float(grouped.values)
            for each in attributes:
                cells *= len(each.values) + bool((each.codes == len(each.values)).any())
            yield 1.0 / (largest * len(choices) * cells), attributes


def _candidates(
    grouped: GroupedValues,
    attributes: tuple[PublicAttribute, ...],
    chance: float,
    least: int,
) -> _Candidates:
    merged = merge(attributes, grouped.groups)
    size = grouped.values
    key = merged[grouped.cell_groups] * size + grouped.counts.indices
    cells = (int(merged.max()) + 1) * size
    if cells <= 8 * len(key) + (1 << 16):
        counts = np.bincount(key, weights=grouped.counts.data, minlength=cells)
        found = np.flatnonzero(counts >= least)
        truth = counts[found]
    else:
        present, inverse = np.unique(key, return_inverse=True)
        counts = np.bincount(inverse, weights=grouped.counts.data)
        enough = counts >= least
        found, truth = present[enough], counts[enough]
    conditions, values = np.divmod(found, size)
    return _Candidates(attributes, chance, merged, conditions, values, truth.astype(np.int64))


def _block(grouped: GroupedValues, candidates: _Candidates, chosen: Integers) -> QueryBlock:
    """Return the drawn queries, their conditions numbered afresh."""
    kept, asked = np.unique(candidates.conditions[chosen], return_inverse=True)
    numbers = np.full(int(candidates.merged.max()) + 1, -1, dtype=np.int64)
    numbers[kept] = np.arange(len(kept))
    records = np.bincount(candidates.merged, weights=grouped.sizes).astype(np.int64)
    return QueryBlock(
        tuple(each.name for each in candidates.attributes),
        numbers[candidates.merged],
        records[kept],
        asked.astype(np.int64),
        candidates.values[chosen],
        candidates.truth[chosen],
    )


@dataclass(frozen=True)
class RatioTails:
    """How often the ratio of two noisy counts misses the truth by more than ε of it.

    Parameters
    ----------
    high, low
        Pr[(F' − f)/f > ε] and Pr[(F' − f)/f < −ε], shape (G,).
    """

    high: Floats
    low: Floats

    @property
    def within(self) -> Floats:
        """The attacker's confidence: Pr[|F' − f| <= ε·f], shape (G,)."""
        return np.clip(1.0 - self.high - self.low, 0.0, 1.0)

    def violates(self, delta: float) -> Flags:
        """Return which groups have a tail below δ, shape (G,)."""
        return np.minimum(self.high, self.low) < delta


def ratio_tails(
    sizes: npt.ArrayLike, counts: npt.ArrayLike, privacy_loss: float, epsilon: float
) -> RatioTails:
    """Return the exact tails of the ratio of two noisy counts.

    Parameters
    ----------
    sizes
        The groups' sizes o1, shape (G,), at least 1.
    counts
        Their records with the sensitive value, o2, shape (G,), from 1 to the size.
    privacy_loss
        λ, the privacy loss of one answer: its noise has the scale b = 1/λ.
    epsilon
        ε, the relative error in question, above 0 and at most 1.

    Raises
    ------
    LevelError
        If λ or ε is out of range.
    PolicyError
        If a count is not between 1 and its group's size.
    """
    check_loss(privacy_loss)
    check_error(epsilon)
    whole = np.asarray(sizes, dtype=np.float64)
    part = np.asarray(counts, dtype=np.float64)
    if whole.shape != part.shape or (part < 1.0).any() or (part > whole).any():
        raise PolicyError(
            "A group's count is not between 1 and its size.",
            "Count a sensitive value that occurs in the group.",
        )
    share = part / whole
    high = _exceeds(share * (1.0 + epsilon), whole, part, epsilon * part, privacy_loss)
    low = 1.0 - _exceeds(share * (1.0 - epsilon), whole, part, -epsilon * part, privacy_loss)
    return RatioTails(np.clip(high, 0.0, 1.0), np.clip(low, 0.0, 1.0))


def riskiest_groups(sizes: Integers, largest: Integers, smallest_size: int, count: int) -> Integers:
    """Return the groups with the largest share of one value, most skewed first.

    Parameters
    ----------
    sizes, largest
        Each group's size and how often its most frequent value occurs, shape (G,).
    smallest_size
        Groups of this size or below are left out.
    count
        How many groups to return at most.
    """
    candidates = np.flatnonzero(sizes > smallest_size)
    shares = largest[candidates] / sizes[candidates]
    # Equal shares: the larger group first, for its ratio is the more exact.
    order = np.lexsort((candidates, -sizes[candidates], -shares))
    return candidates[order[:count]]


def shares_in_table(grouped: GroupedValues, values: Integers) -> Floats:
    """Return the share in the whole table of each of some values, shape of `values`."""
    counts = np.asarray(grouped.counts.sum(axis=0))
    return counts[values] / counts.sum()


def check_loss(privacy_loss: float) -> None:
    """Refuse a λ that is no privacy loss."""
    if not (np.isfinite(privacy_loss) and privacy_loss > 0.0):
        raise LevelError(
            "A privacy loss of {value} for one answer is out of range.",
            "Give a λ above 0, such as 0.1.",
            value=privacy_loss,
        )


def check_error(epsilon: float) -> None:
    """Refuse an ε at which the lower tail would have no meaning."""
    if not 0.0 < epsilon <= 1.0:
        raise LevelError(
            "A relative error of {value} is out of range.",
            "Give an ε above 0 and at most 1, such as 0.3 for 30 %.",
            value=epsilon,
        )


def _exceeds(limit: Floats, whole: Floats, part: Floats, distance: Floats, loss: float) -> Floats:
    """Return Pr[o2'/o1' > t], with D = t·o1 − o2 given without cancellation."""
    above = _difference_exceeds(limit, distance * loss)
    # A negative noisy size turns the comparison round: take those outcomes out, put in theirs.
    negative = 0.5 * np.exp(-whole * loss)
    both_low = 0.5 * np.exp(-(whole + part) * loss) / (1.0 + limit)
    return above - negative + both_low


def _difference_exceeds(limit: Floats, distance: Floats) -> Floats:
    """Return Pr[ξ2 − t·ξ1 > d] for Laplace noises of scale 1 and t >= 0.

    It is (e^−d − t²·e^(−d/t))/(2 − 2t²) for d >= 0, written so that nothing cancels near t = 1
    and nothing overflows.
    """
    far = np.abs(distance)
    t = np.maximum(limit, 1e-12)  # a smaller share of ξ1 changes no digit
    power = 2.0 * np.log(t) + far * (t - 1.0) / t
    scale = np.where(np.abs(t - 1.0) < 1e-9, 1.0, np.abs(1.0 - t * t))
    front = np.where(t < 1.0, np.exp(-far), t * t * np.exp(-far / t))
    general = -front * np.expm1(-np.abs(power)) / scale
    equal = np.exp(-far) * (1.0 + far / 2.0)
    tail = 0.5 * np.where(np.abs(t - 1.0) < 1e-9, equal, general)
    return np.where(distance >= 0.0, tail, 1.0 - tail)
