"""How Gaussian noise examines noisy copies that were made elsewhere.

At which level they are, and what their holders know together, is found without keys.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd
import scipy

from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Floats
from sfumato.engine.core.wording import Sentence
from sfumato.engine.ladders.brownian import HIGHEST, LOWEST
from sfumato.engine.mechanisms.adoption import Adopting, LevelFound
from sfumato.engine.mechanisms.base import Adopted, Check, Settings
from sfumato.engine.mechanisms.gaussian.checks import check_noise, check_noise_between
from sfumato.engine.mechanisms.gaussian.release import noisy_of, values_of
from sfumato.engine.mechanisms.gaussian.settings import GaussianSettings, NumberForm, settings_of
from sfumato.engine.table.table import EncodedColumn

_MOST_DECIMALS: Final = 4
_RELATED: Final = 4.5
"""A copy is of this table if it goes with the true values by so many standard errors."""

_RIDGE: Final = 1e-9


@dataclass(frozen=True)
class NoiseFound:
    """The noise that a copy seems to have.

    Parameters
    ----------
    level
        The best estimate of σ².
    low, high
        A 95 % interval.
    numbers
        From how many numbers.
    usable
        Whether the copy is neither the original nor unrelated to the table.
    """

    level: float
    low: float
    high: float
    numbers: int
    usable: bool


def find_noise(true: Floats, shown: Floats, variances: Floats) -> NoiseFound:
    """Estimate σ² from the differences between a copy and the true values.

    Parameters
    ----------
    true, shown
        The true values and the copy's, NaN where missing, shape (N, n).
    variances
        The variance of the noise of each attribute at σ² = 1, shape (N,).
    """
    scaled = (shown - true) / np.sqrt(variances)[:, np.newaxis]
    squares = np.nanmean(np.square(scaled), axis=1)
    counts = (~np.isnan(scaled)).sum(axis=1)
    level = float(squares.mean())
    # The noises of several attributes may be one and the same: they count as one.
    freedom = float(counts.min())
    low = level * freedom / float(scipy.special.chdtri(freedom, 0.025))
    high = level * freedom / float(scipy.special.chdtri(freedom, 0.975))
    related = all(_related(*pair) for pair in zip(true, shown, strict=True))
    usable = related and LOWEST <= level <= HIGHEST
    return NoiseFound(level, low, high, int(counts.min()), usable)


def roundest(low: float, high: float) -> float:
    """Return the number with the fewest digits in an interval of positive numbers."""
    middle = math.sqrt(low * high)
    for digits in range(1, 17):
        number = float(f"{middle:.{digits}g}")
        if low <= number <= high:
            return number
    return middle


def form_of(shown: Floats) -> NumberForm:
    """Return how a copy's numbers of one attribute seem to be rounded, NaN where missing."""
    present = shown[~np.isnan(shown)]
    for decimals in range(_MOST_DECIMALS + 1):
        if (np.round(present, decimals) == present).all():
            return NumberForm(10.0**-decimals)
    return NumberForm()


