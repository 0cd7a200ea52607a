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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.number_copies import complete_records, simulated_copies
from sfumato.engine.mechanisms.base import Mechanism, Settings
from sfumato.engine.mechanisms.gaussian.rounding_leakage import RoundingLeak
from sfumato.engine.table.table import Attribute

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


@dataclass(frozen=True)
class FormLeaks:
    """What the forms of an entry's attributes give away to somebody who pools releases.

    Parameters
    ----------
    linear
        By linear estimates, for each attribute; empty where there are too few records.
    bayes
        By Bayes' rule, for each attribute that is rounded or clipped, from its own numbers.
    """

    linear: tuple[FormLeak, ...]
    bayes: Mapping[str, RoundingLeak]


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
    true = complete_records(attributes, MOST_ROWS)
    rows = true.shape[1]
    if rows < FEWEST_ROWS * len(levels) * len(attributes):
        return ()
    ordered = sorted(set(levels), key=mechanism.trust, reverse=True)
    copies: dict[str, Floats] = {}
    for half, (name, chosen) in enumerate(settings.items()):
        part = Part(context, half / 2, (half + 1) / 2)
        wanted = ordered if name == "formed" else ordered[:1]
        copies[name] = simulated_copies(mechanism, attributes, chosen, true, wanted, part)
    together = np.vstack(list(copies["formed"]))
    return tuple(
        FormLeak(
            attribute.name,
            _open(true[place], copies["plain"][0].T),
            _open(true[place], copies["formed"][0].T),
            _open(true[place], together.T),
            rows,
        )
        for place, attribute in enumerate(attributes)
    )


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
