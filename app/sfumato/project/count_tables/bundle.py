"""The bundle of a table of counts: its cells, its margins, their description and a README.

``counts.csv`` has a row for each combination of values: the noisy whole count, which alone is on
the ladder, and as functions of all noisy counts an interval and the adjusted count.
``margins.csv`` has the sums, as well, ``sdmx.csv`` has all of it for official statistics, and
``counts.xlsx`` for spreadsheets. The same contents give the same bytes.
"""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from sfumato import __version__
from sfumato.formats.bundles import DATAPACKAGE_NAME
from sfumato.formats.bundles.readme import README_NAME
from sfumato.formats.formulas import escaped
from sfumato.formats.language import worded
from sfumato.project.count_tables.counting import CountTable
from sfumato.project.count_tables.noise import SHARE, Margin, NoisyCounts, margins_of

if TYPE_CHECKING:
    from sfumato.formats.workbooks.writing import WorkbookCell

COUNTS_NAME: Final = "counts.csv"
MARGINS_NAME: Final = "margins.csv"
KEPT: Final = "margin"
_EXCEL: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
FIGURES: Final = ("count", "low", "high", "adjusted")


def files_of(found: NoisyCounts, title: str) -> dict[str, bytes]:
    """Return a bundle's files, by name."""
    cells, *margins = margins_of(found)
    columns = cells.columns
    names = _figure_names(columns)
    is_shown = found.table.cells <= MOST_CELLS_SHOWN
    readme = _readme(found, title, cells, names, is_shown)
    written = {
        COUNTS_NAME: _csv(
            [*columns, *names[1:]], ([*labels, *rest] for labels, *rest in cells.rows())
        ),
        MARGINS_NAME: _csv(
            [names[0], *columns, *names[1:]],
            (
                [
                    " × ".join(margin.columns),
                    *_placed(columns, dict(zip(margin.columns, labels, strict=True))),
                    *rest,
                ]
                for margin in margins
                for labels, *rest in margin.rows()
            ),
        ),
        SDMX_NAME: sdmx_csv(found.table, (cells, *margins)),
        README_NAME: readme.encode(),
    }
    if is_shown:
        written[WORKBOOK_NAME] = workbook_of(cells, margins, names, readme)
    package = json.dumps(_package(found, title, written, names), indent=2, ensure_ascii=False)
    return written | {DATAPACKAGE_NAME: f"{package}\n".encode()}


def _figure_names(columns: tuple[str, ...]) -> list[str]:
    """Return what the columns beside the table's own are called; each name is there but once."""
    names = []
    for name in (KEPT, *FIGURES):
        free = name
        while free in columns or free in names:
            free += "_"
        names.append(free)
    return names


def _placed(columns: tuple[str, ...], labels: Mapping[str, str]) -> list[str]:
    return [labels.get(name, "") for name in columns]


