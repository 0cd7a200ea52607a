"""What a coalition restores where some members hold a part of the records only.

An earlier release that was adopted may lack records. Of each record, the coalition holds what
those of its members hold whose releases have it: on a ladder the most trusted of these decides,
and where nobody's release has it, nothing is known but what was believed before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.realized_risk import RealizedRisk, realized_risk
from sfumato.engine.disclosure.record_risk import RecordRisk
from sfumato.engine.matrices.matrix import PerturbationMatrix, Vector
from sfumato.engine.matrices.retention_matrix import uniform_matrix

Flags = npt.NDArray[np.bool_]


def realized_by_coverage(
    true: Codes,
    held: Sequence[Codes],
    covered: Sequence[Flags | None],
    matrices: Sequence[PerturbationMatrix],
    frequencies: Vector,
    context: Context,
) -> RealizedRisk:
    """Weigh what a coalition really holds, record by record.

    Parameters
    ----------
    true, held, matrices, frequencies, context
        As in `realized_risk`.
    covered
        Which records each member's release has, shape (n,) each; None for all. What is `held` of
        others means nothing.

    Returns
    -------
    RealizedRisk
        Its `alone` and `largest_difference` compare with the most trusted member that has the
        record.

    Raises
    ------
    SfumatoError
        As `realized_risk`.
    """
    if all(one is None for one in covered):
        return realized_risk(true, held, matrices, frequencies, context)
    everywhere = np.ones(len(true), dtype=bool)
    has = np.stack([everywhere if one is None else one for one in covered], axis=1)
    patterns, of_record = np.unique(has, axis=0, return_inverse=True)
    found = []
    for place, pattern in enumerate(patterns):
        part = Part(context, place / len(patterns), (place + 1) / len(patterns))
        rows = np.flatnonzero(of_record == place)
        members = np.flatnonzero(pattern).tolist()
        seen = [held[member][rows] for member in members]
        channels = [matrices[member] for member in members]
        if not seen:  # a release that shows nothing stands for having none
            seen = [np.zeros_like(true[rows])]
            channels = [uniform_matrix(0.0, len(frequencies))]
        risk = realized_risk(true[rows], seen, channels, frequencies, part)
        found.append((risk, np.bincount(true[rows], minlength=len(frequencies))))
    return _together(found)


def _together(found: Sequence[tuple[RealizedRisk, npt.NDArray[np.intp]]]) -> RealizedRisk:
    """Return the figures of all records from those of parts, each with its counts by value."""
    risks = [one for one, _ in found]
    records = np.array([one.records for one in risks], dtype=np.float64)
    compared = np.array([one.compared for one in risks], dtype=np.float64)
    counts = np.stack([by_value for _, by_value in found]).astype(np.float64)

    def by_value(parts: Sequence[Vector]) -> Vector:
        sums = (np.nan_to_num(np.stack(parts)) * counts).sum(axis=0)
        known = counts.sum(axis=0)
        means: Vector = np.divide(sums, known, out=np.full(len(known), np.nan), where=known > 0.0)
        return means

    def mean(parts: Sequence[float], weights: Vector) -> float:
        return float(np.average(parts, weights=weights))

    each = [one.risk for one in risks]
    return RealizedRisk(
        risk=RecordRisk(
            average=mean([one.average for one in each], records),
            guessed=mean([one.guessed for one in each], records),
            by_value=by_value([one.by_value for one in each]),
            certain_by_value=by_value([one.certain_by_value for one in each]),
            histogram=np.average([one.histogram for one in each], axis=0, weights=records),
            draws=0,
            average_error=0.0,
            guessed_error=0.0,
            error_by_value=np.zeros(counts.shape[1]),
        ),
        together=mean([one.together for one in risks], compared),
        alone=mean([one.alone for one in risks], compared),
        largest_difference=max(one.largest_difference for one in risks),
        compared=int(compared.sum()),
        records=int(records.sum()),
    )
