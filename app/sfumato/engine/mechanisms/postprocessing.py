"""What a mechanism offers whose released numbers can be rounded and bounded.

Noisy numbers of one ladder form a chain, so a coalition learns what its most trusted member
knows. Rounded, they are no chain any more: two roundings of one number tell more than either.
They can never tell more than the most trusted release would without rounding, because they are
made from a chain that it is the top of. How much lies between is measured here: by the error of
the best estimate that adds up bent lines (linear splines) of every released number, fitted on
one half of the records and examined on the other. A straight line would not do: a bound tells
that numbers end there, which a straight line through unbounded numbers can't use.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sfumato.engine.core.progress import Context, one_by_one
from sfumato.engine.core.values import Floats
from sfumato.engine.mechanisms.base import Mechanism, Settings
from sfumato.engine.mechanisms.number_copies import complete_records, simulated_copies
from sfumato.engine.table.table import Attributes

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
class RoundingLeak:
    """What Bayes estimates leave open of one attribute's variance.

    Parameters
    ----------
    plain
        Given the best copy without rounding and clipping: nothing can leave less.
    best
        Given the best copy as it is rounded and clipped.
    together
        Given all copies as they are rounded and clipped.
    error
        The standard error of `best` - `together`.
    records
        How many records it was measured on.
    """

    plain: float
    best: float
    together: float
    error: float
    records: int

    @property
    def leak(self) -> float:
        """By how much a coalition knows more than its best member."""
        return self.best - self.together


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
    attributes: Attributes,
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
    for (name, chosen), part in one_by_one(context, list(settings.items())):
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


class Forming(Mechanism):
    """A mechanism whose released numbers can be rounded and bounded: then they are no ladder."""

    @abstractmethod
    def forms(self, attributes: Attributes, settings: Settings) -> bool:
        """Return whether any released numbers are rounded or bounded."""

    @abstractmethod
    def rounding_variances(self, attributes: Attributes, settings: Settings) -> Floats:
        """Return what rounding adds to each attribute's variance beside the noise, shape (N,)."""

    @abstractmethod
    def form_leaks(
        self,
        levels: Sequence[float],
        attributes: Attributes,
        settings: Settings,
        context: Context,
    ) -> FormLeaks | None:
        """Measure what the looks of released numbers tell somebody who pools releases.

        Parameters
        ----------
        levels
            The levels of what is pooled, at least one.
        attributes
            The entry's attributes with their numbers.
        settings
            The mechanism's settings.
        context
            Progress and cancelling.

        Returns
        -------
        FormLeaks or None
            None where numbers are released as the ladder has them: then pooling tells nothing.
        """


def is_formed(mechanism: Mechanism, attributes: Attributes, settings: Settings) -> bool:
    """Return whether released numbers are not as the ladder has them."""
    return isinstance(mechanism, Forming) and mechanism.forms(attributes, settings)


def added_covariance(
    mechanism: Mechanism, level: float, attributes: Attributes, settings: Settings
) -> Floats | None:
    """Return the covariance of all that is added to numbers: the noise, and what rounding adds.

    Who estimates from releases takes it off. None where no noise is added.
    """
    noise = mechanism.noise_covariance(level, attributes, settings)
    if noise is None or not isinstance(mechanism, Forming):
        return noise
    return noise + np.diag(mechanism.rounding_variances(attributes, settings))


def form_leaks_of(
    mechanism: Mechanism,
    levels: Sequence[float],
    attributes: Attributes,
    settings: Settings,
    context: Context,
) -> FormLeaks | None:
    """Return what `Forming.form_leaks` measures; None for mechanisms that form nothing."""
    if not isinstance(mechanism, Forming):
        return None
    return mechanism.form_leaks(levels, attributes, settings, context)
