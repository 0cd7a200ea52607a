"""A figure as a file's content, and the application's font in it."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Final

from matplotlib import font_manager

from sfumato.plots.figure import DOTS_PER_INCH, PlotFigure

RATIO: Final = 2.0
MARGIN: Final = 24.0

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


def exported(figure: PlotFigure, kind: str, size: tuple[float, float] | None = None) -> bytes:
    """Return a figure as PNG, SVG or PDF, with a margin around it.

    Parameters
    ----------
    figure
        Just built, for this alone.
    kind
        ``png``, ``svg`` or ``pdf``.
    size
        Width and height in pixels at a device pixel ratio of 1; the figure's own where None.
    """
    figure.margin = MARGIN
    if size is not None:
        figure.set_size_inches(size[0] / DOTS_PER_INCH, size[1] / DOTS_PER_INCH)
    stream = io.BytesIO()
    figure.savefig(
        stream,
        format=kind,
        dpi=DOTS_PER_INCH * RATIO,
        facecolor=figure.get_facecolor(),
        metadata={"Title": figure.headline},
    )
    return stream.getvalue()
