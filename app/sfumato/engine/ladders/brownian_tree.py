"""Brownian motion at any time as a sum of independent normals that other times share.

W(1) is one normal. The powers of two above it follow by increments, those below it by bridges
to W(0) = 0. Between two powers of two, W is found by bisection along the bits of the time. Each
step draws one normal, which belongs to the time that it reaches, so W(t) is a fixed linear
combination of the normals on its path, and two times share the normals up to where their paths
part. That makes Cov[W(s), W(t)] = min(s, t), the corner-wave matrix of Li, Chen, Li and Zhang,
TKDE 2012, equation (15), and makes W(t) cost as many normals as t has significant bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Step:
    """One normal on the way to a time.

    Parameters
    ----------
    time
        The time that the step reaches; no other step reaches it.
    variance
        What the step adds to the variance there: a power of two.
    weight
        How much of it arrives at the path's end.
    """

    time: float
    variance: float
    weight: float

    @property
    def coefficient(self) -> float:
        """What a standard normal is multiplied by."""
        return self.weight * math.sqrt(self.variance)


@lru_cache(maxsize=4096)
def path(time: float) -> tuple[Step, ...]:
    """Return the steps of which W(time) is the sum, in the order in which they are taken.

    Parameters
    ----------
    time
        A positive number; any float has a path, of at most 53 steps inside its octave.

    Raises
    ------
    ValueError
        If the time is not positive and finite.
    """
    if not 0.0 < time < math.inf:
        raise ValueError("Brownian motion has no value at this time")
    _, exponent = math.frexp(time)
    start = math.ldexp(1.0, exponent - 1)
    low, high = start, 2.0 * start
    at_low, variances = _at_power(low), {}
    if time == low:
        return _steps(at_low, _variances_of_powers(low))
    at_high = _at_power(high)
    variances = _variances_of_powers(low) | _variances_of_powers(high)
    while True:
        # A bridge: the mean of both ends, and a variance of a quarter of the time between.
        middle = low + (high - low) / 2.0
        at_middle = _mean(at_low, at_high)
        at_middle[middle], variances[middle] = 1.0, (high - low) / 4.0
        if middle == time:
            return _steps(at_middle, variances)
        if time < middle:
            high, at_high = middle, at_middle
        else:
            low, at_low = middle, at_middle


@dataclass(frozen=True)
class Share:
    """What one step contributes to one of several times: W(times[place]) gains coefficient·z."""

    place: int
    coefficient: float


@dataclass(frozen=True)
class Plan:
    """The steps on the way to several times, each once, with what they contribute.

    Parameters
    ----------
    times
        The times.
    steps
        For each time that a step reaches, in order, its shares.
    """

    times: tuple[float, ...]
    steps: tuple[tuple[float, tuple[Share, ...]], ...]


def plan_for(times: Sequence[float]) -> Plan:
    """Return how W is found at several times.

    Whatever the other times are, what arrives at one of them is added up in the order of its
    own path, so that it is the same to the last bit.
    """
    found: dict[float, list[Share]] = {}
    for place, time in enumerate(times):
        for step in path(time):
            found.setdefault(step.time, []).append(Share(place, step.coefficient))
    steps = tuple((time, tuple(found[time])) for time in sorted(found, key=_stage))
    return Plan(tuple(times), steps)


def _stage(time: float) -> tuple[int, float]:
    """Return when a time is reached on any path: powers of two outward from 1, then by depth."""
    mantissa, exponent = math.frexp(time)
    significant_bits = mantissa.as_integer_ratio()[0].bit_length()
    return (0, abs(exponent - 1)) if significant_bits == 1 else (significant_bits, time)


def _at_power(power: float) -> dict[float, float]:
    """Return the weights of the steps that lead to a power of two."""
    weights = {1.0: 1.0}
    reached = 1.0
    while reached < power:
        reached *= 2.0
        weights[reached] = 1.0
    while reached > power:
        reached /= 2.0
        weights = {time: weight / 2.0 for time, weight in weights.items()}
        weights[reached] = 1.0
    return weights


def _variances_of_powers(power: float) -> dict[float, float]:
    """Return the variances of the steps that lead to a power of two."""
    variances = {1.0: 1.0}
    reached = 1.0
    while reached < power:
        variances[2.0 * reached] = reached
        reached *= 2.0
    while reached > power:
        reached /= 2.0
        variances[reached] = reached / 2.0
    return variances


def _mean(one: dict[float, float], other: dict[float, float]) -> dict[float, float]:
    return {time: (one.get(time, 0.0) + other.get(time, 0.0)) / 2.0 for time in one | other}


def _steps(weights: dict[float, float], variances: dict[float, float]) -> tuple[Step, ...]:
    ordered = sorted(weights, key=_stage)
    return tuple(Step(time, variances[time], weights[time]) for time in ordered)
