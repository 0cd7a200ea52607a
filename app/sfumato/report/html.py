"""A report as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from sfumato.report.blocks import Block, Bullets, Grid, Paragraph, Picture, Report
from sfumato.report.drawing import Drawn

STYLE = """
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
.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 16px 0; }
figure svg { max-width: 100%; height: auto; }
@media print { h2, figure, tr { break-inside: avoid; } h2 { break-after: avoid; } }
"""


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
        label = escape(f"{drawn.headline}. {picture.text}", quote=True)
        return f'<figure role="img" aria-label="{label}">{drawn.svg}</figure>'

    return (
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.title)}</title>\n<style>{STYLE}</style></head>\n"
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
        parts.append(f"<h2>{escape(section.title)}</h2>")
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
            return f"<p{kind}>{escape(text)}</p>"
        case Bullets(items):
            return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"
        case Grid():
            return _grid(block)
    raise TypeError(type(block).__name__)


def _grid(grid: Grid) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        made = (
            f'<{tag} class="number" align="right">{escape(cell)}</{tag}>'
            if place in grid.numeric
            else f'<{tag} align="left">{escape(cell)}</{tag}>'
            for place, cell in enumerate(cells)
        )
        return f"<tr>{''.join(made)}</tr>"

    rows = "\n".join(row(cells, "td") for cells in grid.rows)
    return (
        '<table width="100%" cellspacing="0" cellpadding="4">'
        f"<thead>{row(grid.header, 'th')}</thead>\n<tbody>{rows}</tbody></table>"
    )
