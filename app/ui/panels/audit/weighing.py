"""What a coalition restores, computed in a job; no widgets here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from app.engine.audit.collusion import restored_alone, restored_together, restored_without
from app.engine.progress import Context, Part
from app.plots.collusion_bars import CollusionData, Member
from app.ui.panels.audit.holdings import Holding


def weigh(
    attribute: str,
    coalition: Sequence[Holding],
    frequencies: npt.NDArray[np.float64],
    context: Context,
) -> CollusionData | None:
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
    CollusionData or None
        None where a mechanism has no matrix.
    """
    matrices = [holding.matrix for holding in coalition]
    present = [matrix for matrix in matrices if matrix is not None]
    if len(present) < len(matrices) or any(m.size != len(frequencies) for m in present):
        return None
    alone = [
        restored_alone(
            matrix,
            frequencies,
            Part(context, 0.5 * place / len(present), 0.5 * (place + 1) / len(present)),
        )
        for place, matrix in enumerate(present)
    ]
    together = restored_together(present, frequencies, Part(context, 0.5, 1.0))
    return CollusionData(
        attribute,
        tuple(
            Member(holding.recipient, holding.trust, result.guessed)
            for holding, result in zip(coalition, alone, strict=True)
        ),
        on_ladder=alone[0].guessed,
        independent=max(together.guessed, alone[0].guessed),
        uncertainty=together.half_width,
        without=restored_without(frequencies).guessed,
    )
