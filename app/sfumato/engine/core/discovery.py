"""What is found by being in a package: mechanisms, formats, panels and their like.

Nothing lists them. The import system is asked rather than the disk, since an application that was
frozen has its modules in an archive.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any


def found_in(package: str, attribute: str, main: str = "") -> list[Any]:
    """Return what the modules of a package define as `attribute`, by the modules' names.

    Parameters
    ----------
    package
        The dotted name of the package to search.
    attribute
        The name that a module defines; one without it is passed over.
    main
        The module that speaks for a package inside this one; the package itself where it is empty.
    """
    modules = modules_in(package, main)
    return [getattr(module, attribute) for module in modules if hasattr(module, attribute)]


def modules_in(package: str, main: str = "") -> Iterator[ModuleType]:
    """Import the modules of a package one by one; see `found_in`."""
    for info in pkgutil.iter_modules(importlib.import_module(package).__path__):
        inside = f".{main}" if info.ispkg and main else ""
        yield importlib.import_module(f"{package}.{info.name}{inside}")
