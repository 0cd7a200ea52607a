"""The plots of a report, drawn for the file that it is written into."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg

from app.plots.figure import DOTS_PER_INCH
from app.plots.fonts import register_fonts
from app.plots.style import light_style
from app.report.blocks import Picture
from resources import resource_path

FONT = "Inter"
WIDTH = 680.0
"""Pixels: the width of a page's text."""
_RATIO = 2.0


@dataclass(frozen=True)
class Drawn:
    """A plot as it is written into a file.

    Parameters
    ----------
    content
        The picture: SVG, or PNG with two pixels for each of `width` and `height`.
    width, height
        In pixels at 96 dots an inch.
    headline
        What it says.
    """

    content: bytes
    width: float
    height: float
    headline: str

    @property
    def svg(self) -> str:
        """The element, without what only a file of its own needs."""
        text = self.content.decode()
        return text[text.index("<svg") :]


def draw(picture: Picture, kind: str) -> Drawn:
    """Draw a plot in the light look: reports are printed.

    Only from the main thread: matplotlib keeps state of its own.

    Parameters
    ----------
    picture
        The plot.
    kind
        ``svg`` or ``png``.
    """
    register_fonts(resource_path("fonts"))
    figure = picture.build(replace(light_style(FONT), background="#FFFFFF"))
    FigureCanvasAgg(figure)
    height = figure.preferred_height
    figure.set_size_inches(WIDTH / DOTS_PER_INCH, height / DOTS_PER_INCH)
    stream = io.BytesIO()
    # No date and no random names: the same report is the same file.
    with rc_context({"svg.hashsalt": "report"}):
        figure.savefig(
            stream,
            format=kind,
            dpi=DOTS_PER_INCH * _RATIO,
            facecolor="#FFFFFF",
            metadata={"Date": None} if kind == "svg" else {"Software": None},
        )
    return Drawn(stream.getvalue(), WIDTH, height, figure.headline)
