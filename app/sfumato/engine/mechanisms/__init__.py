"""The mechanisms: one module each, found by being here.

A module of this package that defines ``MECHANISM`` (a `Mechanism`) is a mechanism of the
product. Nothing else lists them.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import cache

from sfumato.engine.core.discovery import found_in
from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.engine.mechanisms.base import Mechanism, Settings
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attributes, measured_rows


@cache
def all_mechanisms() -> dict[str, Mechanism]:
    """Return every mechanism by its name, in the order in which they are offered."""
    found: list[Mechanism] = found_in(__name__, "MECHANISM", main="mechanism")
    return {mechanism.name: mechanism for mechanism in sorted(found, key=lambda m: m.order)}


def mechanism_called(name: str) -> Mechanism:
    """Return the mechanism called `name`.

    Raises
    ------
    PolicyError
        If this version has no such mechanism.
    """
    try:
        return all_mechanisms()[name]
    except KeyError:
        raise PolicyError(
            "This version of Sfumato has no mechanism called {name}.",
            "Known are: {known}. Open the project with a newer version, or choose one of these.",
            name=name,
            known=", ".join(all_mechanisms()),
        ) from None


def recommended(attributes: Attributes) -> tuple[str, str]:
    """Return the name of the mechanism that suits attributes best, and why; empty without one."""
    for mechanism in reversed(all_mechanisms().values()):
        with suppress(SfumatoError):
            if mechanism.serves(attributes):
                mechanism.check_attributes(attributes)
                if why := mechanism.recommendation(attributes):
                    return mechanism.name, why
    return "", ""


def first_settings_within(
    mechanism: Mechanism, attributes: Attributes, noise: KeyedNoise, bears: float
) -> Settings:
    """Return the settings a new policy starts with, where so much is promised to everybody.

    What is measured of all rows of a unit takes half of the ε that is `bears` at most, if that is
    enough to measure it: the rest is left for released values.

    Raises
    ------
    PolicyError, LevelError
        If the mechanism can't serve the attributes.
    """
    _, unit = measured_rows(attributes)
    usual, rows = mechanism.default_settings(attributes), 1 if unit is None else unit.rows
    if bears < math.inf:
        capped = mechanism.within(attributes, usual, bears / (2.0 * rows))
        with suppress(SfumatoError):
            return mechanism.complete_settings(attributes, capped, noise)
    return mechanism.complete_settings(attributes, usual, noise)


def serving(attributes: Attributes, preferred: str = "") -> Mechanism:
    """Return the preferred mechanism where it serves attributes, else the first one that does.

    Raises
    ------
    PolicyError
        If none serves them.
    """
    found = [each for each in all_mechanisms().values() if each.serves(attributes)]
    for mechanism in found:
        if mechanism.name == preferred:
            return mechanism
    if not found:
        raise PolicyError(
            "No mechanism protects {columns} together.",
            "Columns of numbers and columns of categories are protected separately.",
            columns=", ".join(attribute.name for attribute in attributes),
        )
    return found[0]
