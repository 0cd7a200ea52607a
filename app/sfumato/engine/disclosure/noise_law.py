"""The laws of noise on numbers, and how closely the best attacker tells numbers through it.

How closely can somebody who knows a table's distribution tell 90 of 100 of its numbers? A width w
is *reached* by whoever names, for each record, an interval of length 2w and is right for 90 % of
the records. Without a release the best interval is the shortest that holds 90 % of the column.
With one it is, for each record, the interval of that length in which the posterior probability is
largest; its average over what a release can show is the share of records that the best attacker
gets right (the Bayes rule for a loss of 0 inside and 1 outside). Nothing is assumed about the
distribution but that the attacker knows it: it is the table's own.

These figures are computed from the exact table. They are for the custodian, and never leave
with a release.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Final

import numpy as np
import numpy.typing as npt
import scipy

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats, rounded_down
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.randomness.keys import uniforms
from sfumato.engine.table.covariance import factor_of

Singles = npt.NDArray[np.float32]

MOST_NAMED: Final = 3
"""So many attributes are named in a sentence."""

SHARE: Final = 0.9
"""The share of the records that an attacker wants to be right about."""

_ROWS: Final = 50_000
"""Of larger tables so many records, evenly spaced, are looked at."""

_ATOMS: Final = 700
"""Of more records so many records, evenly spaced, stand for the distribution."""

_RELEASES: Final = 300
"""On so many released records the best attacker is tried."""

_STREAM: Final = 0x3D
"""The public sequence that the noise of the trial is drawn from."""

_HALVINGS: Final = 11


@dataclass(frozen=True, eq=False)
class NoiseLaw:
    """Normally distributed noise on N numbers.

    Parameters
    ----------
    covariance
        Its covariance, shape (N, N).
    """

    covariance: Floats = field(repr=False)

    @property
    def excess(self) -> float:
        """The excess kurtosis of each number's noise."""
        return 0.0

    @property
    def spreads(self) -> Floats:
        """The standard deviation of each number's noise, shape (N,)."""
        return np.sqrt(np.diagonal(self.covariance))

    def scores(self, shown: Floats, atoms: Floats) -> Floats:
        """Return logarithms of likelihoods, but for a constant of each record.

        Parameters
        ----------
        shown
            What is released of r records, shape (N, r).
        atoms
            The true numbers they may have, shape (N, A).

        Returns
        -------
        numpy.ndarray
            Shape (r, A).
        """
        # From the atoms' middle: squares of years, or of seconds since 1970, would drown the noise.
        middle = atoms.mean(axis=1, keepdims=True)
        inverse = np.linalg.pinv(factor_of(self.covariance))
        white = inverse @ (atoms - middle)
        return (inverse @ (shown - middle)).T @ white - 0.5 * np.square(white).sum(axis=0)

    def draws(self, uniforms: Floats) -> Floats:
        """Return noise made of numbers between 0 and 1, shape (N, n)."""
        return factor_of(self.covariance) @ scipy.special.ndtri(uniforms)

    def half_widths(self, share: float) -> Floats:
        """Return how large each number's noise is at most so often, shape (N,)."""
        return -float(scipy.special.ndtri((1.0 - share) / 2.0)) * self.spreads

    def pooled_half_widths(self, share: float, rows: float) -> Floats:
        """Return the same of the best estimate from several rows that show one number."""
        return self.half_widths(share) / math.sqrt(rows)


@dataclass(frozen=True, eq=False)
class LaplaceNoise(NoiseLaw):
    """Noise on one number with a density that falls exponentially on both sides.

    Parameters
    ----------
    scale
        By how much the number has to change for a likelihood to change by a factor of e.
    fourth
        The excess kurtosis.
    """

    scale: float = 1.0
    fourth: float = 3.0

    @property
    def excess(self) -> float:
        """The excess kurtosis of the noise."""
        return self.fourth

    def scores(self, shown: Floats, atoms: Floats) -> Floats:
        """Return logarithms of likelihoods, shape (r, A); see `NoiseLaw.scores`."""
        return -np.abs(shown[0][:, np.newaxis] - atoms[0]) / self.scale

    def draws(self, uniforms: Floats) -> Floats:
        """Return noise made of numbers between 0 and 1, shape (1, n)."""
        beside = uniforms - 0.5
        return -self.scale * np.sign(beside) * np.log1p(-2.0 * np.abs(beside))

    def half_widths(self, share: float) -> Floats:
        """Return how large the noise is at most so often, shape (1,)."""
        return np.array([-self.scale * math.log(1.0 - share)])

    def pooled_half_widths(self, share: float, rows: float) -> Floats:
        """Return the same from several rows.

        The likelihood's information is 1/scale² a row, twice what the mean makes of it.
        """
        normal = -float(scipy.special.ndtri((1.0 - share) / 2.0)) * self.scale / math.sqrt(rows)
        return np.minimum(self.half_widths(share), normal)


