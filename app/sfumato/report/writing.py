"""A report: what it consists of, and writing it, as one HTML page or a PDF.

Its plots are drawn for paper; it is written completely or not at all.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Final

from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from PySide6.QtCore import QUrl
from PySide6.QtGui import QFont, QImage, QTextDocument

from sfumato.engine.core.progress import Context, Silent
from sfumato.formats.files import write_whole
from sfumato.formats.language import PLOTS, said, spoken, translated
from sfumato.plots.figure import DOTS_PER_INCH, PlotFigure, register_fonts
from sfumato.plots.style import light_style
from sfumato.project.errors import ProjectError
from sfumato.report.blocks import (
    FONT,
    Block,
    Bullets,
    Drawn,
    Paragraph,
    Picture,
    Report,
    ReportGrid,
    SignatureLines,
)
from sfumato.report.pages import to_pdf
from sfumato.resources import resource_path

PICTURES_OF: Final = {".html": "svg", ".pdf": "image"}
"""Which kind of picture each ending of a report's file needs."""

WIDTH = 680.0
"""Pixels: the width of a page's text."""
_RATIO = 2.0
_SVG_RATIO = 72.0 / DOTS_PER_INCH
"""Matplotlib writes SVG at 72 dots an inch, whatever it is asked for."""
_PAPER = "#FFFFFF"

PAPER_STYLE = """
h1 { font-size: 20px; margin: 0; }
h2 { font-size: 15px; margin-top: 22px; margin-bottom: 6px; }
p { margin-top: 5px; margin-bottom: 5px; }
.muted, .note { color: #6B7280; }
.note { font-size: 10px; }
.notice { color: #8A5A0B; }
.lead { font-size: 14px; }
table { margin-top: 5px; margin-bottom: 10px; font-size: 10px; }
th { color: #6B7280; }
"""

PAGE_STYLE = """
body { font-family: Inter, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 13px;
       line-height: 1.5; color: #1E2328; background: #FFFFFF; }
main { max-width: 720px; margin: 32px auto; padding: 0 16px; }
h1 { font-size: 22px; margin: 0; }
h2 { font-size: 16px; margin: 28px 0 8px; }
p { margin: 8px 0; }
.muted, .note { color: #6B7280; }
.note { font-size: 12px; overflow-wrap: anywhere; }
.notice { color: #8A5A0B; }
.lead { font-size: 16px; }
table { border-collapse: collapse; margin: 8px 0 16px; width: 100%; font-size: 12px; }
th, td { text-align: left; vertical-align: top; padding: 4px 12px 4px 0;
         border-bottom: 1px solid #E4E4E0; overflow-wrap: anywhere; }
th { color: #6B7280; font-weight: 600; }
th[scope="row"] { color: #1E2328; width: 28%; }
.signed td { width: 70%; height: 28px; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 16px 0; }
figure svg { max-width: 100%; height: auto; }
@media print { h2, figure, tr { break-inside: avoid; } h2 { break-after: avoid; } }
"""


def picture_kind(path: Path) -> str:
    """Return the kind of picture that a report's file needs: ``svg`` or ``image``.

    Raises
    ------
    ProjectError
        If it is neither HTML nor PDF.
    """
    kind = PICTURES_OF.get(path.suffix.lower())
    if kind is None:
        raise ProjectError(
            "A report is written as HTML or PDF, and {path} ends in neither.",
            "Give a name that ends in .html or .pdf.",
            path=path,
        )
    return kind


def write_report(
    report: Report, pictures: Sequence[Drawn], path: Path, context: Context | None = None
) -> None:
    """Write a report; a file that is there is replaced once the new one is complete.

    Nobody but its owner can read it, until the owner shares it.

    Parameters
    ----------
    report
        The report.
    pictures
        Its plots in the `picture_kind` of the path, in order.
    path
        The file; its ending says how it is written.
    context
        Progress; until the pages are laid out, cancelling leaves what was there.

    Raises
    ------
    CannotWrite, DiskFull
        If the folder does not take the file; what was there stays.
    ProjectError
        If it is neither HTML nor PDF.
    """
    kind = picture_kind(path)
    is_page = kind == "svg"
    context = context or Silent()
    context.report(0.0, "Laying out the pages")
    content = to_html(report, pictures).encode() if is_page else to_pdf(report, pictures)
    context.report(0.9, "Writing the file")
    write_whole(path, content)


# ----- plots


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
    style = replace(light_style(FONT), background=_PAPER, translate=_of_plots)
    figure = picture.build(style)
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


