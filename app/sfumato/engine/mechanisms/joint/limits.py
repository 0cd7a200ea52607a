"""Limits of values and of combinations of values, and the bounds γ they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.values import is_number
from sfumato.engine.matrices.privacy import gamma_for_rho
from sfumato.engine.mechanisms.retention_profiles import BreachMode
from sfumato.engine.table.combinations import domains_of, sizes_of
from sfumato.engine.table.table import Attributes

Floats = npt.NDArray[np.float64]

Pair = tuple[float, float]
"""ρ1 and ρ2: a belief of at most ρ1 must not rise above ρ2."""

USUAL_OTHERS: Final[Pair] = (0.1, 0.5)
"""What combinations without limits of their own begin with."""

LIMITS: Final = ("mode", "others", "limits")
"""The settings that `CombinationLimits.to_dict` writes."""


@dataclass(frozen=True)
class Limit:
    """One statement about all combinations that have some values: of one column, or of several.

    Parameters
    ----------
    values
        The values' names, by their columns; at least one.
    rho1, rho2
        The limits, 0 < ρ1 < ρ2 < 1.
    """

    values: Mapping[str, str]
    rho1: float
    rho2: float


@dataclass(frozen=True)
class CombinationLimits:
    """All that a custodian has said about how far values and combinations may be revealed.

    A limit of one value of a column holds for each combination with that value, and so for the
    value itself, whatever is believed of the other columns.

    Parameters
    ----------
    mode
        Which breaches are ruled out.
    others
        The limit of combinations that none of the stated limits is for; None for no limit.
    stated
        Limits of values and of combinations. Where several are for one combination, the tightest
        one counts.
    """

    mode: BreachMode = BreachMode.STRICT
    others: Pair | None = USUAL_OTHERS
    stated: tuple[Limit, ...] = field(default=())

    def gammas(self, attributes: Attributes) -> Floats:
        """Return each combination's bound γ, shape (m,), infinite where it has none.

        Raises
        ------
        LevelError
            If a limit is out of range, saying of what it is.
        PolicyError
            If a limit is for a column or a value that the attributes do not have.
        """
        sizes = sizes_of(attributes)
        columns = {attribute.name: place for place, attribute in enumerate(attributes)}
        positions = [
            {name: place for place, name in enumerate(domain.names)}
            for domain in domains_of(attributes)
        ]
        gammas = np.full(sizes, np.inf)
        own = np.zeros(sizes, dtype=np.bool_)
        for limit in self.stated:
            chosen: list[int | slice] = [slice(None)] * len(sizes)
            for column, value in limit.values.items():
                place = columns.get(column)
                if place is None:
                    raise PolicyError(
                        "The limits name a column, {column}, that is not protected here.",
                        "Remove the limit, or protect the column together with the others.",
                        column=column,
                    )
                found = positions[place].get(value)
                if found is None:
                    raise PolicyError(
                        "The limits name a value, {value}, that the domain of {column} does not"
                        " have.",
                        "Remove the limit, or add the value to the domain.",
                        value=value,
                        column=column,
                    )
                chosen[place] = found
            at = tuple(chosen)
            gammas[at] = np.minimum(gammas[at], _gamma((limit.rho1, limit.rho2), limit.values))
            own[at] = True
        if self.others is not None:
            gammas[~own] = _gamma(self.others, {})
        return gammas.ravel()

    def to_dict(self) -> dict[str, Any]:
        """Return the limits as plain values."""
        plain: dict[str, Any] = {"mode": str(self.mode)}
        plain["others"] = (
            {} if self.others is None else {"rho1": self.others[0], "rho2": self.others[1]}
        )
        plain["limits"] = [
            {"values": dict(limit.values), "rho1": limit.rho1, "rho2": limit.rho2}
            for limit in self.stated
        ]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> CombinationLimits:
        """Return the limits that plain values state.

        Raises
        ------
        PolicyError
            If they are not limits.
        """
        try:
            mode = BreachMode(plain.get("mode", BreachMode.STRICT))
            others = plain.get("others")
            pair: Pair | None = USUAL_OTHERS
            if others is not None:
                pair = _pair(others) if others else None
            stated = tuple(Limit(_values(row), *_pair(row)) for row in plain.get("limits", ()))
            return cls(mode, pair, stated)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise PolicyError(
                "The limits of values and combinations can't be read.",
                "State for each limit its values by column, rho1 and rho2; for all others rho1 and"
                " rho2; and a mode ('published' or 'strict').",
            ) from None


def _values(row: Mapping[str, Any]) -> dict[str, str]:
    values = {str(column): str(value) for column, value in row["values"].items()}
    if not values:
        raise ValueError("a limit of nothing")
    return values


def _pair(row: Mapping[str, Any]) -> Pair:
    pair = row["rho1"], row["rho2"]
    if not all(map(is_number, pair)):
        raise TypeError("not a number")
    return float(pair[0]), float(pair[1])


def _gamma(pair: Pair, values: Mapping[str, str]) -> float:
    try:
        return gamma_for_rho(*pair)
    except LevelError as error:
        raise LevelError(
            "The limits of {value} don't fit together: ρ1 = {rho1}, ρ2 = {rho2}.",
            error.remedy_template,
            value=" · ".join(values.values()) or "all other combinations",
            rho1=pair[0],
            rho2=pair[1],
        ) from None
