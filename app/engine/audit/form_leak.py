"""What rounding and clipping give away when recipients pool their releases.

Noisy numbers of one ladder form a chain, so a coalition learns what its most trusted member
knows. Rounded, they are no chain any more: two roundings of one number tell more than either.
They can never tell more than the most trusted release would without rounding, because they are
made from a chain that it is the top of. How much lies between is measured here: by the error of
the best estimate that adds up bent lines (linear splines) of every released number, fitted on
one half of the records and examined on the other. A straight line would not do: a bound tells
that numbers end there, which a straight line through unbounded numbers can't use.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from app.engine.mechanisms.base import Mechanism, ReleaseRequest, Settings
from app.engine.progress import Context, Part, Silent
from app.engine.randomness import KeyRing
from app.engine.table import Attribute, EncodedColumn

Floats = npt.NDArray[np.float64]

MOST_ROWS: Final = 20_000
"""Records it is measured on: enough for a thousandth of the variance."""
FEWEST_ROWS: Final = 100
"""Records needed for each released number that a record is estimated from."""
_CORNERS: Final = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
"""Where the lines bend: quantiles of what was released."""
_RIDGE: Final = 1e-9


@dataclass(frozen=True)
class FormLeak:
    """What one attribute's form gives away, as shares of its variance that stay open.

    Parameters
    ----------
    attribute
        Its name.
    plain
        What the most trusted release leaves open without rounding and clipping: pooling never
        tells more than that release would.
    alone
        What the most trusted release leaves open as it is rounded and clipped.
    together
        What all releases leave open together.
    rows
        On how many records that was measured.
    """

    attribute: str
    plain: float
    alone: float
    together: float
    rows: int

    @property
    def leak(self) -> float:
        """How much more a coalition learns than its most trusted member, as a share."""
        return max(self.alone - self.together, 0.0)


def measure_form_leak(
    mechanism: Mechanism,
    attributes: Sequence[Attribute],
    settings: Mapping[str, Settings],
    levels: Sequence[float],
    context: Context,
) -> tuple[FormLeak, ...]:
    """Measure what a coalition gains from rounded and clipped numbers.

    Parameters
    ----------
    mechanism
        What releases the numbers.
    attributes
        N numeric attributes with their numbers.
    settings
        ``"formed"`` with the rounding and the bounds in question, ``"plain"`` without any.
    levels
        The levels that the coalition holds, in the mechanism's unit; at least one.
    context
        Progress and cancelling.

    Returns
    -------
    tuple of FormLeak
        For each attribute; empty where there are too few records to tell.
    """
    true = _complete(attributes)
    rows = len(true)
    if rows < FEWEST_ROWS * len(levels) * len(attributes):
        return ()
    ordered = sorted(set(levels), key=mechanism.trust, reverse=True)
    copies: dict[str, list[Floats]] = {}
    for half, (name, chosen) in enumerate(settings.items()):
        part = Part(context, half / 2, (half + 1) / 2)
        wanted = ordered if name == "formed" else ordered[:1]
        copies[name] = []
        for place, level in enumerate(wanted):
            part.report(place / len(wanted), "Measuring what rounding gives away")
            copies[name].append(_released(mechanism, attributes, true, chosen, level))
    together = np.hstack(copies["formed"])
    return tuple(
        FormLeak(
            attribute.name,
            _open(true[:, place], copies["plain"][0]),
            _open(true[:, place], copies["formed"][0]),
            _open(true[:, place], together),
            rows,
        )
        for place, attribute in enumerate(attributes)
    )


def _complete(attributes: Sequence[Attribute]) -> Floats:
    """Return evenly spaced records in which everything is known, shape (rows, N)."""
    columns = [a.numbers for a in attributes if a.numbers is not None]
    whole = np.column_stack(columns)
    known = np.flatnonzero(np.isfinite(whole).all(axis=1))
    if len(known) > MOST_ROWS:
        known = known[np.linspace(0, len(known) - 1, MOST_ROWS).astype(np.intp)]
    return whole[known]


def _released(
    mechanism: Mechanism,
    attributes: Sequence[Attribute],
    true: Floats,
    settings: Settings,
    level: float,
) -> Floats:
    # The key is one that everyone knows: nothing of this is released.
    key = KeyRing(hashlib.sha256(b"the leak of rounded numbers").digest())
    request = ReleaseRequest(
        columns=tuple(
            EncodedColumn(attribute, np.ascontiguousarray(true[:, place]))
            for place, attribute in enumerate(attributes)
        ),
        settings=settings,
        level=level,
        record_ids=np.arange(len(true), dtype=np.uint64),
        keys=key,
    )
    released = mechanism.release(request, Silent())
    columns = [released[attribute.name] for attribute in attributes]
    return np.column_stack([c.to_numpy(dtype=np.float64, na_value=np.nan) for c in columns])


def _open(true: Floats, copies: Floats) -> float:
    """Return the share of the variance that the best sum of bent lines leaves open.

    Fitted on every other record and examined on the rest, and the other way round.
    """
    told = _bent(copies)
    centred = true - true.mean()
    if not centred.any():
        return 0.0
    left = 0.0
    for start in (0, 1):
        fitted, examined = slice(start, None, 2), slice(1 - start, None, 2)
        gram = told[fitted].T @ told[fitted] + _RIDGE * len(told) * np.eye(told.shape[1])
        weights = np.linalg.solve(gram, told[fitted].T @ centred[fitted])
        left += float(np.square(centred[examined] - told[examined] @ weights).sum())
    return left / float(np.square(centred).sum())


def _bent(copies: Floats) -> Floats:
    """Return every column, and its part above each of some quantiles, standardized."""
    corners = np.quantile(copies, _CORNERS, axis=0)
    parts = [copies, *(np.maximum(copies - corner, 0.0) for corner in corners)]
    told = np.hstack(parts)
    told -= told.mean(axis=0)
    spread = told.std(axis=0)
    told /= np.where(spread > 0, spread, 1.0)
    return told
