"""Writing a report as a file, complete or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sfumato.formats.files import write_whole
from sfumato.project.errors import ProjectError
from sfumato.report.blocks import Report
from sfumato.report.drawing import Drawn
from sfumato.report.html import to_html
from sfumato.report.pdf import to_pdf

PICTURES_OF: Final = {".html": "svg", ".pdf": "image"}
"""Which kind of picture each ending of a report's file needs."""


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


def write_report(report: Report, pictures: Sequence[Drawn], path: Path) -> None:
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

    Raises
    ------
    CannotWrite, DiskFull
        If the folder does not take the file; what was there stays.
    ProjectError
        If it is neither HTML nor PDF.
    """
    kind = picture_kind(path)
    is_page = kind == "svg"
    write_whole(path, to_html(report, pictures).encode() if is_page else to_pdf(report, pictures))