def open_share(true: Floats, copies: Sequence[Floats]) -> Floats:
    """Return the share of each attribute's variance that the copies together leave open.

    The best linear estimate is fitted to the table itself: that is what an attacker could do
    at best who knew how true values and copies go together.

    Parameters
    ----------
    true
        The true values, NaN where missing, shape (N, n).
    copies
        The copies, each of shape (N, n).

    Returns
    -------
    numpy.ndarray
        Shape (N,); NaN where there are too few records.
    """
    told = np.vstack(copies)
    known = ~np.isnan(np.vstack([true, told])).any(axis=0)
    if known.sum() <= len(told) + 1:
        return np.full(len(true), np.nan)
    hidden, seen = true[:, known], told[:, known]
    hidden = hidden - hidden.mean(axis=1, keepdims=True)
    seen = seen - seen.mean(axis=1, keepdims=True)
    seen /= np.maximum(seen.std(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    gram = seen @ seen.T + _RIDGE * seen.shape[1] * np.eye(len(seen))
    left = hidden - hidden @ seen.T @ np.linalg.solve(gram, seen)
    return np.square(left).sum(axis=1) / np.square(hidden).sum(axis=1)


def _related(true: Floats, shown: Floats) -> bool:
    """Tell whether a copy goes with the true values more than chance would make it."""
    both = ~(np.isnan(true) | np.isnan(shown))
    one, other = true[both] - true[both].mean(), shown[both] - shown[both].mean()
    length = math.sqrt(float(one @ one) * float(other @ other))
    return length > 0.0 and float(one @ other) / length * math.sqrt(both.sum()) > _RELATED


class GaussianAdopting(Adopting):
    """Examines earlier releases of numeric attributes."""

    def check_adopted_level(self, level: float) -> None:
        """Raise `LevelError` unless σ² is a noise level; it need not lie on the grid."""
        if not LOWEST <= level <= HIGHEST:
            raise LevelError(
                "The noise level σ² = {level:g} of an adopted release is out of range.",
                "State the variance of its noise, relative to the variance of the data.",
                level=level,
            )

    def find_level(
        self, columns: Sequence[EncodedColumn], settings: Settings, release: Adopted
    ) -> LevelFound:
        """Estimate σ² from how far the copy's numbers are from the true ones."""
        read = _read(columns, settings)
        variances = np.diagonal(read.noise_covariance)
        found = find_noise(values_of(columns), noisy_of(release, columns).numbers, variances)
        if found.level < LOWEST:
            finding = "Its numbers are the true ones, or too close to them to be told from them."
        elif not found.usable:
            finding = (
                "Its numbers do not go with the true ones. The file is noise, or its rows belong to"
                " other records than it seems."
            )
        else:
            finding = Sentence(
                "From {numbers:,} {numbers:record|records}, the noise level σ² is {level:.4g};"
                " with 95 % confidence it lies between {low:.4g} and {high:.4g}.",
                numbers=found.numbers,
                level=found.level,
                low=found.low,
                high=found.high,
            )
        proposal = roundest(found.low, found.high) if found.usable else found.level
        return LevelFound(found.level, found.low, found.high, proposal, found.usable, finding)

    def check_adopted(
        self, columns: Sequence[EncodedColumn], settings: Settings, release: Adopted
    ) -> tuple[Check, ...]:
        """Test whether a copy has Gaussian noise of the settings' covariance at its level."""
        shown = noisy_of(release, columns).numbers
        read = _rounded_as(_read(columns, settings), shown)
        names = [column.attribute.name for column in columns]
        return check_noise(names, values_of(columns), _series(shown), read, release.level)

    def check_adopted_pair(
        self,
        columns: Sequence[EncodedColumn],
        settings: Settings,
        upper: Adopted,
        lower: Adopted,
    ) -> tuple[Check, ...]:
        """Test whether the copy with more noise is the other one with noise added."""
        above, below = (noisy_of(one, columns).numbers for one in (upper, lower))
        read = _rounded_as(_read(columns, settings), np.hstack([above, below]))
        names = [column.attribute.name for column in columns]
        return check_noise_between(
            names, _series(above), upper.level, _series(below), lower.level, read
        )

    def describe_damage(
        self,
        columns: Sequence[EncodedColumn],
        settings: Settings,
        releases: Sequence[Adopted],
        context: Context,
    ) -> tuple[str, ...]:
        """Say what the holders of copies that form no ladder already know together."""
        true = values_of(columns)
        copies = [noisy_of(release, columns).numbers for release in releases]
        alone = [open_share(true, [copy]) for copy in copies]
        together = open_share(true, copies)
        context.report(1.0, "Comparing the releases")
        if np.isnan(together).any():
            return ("There are too few records to tell what the files give away together.",)
        best = int(np.argmin([share.min() for share in alone]))
        worst = int(np.argmin(together / alone[best]))
        name = columns[worst].attribute.name
        return (
            Sentence(
                "The most trusted of the {releases} files (σ² = {level:.4g}) leaves "
                "{alone:.1%} of the variance of {name} open to its holder. Together they "
                "leave {together:.1%}; on a ladder it would have stayed as it was.",
                releases=len(releases),
                level=releases[best].level,
                alone=alone[best][worst],
                name=name,
                together=together[worst],
            ),
        )


def _read(columns: Sequence[EncodedColumn], settings: Settings) -> GaussianSettings:
    return settings_of([column.attribute for column in columns], settings)


def _rounded_as(read: GaussianSettings, shown: Floats) -> GaussianSettings:
    """Return settings in which numbers look as a copy's seem to."""
    return replace(read, forms=tuple(form_of(numbers) for numbers in shown))


def _series(numbers: Floats) -> list[pd.Series]:
    return [pd.Series(column) for column in numbers]
