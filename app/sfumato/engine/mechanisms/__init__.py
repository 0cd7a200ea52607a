"""The mechanisms: one module each, found by being here.

A module of this package that defines ``MECHANISM`` (a `Mechanism`) is a mechanism of the
product. Nothing else lists them.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from sfumato.engine.core.discovery import found_in
from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.engine.mechanisms.base import Mechanism
from sfumato.engine.table.table import Attributes


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
    found = _of_its_module(name) or all_mechanisms().get(name)
    if found is None:
        raise PolicyError(
            "This version of Sfumato has no mechanism called {name}.",
            "Known are: {known}. Open the project with a newer version, or choose one of these.",
            name=name,
            known=", ".join(all_mechanisms()),
        )
    return found


@cache
def _of_its_module(name: str) -> Mechanism | None:
    """Return the mechanism of the module that has its name; the others are not imported for it."""
    packages = {info.name: info.ispkg for info in iter_modules(__path__)}
    if name not in packages:
        return None
    module = import_module(f"{__name__}.{name}{'.mechanism' * packages[name]}")
    found: Mechanism | None = getattr(module, "MECHANISM", None)
    return found if found is not None and found.name == name else None


def recommended(attributes: Attributes) -> tuple[str, str]:
    """Return the name of the mechanism that suits attributes best, and why; empty without one."""
    for mechanism in reversed(all_mechanisms().values()):
        with suppress(SfumatoError):
            if mechanism.serves(attributes):
                mechanism.check_attributes(attributes)
                if why := mechanism.recommendation(attributes):
                    return mechanism.name, why
    return "", ""


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
