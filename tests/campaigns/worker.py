"""Reads mutated inputs one after the other and says what came of each, on a line of its own.

It is a process of its own, so that an input that takes all memory, hangs or breaks a library ends
no more than this: ``python -m tests.campaigns.worker FOLDER SEED FIRST LAST KIND…``.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Silent
from sfumato.formats.bundles.packages import package_at, table_file
from sfumato.formats.bundles.reading import read_bundle
from sfumato.formats.hierarchies import read_hierarchy, usable_table
from sfumato.formats.layouts import read_layout
from sfumato.formats.options import ENCODINGS, ReadOptions
from sfumato.formats.reading import detect_options, open_batches, preview, read_file, sheets_of
from sfumato.project.document.model import Document
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.rules.rules import apply_rules, reading_options_in
from tests.campaigns.corpus import LAYOUT, TELLTALES
from tests.campaigns.mutations import mutated
from tests.project.making import PASSPHRASE, table

MEMORY: Final = 4 << 30
"""The most address space that reading may take, in bytes: a sound input takes far less."""

SECONDS: Final = 60
"""The most processor time that one input may take; the system ends the process after it."""

_WAYS: Final = 4
"""So many of the choices that remarks offer are tried."""

_NAMED: Final = frozenset({"column", "known", "sheet", "first", "name", "place", "problem", "key"})
"""Details that hold names of columns and the like, into which a mutation may have put anything."""


def _read_table(path: Path) -> None:
    options = detect_options(path)
    named = sheets_of(path)
    for sheet in named[:3] if options.format in {"sqlite", "duckdb"} else ("",):
        _read_as(path, replace(options, sheet=sheet) if sheet else options)


def _read_as(path: Path, options: ReadOptions) -> None:
    preview(path, options)
    result = read_file(path, options, Silent())
    assert result.table.rows > 0
    for note in result.notes:
        assert note.text
    for way in [way for note in result.notes for way in note.ways][:_WAYS]:
        with suppress(SfumatoError):
            read_file(path, way.options, Silent())
    batches = open_batches(path, options, Silent())
    if batches is not None:
        assert sum(map(len, batches.read(tuple(batches.types)))) == result.table.rows


def _read_fixed_width(path: Path) -> None:
    """Read a text by a layout, in some encoding and in the one that is found."""
    encoding, _ = ENCODINGS[path.stat().st_size % len(ENCODINGS)]
    with suppress(SfumatoError):
        _read_as(path, detect_options(path, {"layout": LAYOUT, "encoding": encoding}))
    _read_as(path, detect_options(path, {"layout": LAYOUT}))


def _read_package(path: Path) -> None:
    found = package_at(path)
    with table_file(found.path) as file:
        read_file(file, found.options, Silent())


def _read_hierarchy(path: Path) -> None:
    usable_table(read_hierarchy(path).rows, tuple(range(20, 40)), "age")


def _apply_rules(path: Path) -> None:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return  # refused before the rules are looked at
    reading_options_in(text)
    apply_rules(text, MemorySurvey(table()), Document(), path.parent)


def _open_project(path: Path) -> None:
    ProjectFile.open(path, PASSPHRASE, read_only=True).close()
    ProjectFile.open(path, PASSPHRASE).close()


_READERS: Final[Mapping[str, Callable[[Path], None]]] = {
    "fixed": _read_fixed_width,
    "layout": lambda path: void(read_layout(path)),
    "bundle": lambda path: void(read_bundle(path, accept_altered=True)),
    "package": _read_package,
    "hierarchy": _read_hierarchy,
    "rules": _apply_rules,
    "project": _open_project,
}
_ENDINGS: Final = {
    "fixed": "dat",
    "layout": "csv",
    "bundle": "zip",
    "package": "zip",
    "hierarchy": "csv",
    "rules": "toml",
}


def void(_: object) -> None:
    """Let go of what was read."""


def outcome(kind: str, content: bytes, folder: Path) -> str:
    """Return what came of reading an input: read, refused, or what should never be."""
    path = folder / f"input.{_ENDINGS.get(kind, kind)}"
    path.write_bytes(content)
    try:
        _READERS.get(kind, _read_table)(path)
    except SfumatoError as error:
        return _of_refusal(error)
    except BaseException as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"FAULT {type(error).__name__} in {Path(frame.filename).name}:{frame.lineno}"
    return "read"


def _of_refusal(error: SfumatoError) -> str:
    hidden = {k: "" if k in _NAMED else v for k, v in error.details.items()}
    said = f"{error.what_template} {error.remedy_template} {hidden} {error.__cause__}"
    if any(telltale in said for telltale in TELLTALES):
        return "FAULT a message holds a cell"
    if "not enough memory" in error.what:
        return "FAULT out of memory"
    if not error.remedy:
        return f"FAULT nothing is said about what to do: {error.what_template}"
    return "refused"


def main() -> None:
    """Read the inputs that the command line asks for."""
    folder, seed, first, last = Path(sys.argv[1]), *map(int, sys.argv[2:5])
    kinds = tuple(sys.argv[5:])
    warnings.simplefilter("ignore")
    mutated(seed, first, kinds)  # the corpus is made without the limit
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number in range(first, last):
        kind, content = mutated(seed, number, kinds)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        sys.stdout.write(f"{number} {kind} {outcome(kind, content, folder)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
