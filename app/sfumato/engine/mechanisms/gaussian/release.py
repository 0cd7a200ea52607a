"""Releases of numeric attributes: Y = X + L·W(σ²), with L·Lᵀ the covariance of the noise.

Li, Chen, Li and Zhang, "Enabling Multilevel Trust in Privacy Preserving Data Mining", TKDE 2012.

Every released number is a multiple of a power of two that is a billionth of the column's spread.
The bits below would be those of one particular sum of floats, and could tell which true value
it was made from, whatever the noise (Mironov, CCS 2012).

Where noisy copies were released elsewhere at levels a < b, the noise at a level between them
has to be drawn given theirs: algorithm 3 of the paper. For Brownian motion its conditional mean
(17) and covariance (18) are those of a bridge between the two neighbours. The keyed motion of
the ladder, pinned to what the neighbours show, is such a bridge:

    Z(v) = L·W(v) + (b−v)/(b−a)·(Z_a − L·W(a)) + (v−a)/(b−a)·(Z_b − L·W(b)).

It is again a pure function of key, record and level, so that all further levels, in whatever
order they are asked for, have the joint law that the adopted copies leave them.

Noisy copies that were made elsewhere are examined before: at which level they are, and what their
holders know together, is found without keys.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
import scipy

from sfumato.engine.core.errors import LadderError, LevelError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.parallel import Worker, in_stretches
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Floats, Words
from sfumato.engine.core.wording import Sentence
from sfumato.engine.ladders.brownian import (
    HIGHEST,
    LOWEST,
    STRETCH,
    THREADS,
    BrownianKernel,
    BrownianPlan,
    check_shapes,
    plan_for,
    stretch_for,
)
from sfumato.engine.mechanisms.adoption import Adopting, LevelFound
from sfumato.engine.mechanisms.base import Adopted, Check, Settings
from sfumato.engine.mechanisms.gaussian.checks import check_noise, check_noise_between
from sfumato.engine.mechanisms.gaussian.settings import GaussianSettings, NumberForm, settings_of
from sfumato.engine.randomness.keys import AttributeKey
from sfumato.engine.table.table import EncodedColumn

Ids = Words

_FINE_BITS: Final = 30


@dataclass(frozen=True)
class Noisy:
    """A copy with noise on the same ladder.

    Parameters
    ----------
    level
        σ².
    numbers
        What it shows, NaN where missing, shape (N, n).
    """

    level: float
    numbers: Floats


@dataclass(frozen=True)
class NoiseRecipe:
    """How numbers are released, whatever the level.

    Parameters
    ----------
    factor
        L, lower triangular, shape (N, N).
    forms
        What released numbers may look like, one for each attribute.
    """

    factor: Floats
    forms: tuple[NumberForm, ...]

    @property
    def units(self) -> Floats:
        """The power of two that each attribute's released numbers are multiples of."""
        spreads = [math.sqrt(sum(entry * entry for entry in row)) for row in self.factor.tolist()]
        return np.array([math.ldexp(1.0, math.frexp(s)[1] - 1 - _FINE_BITS) for s in spreads])

    @property
    def whole(self) -> tuple[bool, ...]:
        """Whether all released numbers of each attribute are whole ones, whatever the rows."""
        return tuple(
            float(unit if form.step is None else form.step).is_integer()
            and all(end is None or float(end).is_integer() for end in (form.lowest, form.highest))
            for unit, form in zip(self.units.tolist(), self.forms, strict=True)
        )


def release_numbers(
    values: Floats,
    recipe: NoiseRecipe,
    levels: Sequence[float],
    record_ids: Ids,
    key: AttributeKey,
    context: Context,
    adopted: Sequence[Noisy] = (),
) -> Floats:
    """Return numeric attributes as they are released at some levels.

    Parameters
    ----------
    values
        The true values, NaN where missing, shape (N, n).
    recipe
        The noise's factor, and the numbers' form.
    levels
        σ² of each release. What is released at one does not depend on the others.
    record_ids
        The records' identifiers, shape (n,).
    key
        The key of the ladder.
    context
        Told of the progress; may stop the work.
    adopted
        Copies that were released elsewhere and share the ladder, each level once.

    Returns
    -------
    numpy.ndarray
        The released numbers, NaN where missing, shape (levels, N, n).
    """
    check_shapes(values, record_ids)
    size, rows = values.shape
    ladder = _Ladder(recipe, tuple(levels), sorted(adopted, key=lambda copy: copy.level))
    released = np.empty((len(levels), size, rows))
    stretch = stretch_for(rows, STRETCH, THREADS)

    def worker() -> Worker:
        kernel = BrownianKernel(key.cipher(), size, stretch)
        motion = np.empty((len(ladder.plan.times), size, stretch))

        def work(part: slice) -> None:
            true = values[:, part]
            moved = motion[:, :, : true.shape[1]]
            kernel.walk(true, record_ids[part], ladder.plan, moved)
            ladder.release(true, moved, part, released[:, :, part])

        return work

    in_stretches(rows, stretch, THREADS, worker, context, "Adding the noise")
    return released


