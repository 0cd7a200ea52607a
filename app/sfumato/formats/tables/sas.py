"""SAS .sas7bdat files, with the labels of a catalog that lies beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from sfumato.engine.core.progress import Silent
from sfumato.formats.errors import DamagedFile
from sfumato.formats.files import is_file
from sfumato.formats.statistical.reading import LibraryProcess, Moments, Package, StatisticalFormat

_MAGIC: Final = bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00\x09\xc7\x31\x8c"
_DATES: Final = re.compile(
    r"(DATE|DTDATE|WEEKDATE|WEEKDATX|(MMDDYY|DDMMYY|YYMMDD)[BCDNPS]?|(IS|[EB])8601DA)[\d.]*"
)
_MOMENTS: Final = re.compile(r"(DATETIME|DATEAMPM|MDYAMPM|(IS|[EB])8601D[TN])[\d.]*")

_PACKAGE: Final = Package(
    title="SAS",
    reader="read_sas7bdat",
    moments=Moments(
        origin=np.datetime64("1960-01-01"),
        seconds_per_date=86_400,
        units_per_second=1,
        is_date=lambda shown: _DATES.fullmatch(shown) is not None,
        is_moment=lambda shown: _MOMENTS.fullmatch(shown) is not None,
    ),
    # Most numbers have no format; of the others, those that show no decimals.
    whole=re.compile(r"|(BEST|F|Z|COMMA|[A-Z]\w*[A-Z_])?\d*(\.0?)?"),
)


class _Sas(StatisticalFormat):
    package = _PACKAGE
    name = "sas7bdat"
    title = "SAS"
    extensions = (".sas7bdat",)
    order = 60

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        return head.startswith(_MAGIC)

    def label_sets(self, path: Path) -> Mapping[str, Mapping[Any, str]]:
        return _catalog_labels(path)


def _catalog_labels(path: Path) -> dict[str, dict[Any, str]]:
    """Return the sets of value labels of a catalog of the same name beside the file.

    Raises
    ------
    DamagedFile
        If there is one and it can't be read.
    """
    catalog = path.with_suffix(".sas7bcat")
    if not is_file(catalog):
        return {}
    found = None
    with suppress(DamagedFile), LibraryProcess(catalog, "read_sas7bcat", "SAS") as library:
        _, found = library.call(Silent())
    if found is None:
        raise DamagedFile(
            "The catalog {file} with the value labels can't be read.",
            "Copy it again, or move it away: the table can be read without it.",
            file=catalog.name,
        )
    return {name: dict(pairs) for name, pairs in found["label_sets"].items()}


FORMAT: Final = _Sas()
