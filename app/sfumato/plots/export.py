"""A figure as a file's content."""

from __future__ import annotations

import io
from typing import Final

from sfumato.plots.figure import DOTS_PER_INCH, PlotFigure

RATIO: Final = 2.0
MARGIN: Final = 24.0


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
