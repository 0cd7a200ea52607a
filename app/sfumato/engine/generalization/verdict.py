"""Whether a node's tuples satisfy the criteria, and at what price in records left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sfumato.engine.generalization.classes import Classes
from sfumato.engine.generalization.coded import IntArray
from sfumato.engine.generalization.criteria import Criterion
from sfumato.engine.generalization.frequencies import in_parts, sizes, totals
from sfumato.engine.generalization.grouping import Grouping, Tuples, classes_of_counts


@dataclass(frozen=True)
class Verdict:
    """What was found at one node.

    Parameters
    ----------
    safe
        Whether the criteria hold once at most the allowed number of records is left out.
    suppressed
        How many records have to be left out; where the node is not safe, at least as many.
    violating
        For some of the classes that violate the criteria, the number of one of their tuples.
    """

    safe: bool
    suppressed: int
    violating: IntArray = field(repr=False)


def satisfies(criteria: Sequence[Criterion], classes: Classes) -> npt.NDArray[np.bool_]:
    """Return which classes satisfy all criteria, shape (C,)."""
    good = criteria[0].satisfied(classes)
    for criterion in criteria[1:]:
        good = good & criterion.satisfied(classes)
    return good


def judge(
    grouping: Grouping,
    tuples: Tuples,
    criteria: Sequence[Criterion],
    allowed: int,
) -> Verdict:
    """Judge a node.

    Parameters
    ----------
    grouping, tuples
        The node's tuples, from this grouping.
    criteria
        At least one.
    allowed
        How many records may be left out.

    Returns
    -------
    Verdict
        Leaving records out changes the whole that t-closeness compares with; so it is repeated
        until what remains satisfies the criteria by itself.
    """
    left_out, violating = 0, np.zeros(0, dtype=np.intp)
    for classes, examples in grouping.classes(tuples):
        bad = np.flatnonzero(~satisfies(criteria, classes))
        if len(bad):
            left_out += int(classes.known_sizes()[bad].sum())
            violating = np.concatenate([violating, examples[bad]])
            if left_out > allowed:
                return Verdict(False, left_out, violating)
    if left_out and tuples.values is not None:
        left_out = _left_out(grouping, tuples, criteria)
    # With nothing left there is no table to publish.
    safe = left_out <= allowed and left_out < int(tuples.sizes.sum())
    return Verdict(safe, left_out, violating)


def _left_out(
    grouping: Grouping,
    tuples: Tuples,
    criteria: Sequence[Criterion],
) -> int:
    """Return how many records are left out when the rest has to satisfy the criteria by itself."""
    counts = grouping.frequencies(tuples)
    kept = kept_classes(criteria, counts, totals(counts))
    return int(sizes(counts)[~kept].sum())


def kept_classes(
    criteria: Sequence[Criterion],
    counts: sparse.csr_array,
    whole: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Return which classes remain when those that violate the criteria are left out.

    Parameters
    ----------
    criteria
        At least one.
    counts
        Frequencies of the sensitive values in each class, shape (C, m).
    whole
        Frequencies in the whole table, shape (m,).

    Returns
    -------
    numpy.ndarray
        Shape (C,). The classes that remain satisfy the criteria with their own frequencies as
        the whole.
    """
    kept = np.ones(counts.shape[0], dtype=np.bool_)
    while kept.any():
        good = good_classes(criteria, counts[kept], whole)
        if good.all():
            break
        kept[np.flatnonzero(kept)[~good]] = False
        whole = totals(counts[kept])
    return kept


def good_classes(
    criteria: Sequence[Criterion],
    counts: sparse.csr_array,
    whole: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Return which classes satisfy all criteria, shape (C,)."""
    good = np.zeros(counts.shape[0], dtype=np.bool_)
    for rows, part in in_parts(counts):
        good[rows] = satisfies(criteria, classes_of_counts(part, whole))
    return good
