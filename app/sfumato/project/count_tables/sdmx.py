"""A table of counts in SDMX-CSV 2.0, as statistical offices exchange it.

Each column is a coded dimension, the noisy count is the observation, and interval and adjusted
count are its attributes. Sums have the code ``_T``, as in the cross-domain code lists. With
``labels=both``, codes and their names stand in one field, so no code list is needed to read it
(SDMX-CSV field guide 2.0, sdmx-twg).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Final

from sfumato.project.count_tables.counting import CountTable
from sfumato.project.count_tables.noise import Margin

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
