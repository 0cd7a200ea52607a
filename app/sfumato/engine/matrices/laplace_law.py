"""The discrete Laplace law: noise on a grid whose ratio of probabilities is bounded everywhere.

Pr[z] = tanh(s/2)·e^(−s·|z|) for whole z: two numbers k steps apart give any released number with
probabilities that differ by a factor of at most e^(s·k). Of numbers with K steps between the
bounds nobody's odds change by more than e^(s·K), whichever two numbers they are on.

With a < b for the rates of a less and of a more trusted release, the law of the first is that of
the second plus a step that is 0 with probability w = sinh²(a/2)/sinh²(b/2), and else drawn from the
first law itself. The characteristic functions tell: with c = cos θ, that of rate s is
sinh²(s/2)/(sinh²(s/2) + (1 − c)/2), and (A/(A+u))·((B+u)/B) = A/B + (1 − A/B)·A/(A+u). It is the
whole-number form of Koufogiannis, Han and Pappas, "Gradual Release of Sensitive Data under
Differential Privacy", 2015, where w = (b₁/b₂)².
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context as Digits
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Steps = npt.NDArray[np.int64]

SPARE: Final = Decimal(1) / 512
"""The share of ε that pays for what floating-point numbers do to the law, see the ladder."""

WINDOW: Final = 32
"""Released numbers lie at most so many times the noise's size beyond the bounds."""

_DIGITS: Final = Digits(prec=60)


@lru_cache(maxsize=4096)
def squared_sinh(epsilon: float, steps: int) -> Decimal:
    """Return sinh²(s/2) of a level to 60 digits, the same on every machine.

    Parameters
    ----------
    epsilon
        ε of the released numbers.
    steps
        K, how many steps lie between the bounds.
    """
    half = rate_of(epsilon, steps) / 2
    sinh = (_DIGITS.exp(half) - _DIGITS.exp(-half)) / 2
    return _DIGITS.multiply(sinh, sinh)


def rate_of(epsilon: float, steps: int) -> Decimal:
    """Return s: by how much each step can change the logarithm of the odds."""
    return _DIGITS.divide(_DIGITS.multiply(Decimal(epsilon), 1 - SPARE), Decimal(steps))


def chance_of_none(epsilon: float, steps: int, length: int) -> float:
    """Return e^(−s·length), the probability of no point, correctly rounded on every machine."""
    return float(_DIGITS.exp(-rate_of(epsilon, steps) * length))


@dataclass(frozen=True)
class LaplaceLaw:
    """What is added to a number of the grid at one level, in steps.

    Parameters
    ----------
    epsilon
        ε of the released numbers.
    steps
        K, how many steps lie between the bounds.
    """

    epsilon: float
    steps: int

    @cached_property
    def rate(self) -> float:
        """The rate s; the noise's size is 1/s steps."""
        return float(rate_of(self.epsilon, self.steps))

    def loss_between(self, apart: int) -> float:
        """Return by how much the odds of two numbers so many steps apart change, as a logarithm.

        What is drawn is counted, not only the ideal law.
        """
        return min(self.rate * apart + float(SPARE) * self.epsilon, self.epsilon)

    @property
    def variance(self) -> float:
        """The variance, in squared steps."""
        return 1.0 / (2.0 * float(squared_sinh(self.epsilon, self.steps)))

    @property
    def beyond(self) -> int:
        """How many steps beyond the bounds released numbers can lie.

        What would lie further off becomes the last number there. Given that, how much further
        it was is geometric whatever the true number is, so a coalition learns nothing from it.
        """
        return math.ceil(WINDOW / self.rate)

    def chances(self, noise: Steps) -> Floats:
        """Return how probable some noise is."""
        found: Floats = math.tanh(self.rate / 2.0) * np.exp(-self.rate * np.abs(noise))
        return found

    def up_to(self, noise: Steps | Floats) -> Floats:
        """Return how probable noise of at most so many steps is."""
        step = math.exp(-self.rate)
        tail = np.exp(-self.rate * np.where(noise >= 0, noise + 1.0, -noise)) / (1.0 + step)
        found: Floats = np.where(noise >= 0, 1.0 - tail, tail)
        return found

    def unchanged_from(self, upper: LaplaceLaw) -> float:
        """Return w: how often a release of this level shows what a more trusted one shows."""
        return float(
            squared_sinh(self.epsilon, self.steps) / squared_sinh(upper.epsilon, self.steps)
        )

    def half_width(self, share: float) -> int:
        """Return the least number of steps that the noise does not exceed so often."""
        beyond = (1.0 - share) * (1.0 + math.exp(-self.rate)) / 2.0
        return max(math.ceil(-math.log(beyond) / self.rate - 1.0 - 1e-9), 0)

    def released(self, beyond: int) -> Floats:
        """Return Pr[released | true] where numbers further off than `beyond` steps are pulled in.

        Returns
        -------
        numpy.ndarray
            One row for each number released, from −`beyond` to K + `beyond`, and one column for
            each true one, shape (K + 1 + 2·`beyond`, K + 1).
        """
        shown = np.arange(-beyond, self.steps + beyond + 1)[:, np.newaxis]
        noise = shown - np.arange(self.steps + 1)
        law = self.chances(noise)
        law[0] = self.up_to(noise[0])
        law[-1] = self.up_to(-noise[-1])
        return law