class _Ladder:
    """What the stretches of one release have in common."""

    def __init__(
        self, recipe: NoiseRecipe, levels: tuple[float, ...], adopted: list[Noisy]
    ) -> None:
        self._factor = recipe.factor.tolist()
        self._forms = recipe.forms
        self._units = recipe.units.tolist()
        self._levels = levels
        self._adopted = adopted
        known = [copy.level for copy in adopted]
        self.plan: BrownianPlan = plan_for((*levels, *known))

    def release(self, true: Floats, motion: Floats, part: slice, out: Floats) -> None:
        """Release a stretch at all levels.

        Parameters
        ----------
        true
            The true values, shape (N, k).
        motion
            W at the plan's times, shape (times, N, k). It is overwritten.
        part
            Where the stretch lies in the table.
        out
            Room for what is released, shape (levels, N, k).
        """
        for moved in motion:
            self._correlate(moved)
        fresh, known = motion[: len(self._levels)], motion[len(self._levels) :]
        for copy, moved in zip(self._adopted, known, strict=True):
            np.subtract(copy.numbers[:, part] - true, moved, out=moved)
        for level, noise, released in zip(self._levels, fresh, out, strict=True):
            self._pin(level, noise, known)
            np.add(true, noise, out=released)
            for numbers, unit, form in zip(released, self._units, self._forms, strict=True):
                _coarsened(numbers, unit)
                if form.changes:
                    numbers[...] = form.apply(numbers)

    def _correlate(self, moved: Floats) -> None:
        """Turn W into L·W in place: the last row first, which needs all rows above it."""
        for row in range(len(self._factor) - 1, -1, -1):
            noise = moved[row]
            noise *= self._factor[row][row]
            for column in range(row):
                if self._factor[row][column] != 0.0:
                    noise += moved[column] * self._factor[row][column]

    def _pin(self, level: float, noise: Floats, differences: Floats) -> None:
        """Move the noise to where its adopted neighbours leave it.

        `differences` holds Z − L·W of the adopted copies, by increasing level.
        """
        weights = bridge_weights(level, [copy.level for copy in self._adopted])
        for weight, difference in zip(weights, differences, strict=True):
            if weight != 0.0:
                noise += weight * difference


def bridge_weights(level: float, known: Sequence[float]) -> list[float]:
    """Return the weight of each known level in the conditional mean at another one.

    That is K_Z''Z'·K_Z'⁻¹ of equation (17): only the two neighbours count, below the lowest
    there is W(0) = 0, and above the highest only that one counts.

    Parameters
    ----------
    level
        σ² of the new copy.
    known
        σ² of the known copies, increasing.
    """
    weights = [0.0] * len(known)
    above = next((place for place, one in enumerate(known) if one >= level), len(known))
    low = known[above - 1] if above else 0.0
    if above == len(known):
        if known:
            weights[-1] = 1.0
        return weights
    share = (level - low) / (known[above] - low)
    weights[above] = share
    if above:
        weights[above - 1] = 1.0 - share
    return weights


def _coarsened(numbers: Floats, unit: float) -> None:
    """Round numbers to multiples of a power of two, in place."""
    numbers /= unit
    np.rint(numbers, out=numbers)
    numbers *= unit


_LARGEST_WHOLE: Final = 2.0**63


def values_of(columns: Sequence[EncodedColumn]) -> Floats:
    """Return the true values, shape (N, n)."""
    return np.array([column.values for column in columns], dtype=np.float64)


def noisy_of(adopted: Adopted, columns: Sequence[EncodedColumn]) -> Noisy:
    """Return an adopted release's numbers.

    Raises
    ------
    LadderError
        If it does not fit the table: other attributes, rows or missing numbers.
    """
    numbers = []
    for column in columns:
        name = column.attribute.name
        found = adopted.values.get(name)
        if found is None or np.shape(found) != np.shape(column.values):
            raise LadderError(
                "The adopted release at σ² = {level:g} has no column {column}, or not as many rows"
                " as the table.",
                "Adopt a release of this table with all attributes of the entry.",
                level=adopted.level,
                column=name,
            )
        shown = np.asarray(found, dtype=np.float64)
        differing = np.isfinite(shown) == np.isnan(column.values)
        if differing.any():
            raise LadderError(
                "The adopted release at σ² = {level:g} is missing numbers of {column} where the"
                " table has them, or the other way round, in {count} {count:row|rows}, first in"
                " row {row}.",
                "Adopt a release of this table as it is now.",
                level=adopted.level,
                column=name,
                count=int(differing.sum()),
                row=int(differing.argmax()) + 1,
            )
        numbers.append(shown)
    return Noisy(adopted.level, np.array(numbers))


def series_of(
    columns: Sequence[EncodedColumn], numbers: Floats, whole: Sequence[bool]
) -> dict[str, pd.Series]:
    """Return released numbers, shape (N, n), as columns by name, some as whole numbers.

    Which ones is a matter of how numbers are released (`NoiseRecipe.whole`) and not of the rows,
    so that parts of a table have columns of one type.
    """
    return {
        column.attribute.name: _as_series(column.attribute.name, released, as_whole)
        for column, released, as_whole in zip(columns, numbers, whole, strict=True)
    }


def _as_series(name: str, numbers: Floats, whole: bool) -> pd.Series:
    """Return a released column, as whole numbers where all of them have to be and fit."""
    missing = np.isnan(numbers)
    if not whole or not (np.abs(numbers[~missing]) < _LARGEST_WHOLE).all():
        return pd.Series(numbers, name=name)
    return pd.Series(numbers, name=name).astype(pd.Int64Dtype() if missing.any() else np.int64)


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
