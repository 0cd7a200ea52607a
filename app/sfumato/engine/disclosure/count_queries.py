"""Count queries: what a recipient answers from a release, beside the truth.

A query counts the records with given public values and one sensitive value. Public values are
released as they are, so the matching records are known; among them the sensitive value's share
is estimated from the released values (Wang, Han and Fu 2012, section 3.1). All of it works on
the distinct groups, never on rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.values import Value, plain
from sfumato.engine.disclosure.grouped_values import GroupedValues, Integers
from sfumato.engine.matrices.estimate import estimate_frequencies
from sfumato.engine.matrices.intervals import VarianceLaw, Vector
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.mechanisms.reconstruction.law import ResampledLaw


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


def matching_groups(
    grouped: GroupedValues, conditions: Mapping[str, Value]
) -> npt.NDArray[np.bool_]:
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


def true_answer(grouped: GroupedValues, met: npt.NDArray[np.bool_], value: int) -> int:
    """Return how many records of the matching groups have the sensitive value."""
    return int(_added(grouped.counts, met)[value])


def estimated_answer(
    sizes: Integers,
    released: sparse.csr_array,
    met: npt.NDArray[np.bool_],
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


def _added(counts: sparse.csr_array, met: npt.NDArray[np.bool_]) -> Integers:
    """Return the values' counts over the matching groups, shape (m,)."""
    added: Integers = np.asarray(met.astype(np.int64) @ counts, dtype=np.int64)
    return added
