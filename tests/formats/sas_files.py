"""SAS files for the tests.

No Python library writes .sas7bdat, but the C library inside pyreadstat does: it is called
here through its exported functions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyreadstat import _readstat_writer

_STRING, _DOUBLE = 0, 5
_WRITER = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


@dataclass(frozen=True)
class Tag:
    """A missing value with a reason: a letter from A to Z, or an underscore."""

    letter: str


@dataclass(frozen=True)
class SasColumn:
    """A column of a SAS file; numbers or texts, None where missing, a `Tag` with a reason."""

    name: str
    values: Sequence[float | str | Tag | None]
    format: str = ""
    label: str = ""

    @property
    def is_text(self) -> bool:
        return any(isinstance(value, str) for value in self.values)


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(_readstat_writer.__file__)
    if not hasattr(library, "readstat_begin_writing_sas7bdat"):
        pytest.skip("pyreadstat does not show the functions of its C library here")
    for name in ("readstat_writer_init", "readstat_add_variable", "readstat_add_label_set"):
        getattr(library, name).restype = ctypes.c_void_p
    return library


class _Writing:
    """A file that the C library writes."""

    def __init__(self) -> None:
        self.library = _library()
        self.content = bytearray()
        self.writer = ctypes.c_void_p(self.library.readstat_writer_init())
        self._callback = _WRITER(self._take)
        self.call("readstat_set_data_writer", self._callback)

    def _take(self, data: int, size: int, _context: int) -> int:
        self.content += ctypes.string_at(data, size)
        return size

    def call(self, name: str, *arguments: object) -> None:
        code = getattr(self.library, name)(self.writer, *arguments)
        assert code == 0, name

    def save(self, path: Path) -> None:
        self.call("readstat_end_writing")
        self.library.readstat_writer_free(self.writer)
        path.write_bytes(self.content)


def write_sas(path: Path, columns: Sequence[SasColumn]) -> Path:
    """Write a .sas7bdat file."""
    writing = _Writing()
    variables = [_add_variable(writing, column) for column in columns]
    rows = len(columns[0].values)
    writing.call("readstat_begin_writing_sas7bdat", None, ctypes.c_long(rows))
    for row in range(rows):
        writing.call("readstat_begin_row")
        for column, variable in zip(columns, variables, strict=True):
            value = column.values[row]
            if value is None:
                writing.call("readstat_insert_missing_value", variable)
            elif isinstance(value, Tag):
                letter = ctypes.c_char(value.letter.encode())
                writing.call("readstat_insert_tagged_missing_value", variable, letter)
            elif isinstance(value, str):
                writing.call("readstat_insert_string_value", variable, value.encode())
            else:
                writing.call("readstat_insert_double_value", variable, ctypes.c_double(value))
        writing.call("readstat_end_row")
    writing.save(path)
    return path


def _add_variable(writing: _Writing, column: SasColumn) -> ctypes.c_void_p:
    library = writing.library
    width = max((len(v.encode()) for v in column.values if isinstance(v, str)), default=8)
    kind = _STRING if column.is_text else _DOUBLE
    variable = ctypes.c_void_p(
        library.readstat_add_variable(
            writing.writer, column.name.encode(), kind, ctypes.c_size_t(width)
        )
    )
    if column.format:
        library.readstat_variable_set_format(variable, column.format.encode())
    if column.label:
        library.readstat_variable_set_label(variable, column.label.encode())
    return variable


def write_catalog(path: Path, sets: Mapping[str, Mapping[float, str]]) -> Path:
    """Write a .sas7bcat file with sets of value labels."""
    writing = _Writing()
    for name, labels in sets.items():
        added = ctypes.c_void_p(
            writing.library.readstat_add_label_set(writing.writer, _DOUBLE, name.encode())
        )
        for value, text in labels.items():
            writing.library.readstat_label_double_value(
                added, ctypes.c_double(value), text.encode()
            )
    writing.call("readstat_begin_writing_sas7bcat", None)
    writing.save(path)
    return path


def write_portable(path: Path, name: str, values: Sequence[float | None], missing: float) -> Path:
    """Write a .por file with one column of numbers, one of which is declared missing."""
    writing = _Writing()
    variable = _add_variable(writing, SasColumn(name, values))
    declare = writing.library.readstat_variable_add_missing_double_value
    assert declare(variable, ctypes.c_double(missing)) == 0
    writing.call("readstat_begin_writing_por", None, ctypes.c_long(len(values)))
    for value in values:
        writing.call("readstat_begin_row")
        if value is None:
            writing.call("readstat_insert_missing_value", variable)
        else:
            writing.call("readstat_insert_double_value", variable, ctypes.c_double(value))
        writing.call("readstat_end_row")
    writing.save(path)
    return path
