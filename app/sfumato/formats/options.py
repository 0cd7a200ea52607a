"""How a file is read: all that a custodian can choose, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Final, cast

from sfumato.formats.errors import BadOptions

ENCODINGS: Final = (
    ("utf-8", "Unicode (UTF-8)"),
    ("cp1252", "Western European (Windows-1252)"),
    ("latin-1", "Western European (ISO 8859-1)"),
    ("iso8859-15", "Western European with euro (ISO 8859-15)"),
    ("mac-roman", "Western European (Mac)"),
    ("cp1250", "Central European (Windows-1250)"),
    ("iso8859-2", "Central European (ISO 8859-2)"),
    ("cp1251", "Cyrillic (Windows-1251)"),
    ("cp1253", "Greek (Windows-1253)"),
    ("cp1254", "Turkish (Windows-1254)"),
    ("shift-jis", "Japanese (Shift JIS)"),
    ("gb18030", "Chinese (GB 18030)"),
    ("utf-16", "Unicode (UTF-16 with byte-order mark)"),
    ("utf-16-le", "Unicode (UTF-16, little-endian)"),
    ("utf-16-be", "Unicode (UTF-16, big-endian)"),
)
"""Encodings to offer, with their names in plain words; any other that Python knows works too."""

DELIMITERS: Final = ((",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "bar"))
"""Delimiters to offer, with their names."""


class ColumnType(StrEnum):
    """The type a column is read as."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"


class DateOrder(StrEnum):
    """How dates are written."""

    YEAR_FIRST = "year-month-day"
    """As ISO 8601 has it, the time of day after a blank or a T."""
    DAY_FIRST = "day-month-year"
    MONTH_FIRST = "month-day-year"


class RaggedRows(StrEnum):
    """What becomes of rows that have too many or too few fields."""

    REFUSE = "refuse"
    SKIP = "skip"


class BadValues(StrEnum):
    """What becomes of values that don't have their column's type."""

    REFUSE = "refuse"
    MISSING = "missing"
    SKIP = "skip"
    TEXT = "text"


