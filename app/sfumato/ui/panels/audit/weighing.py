"""What a coalition restores, computed in a job; no widgets here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.added_recipient import AddedRecipient, added_recipient
from sfumato.engine.disclosure.coalition_risk import CoalitionRisk, coalition_risk
from sfumato.engine.disclosure.collusion import restored_alone, restored_without
from sfumato.engine.disclosure.risk_growth import risk_growth
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.plots.collusion_bars import CollusionData, Member
from sfumato.plots.risk_growth import GrowthData
from sfumato.ui.panels.audit.holdings import Holding

Frequencies = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Weighed:
    """A coalition's weight.

    Parameters
    ----------
    bars
        What its members restore alone and together.
    risk
        For every record, how likely its true value is restored.
    growth
        How the risk grows with every member, in the order in which they get their releases.
    """

    bars: CollusionData
    risk: CoalitionRisk
    growth: GrowthData


def matrices_of(
    coalition: Sequence[Holding], frequencies: Frequencies
) -> list[PerturbationMatrix] | None:
    """Return the members' matrices; None where one has none, or one of another domain."""
    present = [holding.matrix for holding in coalition if holding.matrix is not None]
    if len(present) < len(coalition) or any(m.size != len(frequencies) for m in present):
        return None
    return present


def weigh(
    attribute: str,
    coalition: Sequence[Holding],
    frequencies: Frequencies,
    context: Context,
) -> Weighed | None:
    """Weigh a coalition.

    Parameters
    ----------
    attribute
        The policy entry's attributes.
    coalition
        What its members hold, the most trusted first; at least one.
    frequencies
        The share of each value, shape (m,).
    context
        Progress and cancelling.

    Returns
    -------
    Weighed or None
        None where a mechanism has no matrix.

    Raises
    ------
    LadderError
        If the releases are on no ladder.
    """
    present = matrices_of(coalition, frequencies)
    if present is None:
        return None
    count = len(present)
    alone = [
        restored_alone(matrix, frequencies, Part(context, 0.2 * at / count, 0.2 * (at + 1) / count))
        for at, matrix in enumerate(present)
    ]
    risk = coalition_risk(present, frequencies, Part(context, 0.2, 0.7))
    members = tuple(
        Member(holding.recipient, holding.trust, result.guessed)
        for holding, result in zip(coalition, alone, strict=True)
    )
    bars = CollusionData(
        attribute,
        members,
        on_ladder=alone[0].guessed,
        independent=max(risk.independent.guessed, alone[0].guessed),
        uncertainty=risk.independent.guessed_error if count > 1 else 0.0,
        without=restored_without(frequencies).guessed,
    )
    growth = _growth(attribute, coalition, present, frequencies, Part(context, 0.7, 1.0))
    return Weighed(bars, risk, growth)


def weigh_added(
    coalition: Sequence[Holding],
    added: Holding,
    frequencies: Frequencies,
    context: Context,
) -> AddedRecipient | None:
    """Weigh what one more recipient would change; None where a mechanism has no matrix.

    Parameters
    ----------
    coalition
        What its members hold, the most trusted first; may be empty.
    added
        What the new one would hold.
    frequencies, context
        As for `weigh`.
    """
    present = matrices_of([*coalition, added], frequencies)
    if present is None:
        return None
    trusts = [holding.trust for holding in coalition]
    return added_recipient(present[:-1], trusts, present[-1], added.trust, frequencies, context)


def _growth(
    attribute: str,
    coalition: Sequence[Holding],
    matrices: Sequence[PerturbationMatrix],
    frequencies: Frequencies,
    context: Context,
) -> GrowthData:
    order = sorted(range(len(coalition)), key=lambda at: coalition[at].place)
    points = risk_growth(
        [matrices[at] for at in order],
        [coalition[at].trust for at in order],
        frequencies,
        context,
    )
    return GrowthData(attribute, points, tuple(coalition[at].recipient for at in order))
