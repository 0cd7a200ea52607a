"""Making the application's font known to matplotlib."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from matplotlib import font_manager

FALLBACK = "DejaVu Sans"
"""The family matplotlib brings along."""


@cache
def register_fonts(folder: Path) -> str:
    """Register every TrueType file of a folder and return the family they belong to.

    Parameters
    ----------
    folder
        Where the application's fonts lie.

    Returns
    -------
    str
        The family's name, or matplotlib's own where the folder holds no font.
    """
    families = []
    for path in sorted(folder.glob("*.ttf")):
        font_manager.fontManager.addfont(path)
        families.append(font_manager.ttfFontProperty(font_manager.get_font(path)).name)
    return families[0] if families else FALLBACK