@dataclass(frozen=True)
class ReadOptions:
    """How a file is read. A format ignores what does not concern it.

    Parameters
    ----------
    format
        The format's name.
    encoding
        The text's encoding; empty for UTF-8, or for what a statistical file states itself.
    delimiter, quote, escape
        Single characters; quote and escape may be empty.
    decimal, thousands
        The decimal mark, and the mark between groups of three digits (may be empty).
    date_order
        How dates are written.
    header
        Whether the first record holds the columns' names.
    skip_lines
        The lines before the header, or before the first record, that are left out.
    missing
        The texts that mean a missing value.
    quoted_empty_is_text
        Whether an empty field in quotes is an empty text rather than missing.
    escaped_formulas
        Whether an apostrophe is taken away before texts that begin as formulas do, see
        `sfumato.formats.formulas`.
    sheet
        The sheet of a workbook, or the table or view of a database; empty for the first.
    query
        A SELECT statement whose result is read in place of a database's table.
    keep_user_missing
        Whether codes that an SPSS file declares missing are kept as values.
    any_size
        Whether a file is read that unpacks to far more than its size lets one expect.
    column_types
        The types the custodian fixed, by column; the others are found out from all rows.
    ragged_rows, bad_values
        See `RaggedRows` and `BadValues`.
    column_bad_values
        The choice for single columns, by name.

    Raises
    ------
    BadOptions
        If the options contradict one another.
    """

    format: str = "csv"
    encoding: str = ""
    delimiter: str = ","
    quote: str = '"'
    escape: str = ""
    decimal: str = "."
    thousands: str = ""
    date_order: DateOrder = DateOrder.YEAR_FIRST
    header: bool = True
    skip_lines: int = 0
    missing: tuple[str, ...] = ("",)
    quoted_empty_is_text: bool = False
    escaped_formulas: bool = False
    sheet: str = ""
    query: str = ""
    keep_user_missing: bool = False
    any_size: bool = False
    column_types: Mapping[str, ColumnType] = field(default_factory=dict)
    ragged_rows: RaggedRows = RaggedRows.REFUSE
    bad_values: BadValues = BadValues.REFUSE
    column_bad_values: Mapping[str, BadValues] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_encoding(self.encoding)
        for name in ("delimiter", "quote", "escape", "thousands"):
            mark = getattr(self, name)
            optional = name != "delimiter"
            if len(mark) > 1 or (not mark and not optional) or mark in {"\n", "\r"}:
                raise BadOptions("The {name} must be one character.", "Choose another.", name=name)
        for name in ("delimiter", "quote", "escape"):
            if not getattr(self, name).isascii():
                raise BadOptions(
                    "The {name} must be an ASCII character.", "Choose another.", name=name
                )
        if self.decimal not in {".", ","}:
            raise BadOptions("The decimal mark must be a point or a comma.", "Choose one of them.")
        if self.thousands and (self.thousands == self.decimal or self.thousands.isalnum()):
            raise BadOptions(
                "The mark between groups of digits can't be the decimal mark, a letter or a digit.",
                "Choose another, or none.",
            )
        if self.quote and self.quote == self.delimiter:
            raise BadOptions(
                "The delimiter and the quotation mark are the same.", "Change one of them."
            )
        if self.skip_lines < 0:
            raise BadOptions("The number of lines to leave out is negative.", "Choose 0 or more.")

    def choice_for(self, column: str) -> BadValues:
        """Return what becomes of the bad values of one column."""
        return self.column_bad_values.get(column, self.bad_values)

    def with_type(self, column: str, chosen: ColumnType | None) -> ReadOptions:
        """Return options that fix a column's type, or with None leave it to be found out."""
        types = {name: kind for name, kind in self.column_types.items() if name != column}
        if chosen is not None:
            types[column] = chosen
        return replace(self, column_types=types)

    def with_bad_values(self, column: str, choice: BadValues) -> ReadOptions:
        """Return options with another choice for the bad values of one column."""
        return replace(self, column_bad_values={**self.column_bad_values, column: choice})

    def tolerant(self) -> ReadOptions:
        """Return options that refuse nothing: what does not fit is shown as text."""
        return replace(
            self,
            ragged_rows=RaggedRows.SKIP,
            bad_values=BadValues.TEXT,
            column_bad_values={},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain JSON values; what is as usual is left out."""
        usual = ReadOptions()
        plain: dict[str, Any] = {"format": self.format}
        for item in fields(self):
            value = getattr(self, item.name)
            if value != getattr(usual, item.name):
                plain[item.name] = _plain(value)
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> ReadOptions:
        """Return options from plain JSON values.

        Raises
        ------
        BadOptions
            If an option is unknown or has a value it can't have.
        """
        usual = cls()
        known = {item.name for item in fields(cls)}
        for name in plain:
            if name not in known:
                raise BadOptions(
                    "There is no option {name} for reading a file.",
                    "Known are: {known}.",
                    name=name,
                    known=", ".join(sorted(known)),
                )
        try:
            return cls(**{name: _typed(getattr(usual, name), plain[name], name) for name in plain})
        except (ValueError, TypeError, AttributeError):
            raise BadOptions(
                "An option for reading a file has a value it can't have.",
                "Open the file again and choose how to read it.",
            ) from None


def _check_encoding(encoding: str) -> None:
    try:
        "a".encode(encoding or "utf-8")
    except (LookupError, ValueError):
        raise BadOptions(
            "There is no encoding called {encoding}.",
            "Choose one of: {known}.",
            encoding=encoding,
            known=", ".join(name for name, _ in ENCODINGS),
        ) from None


def _plain(value: object) -> object:
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, Mapping):
        return {name: str(item) for name, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _typed(usual: object, value: Any, name: str) -> Any:
    """Return a plain value as the option's type; raise `ValueError` where it does not fit."""
    if isinstance(usual, StrEnum):
        return type(usual)(value)
    if isinstance(usual, Mapping):
        kind = ColumnType if name == "column_types" else BadValues
        return {str(column): kind(item) for column, item in cast(Mapping[str, str], value).items()}
    if isinstance(usual, tuple):
        if isinstance(value, str) or not all(isinstance(item, str) for item in value):
            raise ValueError(name)
        return tuple(value)
    if type(value) is not type(usual):
        raise ValueError(name)
    return value
