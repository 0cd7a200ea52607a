"""Privacy limits of each value, as a custodian states them, and the bounds γ they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.matrices.privacy import gamma_for_rho
from sfumato.engine.mechanisms.per_value.solver import BreachMode, gammas_by_tolerance

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Limit:
    """One statement about one value: a belief of at most ρ1 must not rise above ρ2.

    Parameters
    ----------
    value
        The value's name in the domain.
    rho1, rho2
        The limits, 0 < ρ1 < ρ2 < 1.
    """

    value: str
    rho1: float
    rho2: float


@dataclass(frozen=True)
class PrivacyLimits:
    """All that a custodian has said about how far values may be revealed.

    Parameters
    ----------
    mode
        Which breaches are ruled out.
    theta
        The tolerance: a value without limits of its own gets ρ1 = f and ρ2 = θ·f. None where
        such values have no limit.
    stated
        Limits of single values. A value may have several, for different background knowledge;
        the tightest one counts (Chaytor et al. 2010, section IV).
    """

    mode: BreachMode = BreachMode.STRICT
    theta: float | None = None
    stated: tuple[Limit, ...] = ()

    def gammas(self, domain: Domain, frequencies: Floats) -> Floats:
        """Return each value's bound γ, shape (m,), infinite where it has none.

        Raises
        ------
        LevelError
            If a limit is out of range, naming the value.
        PolicyError
            If a limit is for a value that the domain does not have.
        """
        size = domain.size
        gammas = np.full(size, np.inf)
        if self.theta is not None:
            gammas = gammas_by_tolerance(frequencies, self.theta)
        positions = positions_by_name(domain)
        tightest = np.full(size, np.inf)
        own = np.zeros(size, dtype=np.bool_)
        for limit in self.stated:
            place = positions.get(limit.value)
            if place is None:
                raise PolicyError(
                    "The limits name a value, {value}, that the domain does not have.",
                    "Remove it, or add the value to the domain.",
                    value=limit.value,
                )
            own[place] = True
            tightest[place] = min(tightest[place], _gamma(limit))
        return np.where(own, tightest, gammas)

    def to_dict(self) -> dict[str, Any]:
        """Return the limits as plain values."""
        plain: dict[str, Any] = {"mode": str(self.mode)}
        if self.theta is not None:
            plain["theta"] = self.theta
        plain["limits"] = [
            {"value": limit.value, "rho1": limit.rho1, "rho2": limit.rho2} for limit in self.stated
        ]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> PrivacyLimits:
        """Return the limits that plain values state.

        Raises
        ------
        PolicyError
            If they are not limits.
        """
        try:
            mode = BreachMode(plain.get("mode", BreachMode.STRICT))
            theta = plain.get("theta")
            stated = tuple(
                Limit(str(row["value"]), _number(row["rho1"]), _number(row["rho2"]))
                for row in plain.get("limits", ())
            )
            return cls(mode, None if theta is None else _number(theta), stated)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise PolicyError(
                "The privacy limits can't be read.",
                "State a mode ('published' or 'strict'), and for each limit its value, rho1 and"
                " rho2.",
            ) from None


def positions_by_name(domain: Domain) -> dict[str, int]:
    """Return each value's position by the name under which it is shown.

    Raises
    ------
    PolicyError
        If two values are shown under one name.
    """
    positions: dict[str, int] = {}
    for place, name in enumerate(domain.names):
        if name in positions:
            raise PolicyError(
                "Values {first} and {second} of the domain have the same name.",
                "Give them different labels.",
                first=positions[name] + 1,
                second=place + 1,
            )
        positions[name] = place
    return positions


def merged(limits: Sequence[Limit], changed: Sequence[Limit]) -> tuple[Limit, ...]:
    """Return the limits with those of some values replaced, the others in their order."""
    replaced = {limit.value for limit in changed}
    return (*(limit for limit in limits if limit.value not in replaced), *changed)


def _gamma(limit: Limit) -> float:
    try:
        return gamma_for_rho(limit.rho1, limit.rho2)
    except LevelError as error:
        raise LevelError(
            "The limits of {value} don't fit together: ρ1 = {rho1}, ρ2 = {rho2}.",
            error.remedy_template,
            value=limit.value,
            rho1=limit.rho1,
            rho2=limit.rho2,
        ) from None


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("not a number")
    return float(value)
