"""Workbooks put together by hand, in every part as somebody may have left or made them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import openpyxl
import pandas as pd

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"

HEADER = '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>'


def sheet(rows: str) -> str:
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'


def parts(*sheets: str, states: Iterable[str] = (), strings: str = "<si><t>x</t></si>"):
    """Return the parts of a workbook by their names."""
    states = (*states, *["visible"] * len(sheets))
    overrides = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{_KIND}.worksheet+xml"/>'
        for n in range(1, len(sheets) + 1)
    )
    listed = "".join(
        f'<sheet name="Sheet {n}" sheetId="{n}" state="{state}" r:id="rId{n}"/>'
        for n, (state, _) in enumerate(zip(states, sheets, strict=False), start=1)
    )
    links = "".join(
        f'<Relationship Id="rId{n}" Type="{_LINKS}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(sheets) + 1)
    )
    made = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/>'
        f'<Override PartName="/xl/sharedStrings.xml" ContentType="{_KIND}.sharedStrings+xml"/>'
        f"{overrides}</Types>",
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_LINKS}">'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f"{links}</Relationships>",
        "xl/sharedStrings.xml": f'<sst xmlns="{_MAIN}">{strings}</sst>',
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"/>',
    }
    made |= {f"xl/worksheets/sheet{n}.xml": text for n, text in enumerate(sheets, start=1)}
    return {name: text.encode() for name, text in made.items()}


def save(path: Path, made: Mapping[str, bytes]) -> Path:
    path.write_bytes(zipped(made))
    return path


def zipped(made: Mapping[str, bytes]) -> bytes:
    """Return an archive of files, the same at any time."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in made.items():
            # What kind of document it is, stands there as it is.
            packing = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name), content, packing)
    return out.getvalue()


def save_repeating(path: Path, made: Mapping[str, bytes], part: str, piece: bytes, times: int):
    """Save a workbook, one of whose parts holds a piece very often in place of ``@``."""
    before, after = made[part].split(b"@")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in made.items():
            if name != part:
                archive.writestr(name, content)
        with archive.open(part, "w", force_zip64=True) as target:
            target.write(before)
            for _ in range(times):
                target.write(piece)
            target.write(after)
    return path


def hiding(path: Path, frame: pd.DataFrame, rows: int = 1) -> Path:
    """Write a table into a workbook that hides its last rows."""
    book = openpyxl.Workbook()
    book.active.append(list(frame))
    for row in frame.itertuples(index=False):
        book.active.append(list(row))
    for row in range(len(frame) + 2 - rows, len(frame) + 2):
        book.active.row_dimensions[row].hidden = True
    book.save(path)
    return path
