"""What runs: the versions that a report and the About box name."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from PySide6.QtCore import qVersion

from sfumato import __version__

_PACKAGES = ("PySide6_Essentials", "numpy", "pandas", "pyarrow", "scipy", "cryptography")


def versions() -> tuple[tuple[str, str], ...]:
    """Return pairs of a name and its version, Sfumato first."""
    found = [
        ("Sfumato", __version__),
        ("Python", platform.python_version()),
        ("Qt", qVersion() or "?"),
    ]
    for package in _PACKAGES:
        try:
            found.append((package.replace("_", " "), version(package)))
        except PackageNotFoundError:
            continue
    found.append((platform.system(), platform.release()))
    return tuple(found)


def versions_text() -> str:
    """Return the versions, one a line."""
    return "\n".join(f"{name} {number}" for name, number in versions())
