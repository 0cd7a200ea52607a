"""The plots of a report, drawn for the file that it is written into."""

from __future__ import annotations

import io
from collections.abc import Generator
from dataclasses import dataclass, replace

from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from PySide6.QtGui import QImage

from sfumato.plots.figure import DOTS_PER_INCH, PlotFigure
from sfumato.plots.fonts import register_fonts
from sfumato.plots.style import light_style
from sfumato.report.blocks import Picture
from sfumato.resources import resource_path

FONT = "Inter"
WIDTH = 680.0
"""Pixels: the width of a page's text."""
_RATIO = 2.0
_SVG_RATIO = 72.0 / DOTS_PER_INCH
"""Matplotlib writes SVG at 72 dots an inch, whatever it is asked for."""
_PAPER = "#FFFFFF"


@dataclass(frozen=True)
class Drawn:
    """A plot as it is put on a page.

    Parameters
    ----------
    width, height
        In pixels at 96 dots an inch.
    headline
        What it says.
    svg
        The element, where it was drawn as ``svg``.
    image
        The picture with two pixels for each of `width` and `height`, where it was drawn as
        ``image``.
    """

    width: float
    height: float
    headline: str
    svg: str = ""
    image: QImage | None = None


def draw(picture: Picture, kind: str) -> Drawn:
    """Draw a plot in the light look: reports are printed.

    Only from the main thread: matplotlib keeps state of its own.

    Parameters
    ----------
    picture
        The plot.
    kind
        ``svg`` or ``image``.
    """
    steps = drawing(picture, kind)
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            drawn: Drawn = ended.value
            return drawn


def drawing(picture: Picture, kind: str) -> Generator[None, None, Drawn]:
    """Draw as `draw` does, and yield where a window may answer before it goes on."""
    register_fonts(resource_path("fonts"))
    figure = picture.build(replace(light_style(FONT), background=_PAPER))
    height = figure.preferred_height
    yield
    if kind == "svg":
        FigureCanvasSVG(figure)
        figure.fit((WIDTH, height), _SVG_RATIO)
        yield
        return Drawn(WIDTH, height, figure.headline, svg=_element(figure))
    figure.fit((WIDTH, height), _RATIO)
    yield
    return Drawn(WIDTH, height, figure.headline, image=_image(figure))


def _element(figure: PlotFigure) -> str:
    """Return a figure as SVG, without what only a file of its own needs."""
    stream = io.StringIO()
    # No date and no random names: the same report is the same file.
    with rc_context({"svg.hashsalt": "report"}):
        figure.savefig(stream, format="svg", facecolor=_PAPER, metadata={"Date": None})
    text = stream.getvalue()
    return text[text.index("<svg") :]


def _image(figure: PlotFigure) -> QImage:
    """Return a figure's pixels, without transparency: paper has none."""
    pixels = figure.pixels()
    rows, columns = pixels.shape[:2]
    image = QImage(pixels.data, columns, rows, QImage.Format.Format_RGBA8888)
    return image.convertToFormat(QImage.Format.Format_RGB32)
