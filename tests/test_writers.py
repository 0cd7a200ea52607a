"""Every file is written beside its name first and renamed when it is whole: no way around it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Final

from tests.source_code import ROOT, modules

APP: Final = ROOT / "app" / "sfumato"
WRITES: Final = frozenset(
    {
        *("write_text", "write_bytes", "savefig", "to_csv", "to_json", "to_parquet", "to_excel"),
        *("to_pickle", "to_stata", "tofile", "OSFile", "ParquetWriter", "write_table", "QFile"),
        *("QSaveFile", "QPdfWriter", "QImageWriter", "copyfile", "copy", "copy2", "write_sav"),
        *("write_dta", "NamedTemporaryFile", "mkstemp", "ZipFile", "backup"),
    }
)
"""Calls that can make a file, by the last part of their name."""

WHOLE: Final = {
    "commands/shared/engines.py": {"to_parquet"},  # in a folder of its own, gone afterwards
    "engine/generalization/many_columns.py": {"copy"},  # of an object in memory
    # The one door: beside the name, forced, renamed. It also unpacks where it is told.
    "formats/files.py": {"write_bytes", "open", "ZipFile"},
    "formats/bundles/writing.py": {
        "write_bytes",
        "ZipFile",
        "write_table",
        "open",
    },  # in the staging folder
    "formats/bundles/reading.py": {"open", "ZipFile"},  # unpacks into a folder of its own
    "formats/bundles/packages.py": {"open", "ZipFile"},  # so does this
    "formats/delimited_writing.py": {"OSFile"},  # formats write where `write_table` says
    "formats/tables/parquet.py": {"ParquetWriter", "write_table"},
    "formats/tables/statistical.py": {"write_sav", "write_dta", "open"},
    "formats/workbooks/writing.py": {"ZipFile"},  # into memory
    "project/store/files.py": {"open", "ZipFile"},  # to force a file to the disk
    "project/store/seal.py": {"write_text"},  # a note, beside its name and renamed
    "project/project_file.py": {"backup"},
    "ui/widgets/plot_view.py": {"to_csv"},  # onto the clipboard
    "plots/figure.py": {"to_csv", "savefig"},  # as a text, and into memory
    "report/pages.py": {"QPdfWriter"},  # into memory
    "report/writing.py": {"savefig"},  # into memory
}
"""The modules in which such calls are right; the reason stands beside each."""


def test_no_file_is_written_but_through_the_ways_that_leave_it_whole():
    found: dict[str, set[str]] = {}
    for module in modules("app"):
        name = module.path.relative_to(APP).as_posix()
        for call in writing_calls(module.nodes):
            found.setdefault(name, set()).add(call)
    others = {name: calls - WHOLE.get(name, set()) for name, calls in found.items()}
    assert {name: calls for name, calls in others.items() if calls} == {}


def writing_calls(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else ""
            name = function.id if isinstance(function, ast.Name) else name
            if (name == "open" and opens_to_write(node)) or (
                name in WRITES and not is_method_of_values(node, name)
            ):
                yield name


def opens_to_write(call: ast.Call) -> bool:
    given = [*call.args, *(word.value for word in call.keywords if word.arg == "mode")]
    modes = [one.value for one in given if isinstance(one, ast.Constant)]
    return any(
        isinstance(mode, str) and re.fullmatch("[rwaxbt+]+", mode) and set(mode) & set("wax+")
        for mode in modes
    )


def is_method_of_values(call: ast.Call, name: str) -> bool:
    """Whether it copies a value in memory, or makes a text."""
    return name in ("copy", "to_json") and not call.args
