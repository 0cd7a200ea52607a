"""What one more recipient would change, answered before anything is released."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.coalition_risk import risk_of_independent
from sfumato.engine.disclosure.record_risk import RecordRisk
from sfumato.engine.matrices.matrix import PerturbationMatrix, Vector


@dataclass(frozen=True, eq=False)
class AddedRecipient:
    """A coalition's risk before and after somebody joins.

    Parameters
    ----------
    trust
        The new release's trust, from 0 to 1.
    rank
        Its place among the members, from 0 for the most trusted.
    alone
        The new recipient's own risk.
    before, after
        The coalition's risk on the ladder: its most trusted member's. `before` is None where
        nobody was in it.
    independent_before, independent_after
        The risk if every release had noise of its own.
    """

    trust: float
    rank: int
    alone: RecordRisk
    before: RecordRisk | None
    after: RecordRisk
    independent_before: RecordRisk | None
    independent_after: RecordRisk

    @property
    def raises_the_top(self) -> bool:
        """Whether the new recipient would be the most trusted one."""
        return self.rank == 0


def added_recipient(
    matrices: Sequence[PerturbationMatrix],
    trusts: Sequence[float],
    added: PerturbationMatrix,
    trust: float,
    frequencies: Vector,
    context: Context,
) -> AddedRecipient:
    """Return what a recipient more would change for a coalition.

    Parameters
    ----------
    matrices, trusts
        The members' releases and their trust from 0 to 1, the most trusted first; may be empty.
    added, trust
        The new recipient's release and its trust.
    frequencies
        The share of each value, shape (m,), summing to 1.
    context
        Progress and cancelling.

    Raises
    ------
    LadderError
        If the new release does not sit on one ladder with its neighbours.
    """
    shares = np.asarray(frequencies, dtype=np.float64)
    rank = bisect.bisect_right([-one for one in trusts], -trust)
    joined = [*matrices[:rank], added, *matrices[rank:]]
    for upper, lower in itertools.pairwise(joined):
        upper.garbling_to(lower)
    alone = risk_of_independent([added], shares, Part(context, 0.0, 0.1))
    before = independent_before = None
    if matrices:
        before = risk_of_independent(matrices[:1], shares, Part(context, 0.1, 0.2))
        independent_before = risk_of_independent(matrices, shares, Part(context, 0.2, 0.6))
    after = alone if rank == 0 or before is None else before
    independent_after = risk_of_independent(joined, shares, Part(context, 0.6, 1.0))
    return AddedRecipient(trust, rank, alone, before, after, independent_before, independent_after)