def _csv(header: list[str], rows: Iterator[list[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([escaped(name) for name in header])
    for row in rows:
        writer.writerow([escaped(each) if isinstance(each, str) else each for each in row])
    return text.getvalue().encode()


def _package(
    found: NoisyCounts, title: str, written: Mapping[str, bytes], names: list[str]
) -> dict[str, Any]:
    """Return the Frictionless data package's description."""
    table, law = found.table, found.law
    own: list[dict[str, Any]] = [
        {
            "name": escaped(name),
            "type": "string",
            "constraints": {"enum": list(map(escaped, texts))},
        }
        for name, texts in zip(table.columns, table.labels(), strict=True)
    ]
    figures = [
        {"name": name, "type": "number" if name == names[-1] else "integer"} for name in names[1:]
    ]
    summed = [{"name": field["name"], "type": "string"} for field in own]
    schemas: dict[str, list[dict[str, Any]]] = {
        COUNTS_NAME: [*own, *figures],
        MARGINS_NAME: [{"name": names[0], "type": "string"}, *summed, *figures],
    }
    return {
        "profile": "tabular-data-package",
        "name": "table-of-counts",
        **({"title": title} if title else {}),
        "resources": [
            _resource(name, content, schemas.get(name)) for name, content in written.items()
        ],
        "sfumato": {
            "version": __version__,
            "count_table": {
                "columns": list(table.columns),
                "epsilon": found.epsilon,
                "rows_per_unit": table.most_rows,
                "by_unit": table.unit is not None,
                "noise": "discrete Laplace",
                "rate": law.rate,
                "cells_added": found.summed,
                "total": found.total,
                "interval": SHARE,
            },
        },
    }


def _resource(name: str, content: bytes, schema: list[dict[str, Any]] | None) -> dict[str, Any]:
    facts = {
        "name": name.partition(".")[0].lower(),
        "path": name,
        "bytes": len(content),
        "hash": f"sha256:{hashlib.sha256(content).hexdigest()}",
    }
    if name == SDMX_NAME:
        return {**facts, "format": "csv", "mediatype": MEDIA_TYPE, "encoding": "utf-8"}
    if name == WORKBOOK_NAME:
        return {**facts, "name": "workbook", "format": "xlsx", "mediatype": _EXCEL}
    if schema is None:
        return {**facts, "mediatype": "text/markdown"}
    return {
        **facts,
        "profile": "tabular-data-resource",
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "schema": {"fields": schema},
    }


def _readme(found: NoisyCounts, title: str, cells: Margin, names: list[str], is_shown: bool) -> str:
    """Return what a recipient reads, in the language that is spoken."""
    columns = ", ".join(found.table.columns)
    lines = [f"# {title or worded('Table of counts')}"]
    lines.append(worded("How many records have each combination of {columns}.", columns=columns))
    if found.table.unit is None:
        lines.append(
            worded(
                "Every count has noise: a whole number, drawn at random. For somebody who sees this"
                " table, the odds on what is true of one record rise or fall by a factor of at most"
                " e^ε, with ε = {epsilon:g}, whatever else they know, the other records included."
                " The number of records is exact: {total:,}.",
                epsilon=found.epsilon,
                total=0 if found.total is None else found.total,
            )
        )
    else:
        lines.append(
            worded(
                "Every count has noise: a whole number, drawn at random. For somebody who sees this"
                " table, the odds on what is true of one unit, with its up to {rows:,}"
                " {rows:row|rows}, rise or fall by a factor of at most e^ε, with ε = {epsilon:g},"
                " whatever else they know, the other units included.",
                epsilon=found.epsilon,
                rows=found.table.most_rows,
            )
        )
    lines.append(
        worded(
            "Other tables from the same records add to this. The same table at another ε does not:"
            " whoever has several knows what the one with the largest ε tells."
        )
    )
    lines += _reading(cells, names)
    if is_shown:
        lines.append(
            worded(
                "{file} has all of it as a workbook. Its sheets hold texts and numbers, and no"
                " formulas.",
                file=f"`{WORKBOOK_NAME}`",
            )
        )
    return "\n\n".join(lines) + "\n"


def _reading(cells: Margin, names: list[str]) -> list[str]:
    """Return how to read the files, a paragraph each."""
    lines = [f"## {worded('How to read it')}"]
    count, low, high, adjusted = (f"`{name}`" for name in names[1:])
    lines.append(
        worded(
            "{count} is the noisy count. It may be below 0, and is right on average: use it for"
            " sums, differences and models. {low} to {high} holds the true count 95 times in 100;"
            " in {file}, that is {half_width:,} more or less.",
            count=count,
            low=low,
            high=high,
            file=f"`{COUNTS_NAME}`",
            half_width=cells.half_width,
        )
    )
    lines.append(
        worded(
            "{adjusted} is for showing: never below 0, and margins are the sums of their cells. It"
            " is the closest such table by least squares, and too high on average where true counts"
            " are small.",
            adjusted=adjusted,
        )
    )
    lines.append(
        worded(
            "{file} has the sums over all other columns, of which the fields are empty; {margin}"
            " names the columns that are left, and is empty for the total.",
            file=f"`{MARGINS_NAME}`",
            margin=f"`{names[0]}`",
        )
    )
    lines.append(
        worded(
            "{file} has the same counts and sums in SDMX-CSV 2.0, for tools of official statistics:"
            " `OBS_VALUE` is the noisy count, and {total} stands for all values of a column.",
            file=f"`{SDMX_NAME}`",
            total=f"`{TOTAL}`",
        )
    )
    return lines


# ----- a table of counts as a workbook of Excel: how to read it, the table, its cells, its margins


WORKBOOK_NAME: Final = "counts.xlsx"
MOST_CELLS_SHOWN: Final = 100_000
"""Of a table with more cells there is no workbook: nobody reads as many."""
_MOST_ACROSS: Final = 200
_MARK: Final = re.compile(r"[#`]")


def workbook_of(
    cells: Margin, margins: Sequence[Margin], names: Sequence[str], readme: str
) -> bytes:
    """Return the workbook's content, in the language that is spoken.

    Parameters
    ----------
    cells, margins
        The table's cells, and its sums.
    names
        What the columns beside the table's own are called, that of the margin first.
    readme
        What the README says, a paragraph a line of the sheet.
    """
    # Imported where one is written: the window's start does without.
    from sfumato.formats.workbooks.writing import WrittenSheet, workbook_bytes  # noqa: PLC0415

    columns = cells.columns
    lines = [[_MARK.sub("", part).strip()] for part in readme.strip().split("\n\n")]
    sheets = [WrittenSheet(worded("How to read it"), lines, [100], is_text=True)]
    if len(columns) >= 2 and len(cells.labels[-1]) <= _MOST_ACROSS:
        sheets.append(WrittenSheet(worded("Table"), _crossed(cells, margins), [16] * len(columns)))
    listed: Iterator[list[WorkbookCell]] = (
        [*labels, *figures] for labels, *figures in cells.rows()
    )
    head = [*columns, *names[1:]]
    sheets.append(WrittenSheet(worded("Counts"), [head, *listed], [16] * len(head)))
    summed: Iterator[list[WorkbookCell]] = (
        [" × ".join(one.columns), *_placed_workbook(columns, one.columns, labels), *figures]
        for one in margins
        for labels, *figures in one.rows()
    )
    head = [names[0], *head]
    sheets.append(WrittenSheet(worded("Margins"), [head, *summed], [16] * len(head)))
    return workbook_bytes(sheets)


def _placed_workbook(
    columns: Sequence[str], kept: Sequence[str], labels: Sequence[str]
) -> Iterator[str | None]:
    held = dict(zip(kept, labels, strict=True))
    yield from (held.get(name) for name in columns)


def _crossed(cells: Margin, margins: Sequence[Margin]) -> Iterator[list[WorkbookCell]]:
    """Yield the noisy counts, the last column's values across, with their sums."""
    *down, across = cells.columns
    by_columns = {one.columns: one.counts.tolist() for one in margins}
    beside, below = by_columns[tuple(down)], by_columns[across,]
    wide, total = len(cells.labels[-1]), worded("Total")
    counts = cells.counts.tolist()
    yield [*down, *(f"{across}: {label}" for label in cells.labels[-1]), total]
    for place, labels in enumerate(itertools.product(*cells.labels[:-1])):
        yield [*labels, *counts[place * wide : (place + 1) * wide], beside[place]]
    yield [total, *(None for _ in down[1:]), *below, by_columns[()][0]]


SDMX_NAME: Final = "sdmx.csv"
MEDIA_TYPE: Final = "application/vnd.sdmx.data+csv; version=2.0.0; labels=both"
TOTAL: Final = "_T"
_MEASURE: Final = "OBS_VALUE"
_ATTRIBUTES: Final = ("INTERVAL_LOW", "INTERVAL_HIGH", "ADJUSTED")
_RESERVED: Final = ("STRUCTURE", "STRUCTURE_ID", "ACTION", _MEASURE, *_ATTRIBUTES)
_CODE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_@$-]*", re.ASCII)
"""What is an identifier in SDMX and not run as a formula by spreadsheets."""


def sdmx_csv(table: CountTable, margins: Sequence[Margin]) -> bytes:
    """Return the file's content: a row for each cell, then for each sum.

    Parameters
    ----------
    table
        The table.
    margins
        Its cells, then its margins.
    """
    identifiers = dict(zip(table.columns, dimension_ids(table.columns), strict=True))
    codes = {
        name: dict(zip(labels, codes_of(labels), strict=True))
        for name, labels in zip(table.columns, table.labels(), strict=True)
    }
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    dimensions = [f"{identifiers[name]}: {name}" for name in table.columns]
    named = (_MEASURE, *_ATTRIBUTES)
    told = [f"{name}: {name.replace('_', ' ').capitalize()}" for name in named]
    writer.writerow(["STRUCTURE", "STRUCTURE_ID", "ACTION", *dimensions, *told])
    about = [
        "dataflow",
        f"SFUMATO:COUNTS_{table.digest[:12].upper()}(1.0.0): {', '.join(table.columns)}",
        "R",
    ]
    for margin in margins:
        for labels, *figures in margin.rows():
            held = dict(zip(margin.columns, labels, strict=True))
            keys = [
                f"{codes[name][held[name]]}: {held[name]}" if name in held else f"{TOTAL}: Total"
                for name in table.columns
            ]
            writer.writerow([*about, *keys, *figures])
    return text.getvalue().encode()


def dimension_ids(names: Sequence[str]) -> list[str]:
    """Return an identifier of SDMX for each column, each another."""
    found: list[str] = []
    for name in names:
        wanted = re.sub("[^A-Z0-9_]", "_", name.upper()).strip("_")
        if not wanted or not wanted[0].isalpha():
            wanted = f"C_{wanted}"
        free, number = wanted, 2
        while free in _RESERVED or free in found:
            free, number = f"{wanted}_{number}", number + 1
        found.append(free)
    return found


def codes_of(labels: Sequence[str]) -> list[str]:
    """Return the values' codes: the values themselves, or V1, V2, … where one is no identifier."""
    if all(_CODE.fullmatch(each) for each in labels):
        return list(labels)
    return [f"V{place}" for place in range(1, len(labels) + 1)]