def width_without(numbers: Floats) -> float:
    """Return half the length of the shortest interval that holds 90 % of a column.

    Parameters
    ----------
    numbers
        The column, not a number where missing, shape (n,); at least one is known.
    """
    known = _thinned(np.atleast_2d(numbers))[0]
    known.sort()
    inside = math.ceil(SHARE * len(known))
    return float((known[inside - 1 :] - known[: len(known) - inside + 1]).min()) / 2.0


def widths_with(true: Floats, law: NoiseLaw) -> Floats:
    """Return the width to which the best attacker tells 90 % of each attribute's numbers.

    Where the table is larger than the trial, or there are several attributes, fewer records
    stand for all of them. That makes the attacker surer than the whole distribution would, so
    the widths err on the small side.

    Parameters
    ----------
    true
        The true numbers, shape (N, n); incomplete records are left out.
    law
        The law of the release's noise.

    Returns
    -------
    numpy.ndarray
        Shape (N,); NaN where no record is complete.
    """
    atoms = _atoms(true)
    if not atoms.shape[1]:
        return np.full(len(true), np.nan)
    chances = _posteriors(atoms, law)
    own = law.half_widths(SHARE).tolist()
    reached = []
    for place, numbers in enumerate(atoms):
        order = np.argsort(numbers, kind="stable")
        # Without the release nobody is off by more, nor who takes the released number as it is.
        most = min(width_without(numbers), own[place])
        reached.append(_width(numbers[order], chances[order], most))
    return np.array(reached)


def _thinned(true: Floats) -> Floats:
    """Return complete records, at most `_ROWS`, as an array of their own."""
    known = np.flatnonzero(~np.isnan(true).any(axis=0))
    if len(known) > _ROWS:
        known = known[np.linspace(0, len(known) - 1, _ROWS).astype(np.intp)]
    return true[:, known]


def _atoms(true: Floats) -> Floats:
    """Return complete records, at most `_ATOMS`, evenly spaced along the first attribute."""
    known = _thinned(true)
    if known.shape[1] <= _ATOMS:
        return known
    order = np.argsort(known[0], kind="stable")
    middles = (np.arange(_ATOMS) + 0.5) * (known.shape[1] / _ATOMS)
    return known[:, order[middles.astype(np.intp)]]


def _posteriors(atoms: Floats, law: NoiseLaw) -> Singles:
    """Return the posterior probability of each atom given noisy copies of some, (A, R)."""
    size, count = atoms.shape
    released = np.linspace(0, count - 1, min(_RELEASES, count)).astype(np.intp)
    if count < _RELEASES:
        released = np.tile(released, -(-_RELEASES // count))
    draws = uniforms(size * len(released), _STREAM).reshape(size, len(released))
    scores = law.scores(atoms[:, released] + law.draws(draws + 2.0**-54), atoms)
    scores -= scores.max(axis=1, keepdims=True)
    # Single precision is twice as fast, and a guarantee is asked for at each edit.
    chances: Singles = np.exp(scores.astype(np.float32))
    chances /= chances.sum(axis=1, keepdims=True)
    return np.ascontiguousarray(chances.T)


def _width(numbers: Floats, chances: Singles, most: float) -> float:
    """Return the smallest width at which the best interval is right often enough."""
    below = np.zeros((len(numbers) + 1, chances.shape[1]), dtype=np.float32)
    np.cumsum(chances, axis=0, out=below[1:])
    inside = np.empty_like(chances)
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        ends = np.searchsorted(numbers, numbers + 2.0 * middle, side="right")
        np.take(below, ends, axis=0, out=inside)
        np.subtract(inside, below[:-1], out=inside)
        right = inside.max(axis=0).mean()
        low, high = (low, middle) if right >= SHARE else (middle, high)
    return high


def told_in_table(names: Sequence[str], true: Floats, law: NoiseLaw) -> Sentence:
    """Return how closely the table's numbers can be told, computed from its rows.

    It is for the custodian: what follows from the exact table never leaves with a release.

    Parameters
    ----------
    names
        The attributes' names.
    true
        Their numbers, not a number where missing, shape (N, n).
    law
        The law of the release's noise.
    """
    reached = widths_with(true, law)
    if np.isnan(reached).any():
        return Sentence("")
    return Sentence(
        "In this table, an attacker who knows how the numbers are distributed, but no other column,"
        " can at best place 90 in 100 people's {widths}; without any release, {without}.",
        widths=listed_widths("{name} within ± {width}", names, reached),
        without=listed_widths("± {width}", names, [width_without(column) for column in true]),
    )


def listed_widths(template: str, names: Sequence[str], widths: Iterable[float]) -> str:
    """Return one phrase for each of the first attributes, as a list in a sentence."""
    told: list[str] = [
        Sentence(template, name=name, width=rounded_down(float(width)))
        for name, width in zip(names, widths, strict=True)
    ]
    if len(told) > MOST_NAMED:
        return Sentence("{some} (and so on)", some=listed(told[:MOST_NAMED]))
    return listed(told)