def _of_plots(text: str) -> str:
    found = translated(text, PLOTS)
    return translated(text) if found == text else found  # a sentence of the analysis


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


# ----- HTML


def to_html(report: Report, pictures: Sequence[Drawn]) -> str:
    """Return a report as a whole HTML page, its plots as vectors inside.

    Parameters
    ----------
    report
        The report.
    pictures
        Its plots as SVG, in order.
    """

    def image(place: int, picture: Picture) -> str:
        drawn = pictures[place]
        label = escape(f"{drawn.headline}. {said(picture.text)}", quote=True)
        return f'<figure role="img" aria-label="{label}">{drawn.svg}</figure>'

    return (
        "<!DOCTYPE html>\n"
        f'<html lang="{spoken()}"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.title)}</title>\n<style>{PAGE_STYLE}</style></head>\n"
        f"<body><main>\n{body_of(report, image)}\n</main></body></html>\n"
    )


def body_of(report: Report, image: Callable[[int, Picture], str]) -> str:
    """Return what stands on a report's pages as HTML.

    Parameters
    ----------
    report
        The report.
    image
        Returns the HTML of a plot, by its place among the report's pictures.
    """
    parts = [
        f"<h1>{escape(report.title)}</h1>",
        f'<p class="muted">{escape(report.subtitle)}</p>',
        f'<p class="notice">{escape(report.notice)}</p>',
    ]
    place = 0
    for section in report.sections:
        parts.append(f"<h2>{escape(said(section.title))}</h2>")
        for block in section.blocks:
            if isinstance(block, Picture):
                parts.append(image(place, block))
                place += 1
            else:
                parts.append(_block(block))
    return "\n".join(parts)


def _block(block: Block) -> str:
    match block:
        case Paragraph(text, look):
            kind = f' class="{look}"' if look else ""
            return f"<p{kind}>{escape(said(text))}</p>"
        case Bullets(items):
            return "<ul>" + "".join(f"<li>{escape(said(item))}</li>" for item in items) + "</ul>"
        case ReportGrid():
            return _grid(block)
        case SignatureLines(labels):
            lines = (
                f'<tr><th scope="row" align="left">{escape(said(label))}</th><td>&nbsp;</td></tr>'
                for label in labels
            )
            return (
                '<table class="signed" width="99%" cellspacing="0" cellpadding="8">'
                f"{''.join(lines)}</table>"
            )
    raise TypeError(type(block).__name__)


def _grid(grid: ReportGrid) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        made = (
            f'<{head} class="number" align="right">{escape(cell)}</{head.split(" ")[0]}>'
            if place in grid.numeric
            else f'<{head} align="left">{escape(cell)}</{head.split(" ")[0]}>'
            for place, cell in enumerate(cells)
            for head in [_cell_tag(grid, place, tag)]
        )
        return f"<tr>{''.join(made)}</tr>"

    rows = "\n".join(row(cells, "td") for cells in grid.rows)
    head = f"<thead>{row(grid.header, 'th')}</thead>\n" if grid.header else ""
    return f'<table width="99%" cellspacing="0" cellpadding="4">{head}<tbody>{rows}</tbody></table>'


def _cell_tag(grid: ReportGrid, place: int, tag: str) -> str:
    """Return what a cell is called, with what it is the head of."""
    if tag == "th":
        return 'th scope="col"'
    return 'th scope="row"' if grid.row_heads and place == 0 else tag


# ----- in a window


def fill(document: QTextDocument, report: Report, pictures: Sequence[Drawn], width: float) -> None:
    """Put a report into a document of Qt's.

    Parameters
    ----------
    document
        Its former content goes.
    report
        The report.
    pictures
        Its plots as images, in order.
    width
        The widest that a plot may be, in pixels.
    """
    document.clear()
    font = QFont(FONT)
    font.setPixelSize(12)
    document.setDefaultFont(font)
    document.setDefaultStyleSheet(PAPER_STYLE)

    def image(place: int, _picture: Picture) -> str:
        drawn = pictures[place]
        name = f"plot-{place}"
        document.addResource(
            QTextDocument.ResourceType.ImageResource, QUrl(name), drawn.image or QImage()
        )
        shown = min(width, drawn.width)
        height = drawn.height * shown / drawn.width
        return f'<p><img src="{name}" width="{shown:.0f}" height="{height:.0f}"></p>'

    document.setHtml(body_of(report, image))
