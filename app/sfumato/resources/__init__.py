"""What the application ships beside its code: icons, fonts, help, samples and texts."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


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
    path = Path(str(files(__name__).joinpath(*parts)))
    if not path.exists():
        raise LookupError("/".join(parts))  # an OSError would be told as the disk's refusal
    return path
