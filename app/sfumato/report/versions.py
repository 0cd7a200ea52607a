"""What this Sfumato is made of: the versions and the licences of its parts."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import sfumato
from sfumato.engine.core.frozen import dataclass

LIBRARIES: Final = {
    "PySide6-Essentials": "LGPL-3.0",
    "numpy": "BSD-3-Clause",
    "pandas": "BSD-3-Clause",
    "scipy": "BSD-3-Clause",
    "pyarrow": "Apache-2.0",
    "cryptography": "Apache-2.0",
    "matplotlib": "PSF-like",
    "pyreadstat": "Apache-2.0",
    "xlrd": "BSD-3-Clause",
    "tomlkit": "MIT",
    "chardet": "0BSD",
}
"""The libraries that pyproject.toml asks for, and their licences."""


@dataclass(frozen=True)
class Component:
    """A part with its version and its licence; empty where that is not known."""

    name: str
    version: str
    licence: str


def made_of() -> tuple[Component, ...]:
    """Return Sfumato, Python and the libraries that are installed."""
    found = [
        Component("Sfumato", sfumato.__version__, ""),
        Component("Python", platform.python_version(), "PSF-2.0"),
    ]
    for name, licence in LIBRARIES.items():
        try:
            found.append(Component(name.replace("-", " "), version(name), licence))
        except PackageNotFoundError:
            continue
    return tuple(found)
