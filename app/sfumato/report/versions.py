"""What this Sfumato is made of: the versions and the licences of its parts."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import sfumato

LIBRARIES: Final = {
    "PySide6-Essentials": "LGPL-3.0",
    "numpy": "BSD-3-Clause",
    "pandas": "BSD-3-Clause",
    "scipy": "BSD-3-Clause",
    "pyarrow": "Apache-2.0",
    "cryptography": "Apache-2.0",
    "matplotlib": "PSF-like",
    "pyreadstat": "Apache-2.0",
    "openpyxl": "MIT",
    "tomlkit": "MIT",
}
"""The libraries that pyproject.toml asks for, and their licences."""


@dataclass(frozen=True)
class Part:
    """A part with its version and its licence; empty where that is not known."""

    name: str
    version: str
    licence: str


def made_of() -> tuple[Part, ...]:
    """Return Sfumato, Python and the libraries that are installed."""
    found = [
        Part("Sfumato", sfumato.__version__, ""),
        Part("Python", platform.python_version(), "PSF-2.0"),
    ]
    for name, licence in LIBRARIES.items():
        try:
            found.append(Part(name.replace("-", " "), version(name), licence))
        except PackageNotFoundError:
            continue
    return tuple(found)
