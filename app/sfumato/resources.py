"""Where what the application ships beside its code is: icons, fonts, help, samples and texts."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_INSTALLED: Final = Path(__file__).with_suffix("")
_CHECKOUT: Final = Path(__file__).parents[2] / "resources"
_ROOT: Final = _INSTALLED if (_INSTALLED / "icons").is_dir() else _CHECKOUT
"""Below the package where it is installed, at the top level of a checkout."""


def resource_path(*parts: str) -> Path:
    """Return where a shipped file or folder is, in a checkout and in an installed package.

    Parameters
    ----------
    *parts
        The path below ``resources``, e.g. ``"icons", "open.svg"``.

    Raises
    ------
    LookupError
        If nothing of that name is shipped.
    """
    path = _ROOT.joinpath(*parts)
    if not path.exists():
        raise LookupError("/".join(parts))  # an OSError would be told as the disk's refusal
    return path
