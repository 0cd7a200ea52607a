"""The flags that say how a table's file is read, where it is not as it seems."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import detect_options

_NAMED: Final = {"tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "point": "."}
"""Words for marks that a command line hardly lets one write."""


def add_reading(parser: ArgumentParser) -> None:
    """Describe the flags; without them, a file is read as it seems to be meant."""
    reading = parser.add_argument_group("how the file is read (usual: found out)")
    reading.add_argument("--encoding", metavar="NAME", help="the text's encoding, e.g. cp1252")
    reading.add_argument(
        "--delimiter", metavar="MARK", help="between fields: a character, tab, comma or semicolon"
    )
    reading.add_argument(
        "--decimal", choices=("point", "comma", ".", ","), help="the mark in decimal numbers"
    )
    reading.add_argument(
        "--missing",
        action="append",
        metavar="TEXT",
        help="a text that means a missing value, beside the empty one; may be repeated",
    )
    reading.add_argument(
        "--skip-lines", type=int, metavar="N", help="how many lines above the table are left out"
    )
    reading.add_argument("--sheet", metavar="NAME", help="the sheet of a workbook")
    reading.add_argument(
        "--any-size",
        action="store_true",
        default=None,
        help="read a file that unpacks to far more than its size lets one expect",
    )


def reading_of(arguments: Namespace, path: Path) -> ReadOptions:
    """Return how a file is read: as it seems to be meant, except for what the flags say.

    Raises
    ------
    FileError
        If the file can't be looked into.
    BadOptions
        If the flags contradict one another.
    """
    given: dict[str, Any] = {
        "encoding": arguments.encoding,
        "delimiter": _mark(arguments.delimiter),
        "decimal": _mark(arguments.decimal),
        "missing": None if arguments.missing is None else ("", *dict.fromkeys(arguments.missing)),
        "skip_lines": arguments.skip_lines,
        "sheet": arguments.sheet,
        "any_size": arguments.any_size,
    }
    stated = {name: value for name, value in given.items() if value is not None}
    return replace(detect_options(path), **stated)


def _mark(given: str | None) -> str | None:
    return None if given is None else _NAMED.get(given, given)
