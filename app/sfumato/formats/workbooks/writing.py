"""Writing a workbook of Excel (.xlsx, ECMA-376) whose cells are texts and numbers, no formulas.

Texts stand in their cells, so none is ever run. The same sheets give the same bytes.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from sfumato.engine.core.frozen import dataclass

MOST_SHEET_ROWS: Final = 1_048_576
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)
_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE: Final = "http://schemas.openxmlformats.org/package/2006"
_KIND: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD: Final = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_STYLES: Final = (
    f'{_HEAD}<styleSheet xmlns="{_MAIN}"><fonts count="2"><font/><font><b/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
    '<cellXfs count="3"><xf xfId="0"/><xf fontId="1" xfId="0" applyFont="1"/>'
    '<xf xfId="0" applyAlignment="1"><alignment vertical="top" wrapText="1"/></xf></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
    "</styleSheet>"
)
_UNFIT: Final = re.compile("[\\x00-\\x08\\x0b-\\x1f\\ufffe\\uffff]|_(?=x[0-9A-Fa-f]{4}_)")

WorkbookCell = str | int | float | None


@dataclass(frozen=True)
class WrittenSheet:
    """A sheet to be written.

    Parameters
    ----------
    name
        What it is called; up to 31 characters.
    rows
        Its rows; the first is its header.
    widths
        The columns' widths, in characters.
    is_text
        Whether it is read as running text, in lines that are wrapped.
    """

    name: str
    rows: Iterable[Sequence[WorkbookCell]]
    widths: Sequence[int] = ()
    is_text: bool = False


def workbook_bytes(sheets: Sequence[WrittenSheet]) -> bytes:
    """Return a workbook's content.

    Raises
    ------
    ValueError
        If a sheet has more rows than Excel shows.
    """
    numbers = range(1, len(sheets) + 1)
    parts = {
        "[Content_Types].xml": _content_types(numbers),
        "_rels/.rels": _relations([("officeDocument", "xl/workbook.xml")]),
        "xl/workbook.xml": _workbook(sheets),
        "xl/_rels/workbook.xml.rels": _relations(
            [
                *(("worksheet", f"worksheets/sheet{number}.xml") for number in numbers),
                ("styles", "styles.xml"),
            ]
        ),
        "xl/styles.xml": _STYLES,
    }
    for number, sheet in zip(numbers, sheets, strict=True):
        parts[f"xl/worksheets/sheet{number}.xml"] = _sheet(sheet)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in parts.items():
            entry = zipfile.ZipInfo(name, _EARLIEST)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            archive.writestr(entry, content.encode(), compresslevel=6)
    return made.getvalue()


def _content_types(numbers: Iterable[int]) -> str:
    kinds = {f"/xl/worksheets/sheet{number}.xml": "worksheet" for number in numbers}
    kinds |= {"/xl/workbook.xml": "sheet.main", "/xl/styles.xml": "styles"}
    named = "".join(
        f'<Override PartName="{name}" ContentType="{_KIND}.{kind}+xml"/>'
        for name, kind in kinds.items()
    )
    relations = "application/vnd.openxmlformats-package.relationships+xml"
    return (
        f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types">'
        f'<Default Extension="rels" ContentType="{relations}"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{named}</Types>'
    )


def _relations(targets: Sequence[tuple[str, str]]) -> str:
    told = "".join(
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, start=1)
    )
    return f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">{told}</Relationships>'


def _workbook(sheets: Sequence[WrittenSheet]) -> str:
    told = "".join(
        f'<sheet name={quoteattr(sheet.name)} sheetId="{number}" r:id="rId{number}"/>'
        for number, sheet in enumerate(sheets, start=1)
    )
    return (
        f'{_HEAD}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{told}</sheets></workbook>'
    )


def _sheet(sheet: WrittenSheet) -> str:
    rows = []
    for number, row in enumerate(sheet.rows, start=1):
        if number > MOST_SHEET_ROWS:
            raise ValueError("a sheet has more rows than Excel shows")
        style = 1 if number == 1 else 2 if sheet.is_text else 0
        cells = (_cell(place, number, value, style) for place, value in enumerate(row))
        rows.append(f'<row r="{number}">{"".join(cells)}</row>')
    pane = '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>'
    view = f'<sheetView workbookViewId="0">{"" if sheet.is_text else pane}</sheetView>'
    columns = "".join(
        f'<col min="{place}" max="{place}" width="{width}" customWidth="1"/>'
        for place, width in enumerate(sheet.widths, start=1)
    )
    columns = f"<cols>{columns}</cols>" if columns else ""
    return (
        f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetViews>{view}</sheetViews>{columns}'
        f"<sheetData>{''.join(rows)}</sheetData></worksheet>"
    )


def _cell(place: int, number: int, value: WorkbookCell, style: int) -> str:
    if value is None:
        return ""
    where = f'r="{_letters(place)}{number}"' + (f' s="{style}"' if style else "")
    if isinstance(value, str):
        text = escape(_UNFIT.sub(lambda found: f"_x{ord(found[0]):04X}_", value))
        return f'<c {where} t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
    return f"<c {where}><v>{value!r}</v></c>"


def _letters(place: int) -> str:
    """Return what Excel calls a column, counted from 0."""
    found, place = "", place + 1
    while place:
        place, rest = divmod(place - 1, 26)
        found = chr(ord("A") + rest) + found
    return found
