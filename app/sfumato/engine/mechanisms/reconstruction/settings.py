"""The settings of reconstruction privacy as plain values, and what they mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeVar

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.mechanisms.reconstruction.privacy import Rule
from sfumato.engine.mechanisms.reconstruction.sizes import Limits, Sampling

_Choice = TypeVar("_Choice", bound=StrEnum)

KNOWN_SETTINGS: Final = (
    "epsilon",
    "delta",
    "rule",
    "sampling",
    "retention_probability",
    "public",
)
"""ε, δ, the test, how records are drawn, the top's p, and the columns that make groups."""

USUAL_RETENTION: Final = 0.5
USUAL_EPSILON: Final = 0.3
USUAL_DELTA: Final = 0.17
"""An estimate is off by more than 30 % at least one time in three: 17 % on each side."""


def default_limits() -> dict[str, Any]:
    """Return the settings that a new policy starts with."""
    return {
        "epsilon": USUAL_EPSILON,
        "delta": USUAL_DELTA,
        "rule": Rule.EXACT.value,
        "sampling": Sampling.BLIND.value,
        "retention_probability": USUAL_RETENTION,
    }


def limits_of(settings: Mapping[str, Any], size_of_domain: int) -> Limits:
    """Return what settings ask of every group; what is not stated is as usual.

    Raises
    ------
    PolicyError
        If a setting is of the wrong type, or p is not between 0 and 1.
    """
    stated = {**default_limits(), **settings}
    retention = _number(stated, "retention_probability")
    if not 0.0 < retention < 1.0:
        raise PolicyError(
            "The retention probability {retention:g} of the most trusted release is not between"
            " 0 and 1.",
            "At 1 nothing is hidden, and at 0 nothing is told: choose a number between them.",
            retention=retention,
        )
    return Limits(
        epsilon=_number(stated, "epsilon"),
        delta=_number(stated, "delta"),
        rule=_member(Rule, stated, "rule"),
        sampling=_member(Sampling, stated, "sampling"),
        retention=retention,
        size_of_domain=size_of_domain,
    )


def public_of(settings: Mapping[str, Any]) -> Sequence[str] | None:
    """Return the columns that make groups; None where all that are released do.

    Raises
    ------
    PolicyError
        If they are not a list of names.
    """
    names = settings.get("public")
    if names is None:
        return None
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise PolicyError(
            "The public columns are not a list of names.", 'Write them as ["sex", "age"].'
        )
    return tuple(names)


def _number(settings: Mapping[str, Any], name: str) -> float:
    value = settings[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise PolicyError(
            "The setting {name} of reconstruction privacy is not a number.",
            "Give a number.",
            name=name,
        )
    return float(value)


def _member(choices: type[_Choice], settings: Mapping[str, Any], name: str) -> _Choice:
    try:
        return choices(settings[name])
    except ValueError:
        raise PolicyError(
            "The setting {name} of reconstruction privacy has no such choice.",
            "Choose one of: {known}.",
            name=name,
            known=", ".join(choices),
        ) from None
