"""What a bound on odds means in the terms that custodians know: γ, ε, (ρ1, ρ2), δ, p.

γ is the most a release can multiply anyone's odds on anything about a record's value. All
other terms are functions of it, and for the uniform ladder it is a function of the retention
probability p and the domain's size m: γ = 1 + m·p/(1 − p).

Conversions from a promise to a retention probability are computed with exact fractions and
rounded so that the promise holds for the matrix that will be used, not only for the formula.

Sources: Evfimievski, Gehrke and Srikant, PODS 2003 ((ρ1, ρ2)-privacy by amplification);
Xiao, Tao and Chen, VLDB 2009, section 3 (uniform perturbation, δ-growth).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction

from sfumato.engine.core.errors import LevelError

_LARGEST = sys.float_info.max


def check_retention(retention: float) -> float:
    """Return a retention probability; raise `LevelError` unless it lies in [0, 1]."""
    if not 0.0 <= retention <= 1.0:
        raise LevelError(
            "A retention probability of {value} is not between 0 and 1.",
            "Give a number from 0 (nothing is kept) to 1 (everything is kept).",
            value=retention,
        )
    return float(retention)


def check_priors(rho1: float, rho2: float) -> None:
    """Raise `LevelError` unless 0 < ρ1 < ρ2 < 1."""
    if not 0.0 < rho1 < rho2 < 1.0:
        raise LevelError(
            "The limits ρ1 = {rho1} and ρ2 = {rho2} don't fit together.",
            "Give ρ1 above 0, ρ2 below 1, and ρ1 smaller than ρ2.",
            rho1=rho1,
            rho2=rho2,
        )


def check_gamma(gamma: float) -> None:
    """Raise `LevelError` unless γ is a finite number of at least 1."""
    if not 1.0 <= gamma < math.inf:
        raise LevelError(
            "An odds factor γ of {value} is out of range.",
            "Give a number of at least 1; at 1 the release tells nothing.",
            value=gamma,
        )


def gamma_for_epsilon(epsilon: float) -> float:
    """Return the largest γ whose logarithm is at most ε.

    Raises
    ------
    LevelError
        If ε is negative or not finite.
    """
    if not 0.0 <= epsilon < math.inf:
        raise LevelError(
            "A privacy loss ε of {value} is out of range.",
            "Give a number of at least 0; at 0 the release tells nothing.",
            value=epsilon,
        )
    if epsilon >= math.log(_LARGEST):
        return _LARGEST
    # exp and log are within a rounding step or two of the truth, so a few steps suffice.
    gamma = max(1.0, math.nextafter(math.exp(epsilon), 0.0)) if epsilon > 0.0 else 1.0
    while gamma > 1.0 and math.log(gamma) > epsilon:
        gamma = max(1.0, math.nextafter(gamma, 0.0))
    return gamma


def gamma_for_rho(rho1: float, rho2: float) -> float:
    """Return the largest γ that keeps a belief of at most ρ1 from rising above ρ2.

    γ = ρ2(1 − ρ1) / (ρ1(1 − ρ2)), rounded down. The same γ keeps a belief of at least ρ2 from
    falling below ρ1.

    Raises
    ------
    LevelError
        Unless 0 < ρ1 < ρ2 < 1.
    """
    check_priors(rho1, rho2)
    low, high = Fraction(rho1), Fraction(rho2)
    return max(1.0, _rounded_down(high * (1 - low) / (low * (1 - high))))


def epsilon_of_gamma(gamma: float) -> float:
    """Return ε = ln γ: the release is ε-locally differentially private."""
    return math.log(gamma)


def delta_of_gamma(gamma: float) -> float:
    """Return δ = (√γ − 1)/(√γ + 1): no belief grows by more than δ."""
    root = math.sqrt(gamma)
    return 1.0 if math.isinf(root) else (root - 1.0) / (root + 1.0)


def rho2_of_gamma(gamma: float, rho1: float) -> float:
    """Return the highest belief ρ2 to which a belief of at most ρ1 can rise, rounded up.

    ρ2 = γρ1 / (1 − ρ1 + γρ1).

    Raises
    ------
    LevelError
        Unless 0 <= ρ1 <= 1.
    """
    if not 0.0 <= rho1 <= 1.0:
        raise LevelError(
            "A belief ρ1 of {value} is not between 0 and 1.",
            "Give a probability.",
            value=rho1,
        )
    if math.isinf(gamma):
        return 1.0 if rho1 > 0.0 else 0.0
    low = Fraction(rho1)
    raised = Fraction(gamma) * low
    return _rounded_up(raised / (1 - low + raised))


def whole_odds(odds: float, spent: float) -> float:
    """Return by how much values and by-products together multiply odds, rounded up.

    Parameters
    ----------
    odds
        By how much the released values do.
    spent
        ε0 of the by-products.
    """
    if spent == 0.0 or math.isinf(odds):
        return odds
    if math.isinf(spent):
        return math.inf
    return math.nextafter(odds * math.nextafter(math.exp(spent), math.inf), math.inf)


def left_over(gamma: float, spent: float) -> float:
    """Return what of a bound γ is left for the released values, γ·e^(−ε0), rounded down."""
    if spent == 0.0 or math.isinf(gamma):
        return gamma
    return math.nextafter(gamma * math.nextafter(math.exp(-spent), 0.0), 0.0)


def retention_for_gamma(gamma: float, size: int) -> float:
    """Return the largest retention probability that keeps the odds factor within γ.

    p = (γ − 1)/(m − 1 + γ), rounded down until γ holds both for p itself and for the matrix
    entries p + (1 − p)/m and (1 − p)/m as they are stored.

    Parameters
    ----------
    gamma
        At least 1, finite.
    size
        The domain's size, m >= 2.

    Raises
    ------
    LevelError
        If γ is out of range.
    """
    check_gamma(gamma)
    limit = Fraction(gamma)

    def holds(retention: float) -> bool:
        other = (1.0 - retention) / size
        return other > 0.0 and Fraction(retention + other) <= limit * Fraction(other)

    return _largest_below(_rounded_down((limit - 1) / (size - 1 + limit)), holds)


def retention_for_rarest(gamma: float, least: float) -> float:
    """Return the largest retention probability within γ where replacements follow a distribution.

    From γ = 1 + p/((1 − p)·min π), rounded down until γ holds for the matrix entries as stored.

    Parameters
    ----------
    gamma
        At least 1, finite.
    least
        The smallest probability of the distribution, min π.

    Raises
    ------
    LevelError
        If γ is out of range.
    """
    check_gamma(gamma)
    limit, rarest = Fraction(gamma), Fraction(least)

    def holds(retention: float) -> bool:
        other = (1.0 - retention) * least
        return other > 0.0 and Fraction(retention + other) <= limit * Fraction(other)

    odds = (limit - 1) * rarest
    return _largest_below(_rounded_down(odds / (1 + odds)), holds)


def _largest_below(start: float, holds: Callable[[float], bool]) -> float:
    """Return `start`, or the nearest number below that passes the test, in growing steps."""
    number, step = start, math.ulp(start)
    while number > 0.0 and not holds(number):
        number = max(0.0, start - step)
        step *= 2.0
    return number


def _rounded_down(number: Fraction) -> float:
    """Return the largest float that is not above a number."""
    if number > Fraction(_LARGEST):
        return _LARGEST
    nearest = float(number)
    return math.nextafter(nearest, -math.inf) if Fraction(nearest) > number else nearest


def _rounded_up(number: Fraction) -> float:
    """Return the smallest float that is not below a number."""
    if number > Fraction(_LARGEST):
        return math.inf
    nearest = float(number)
    return math.nextafter(nearest, math.inf) if Fraction(nearest) < number else nearest
