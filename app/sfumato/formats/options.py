"""How a file is read: all that a custodian can choose, as plain values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, fields, replace
from enum import StrEnum
from typing import Any, Final, cast

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence
from sfumato.formats.errors import BadOptions

ENCODINGS: Final = (
    ("utf-8", "UTF-8 (Unicode)"),
    ("cp1252", "Windows-1252 (Western European)"),
    ("latin-1", "ISO 8859-1 (Western European)"),
    ("iso8859-15", "ISO 8859-15 (Western European with euro)"),
    ("mac-roman", "Mac (Western European)"),
    ("cp1250", "Windows-1250 (Central European)"),
    ("iso8859-2", "ISO 8859-2 (Central European)"),
    ("cp1251", "Windows-1251 (Cyrillic)"),
    ("cp1253", "Windows-1253 (Greek)"),
    ("cp1254", "Windows-1254 (Turkish)"),
    ("koi8-r", "KOI8-R (Cyrillic)"),
    ("cp850", "DOS, code page 850 (Western European)"),
    ("cp437", "DOS, code page 437 (Western European)"),
    ("cp932", "Shift JIS (Japanese)"),
    ("gb18030", "GB 18030 (Chinese)"),
    ("big5", "Big5 (Chinese)"),
    ("cp949", "EUC-KR (Korean)"),
    ("utf-16", "UTF-16 with byte-order mark (Unicode)"),
    ("utf-16-le", "UTF-16, little-endian (Unicode)"),
    ("utf-16-be", "UTF-16, big-endian (Unicode)"),
)
"""Encodings to offer, with their names in plain words; any other that Python knows works too."""

DELIMITERS: Final = ((",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "bar"))
"""Delimiters to offer, with their names."""

READING_VERSION: Final = 2
"""The version by which files are read now.

Records and streams are keyed by values as they were read, so a project goes on with the version it
was made by. 1 is how Sfumato read before readers told what they leave out and change.
"""


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


class ReasonsKept(StrEnum):
    """What becomes of values that a statistical file declares missing, with a reason.

    These are SPSS's user-missing values, and .a to .z of Stata and SAS.
    """

    DROPPED = "dropped"
    """They are missing, and why is left out."""
    COLUMN = "column"
    """They are missing, and a column of its own says why."""
    VALUES = "values"
    """Codes that SPSS declares missing are values like others."""


class Hidden(StrEnum):
    """What becomes of the rows, columns and cells that a workbook does not show."""

    LEAVE_OUT = "leave-out"
    READ = "read"


class MergedCellRule(StrEnum):
    """Where the value of merged cells of a workbook stands."""

    EVERY_ROW = "every-row"
    FIRST_ROW = "first-row"


class ShownDates(StrEnum):
    """How dates are read of which a workbook shows only the day, the month or the year."""

    AS_SHOWN = "as-shown"
    EXACT = "exact"


class ErrorCells(StrEnum):
    """How cells of a workbook are read that hold an error, such as #N/A."""

    MISSING = "as-missing"
    TEXT = "as-text"


@dataclass(frozen=True)
class OptionDescription:
    """What people are told of an option for reading: in a command's help and in the help's pages.

    Parameters
    ----------
    text
        What it says.
    metavar
        What stands for its value on a command line; empty where it has a few values.
    many
        Whether it is stated once for each value or column.
    file
        Whether its value is a file.
    option
        Its name on command lines; empty where it is stated in rules only.
    """

    text: str
    metavar: str = ""
    many: bool = False
    file: bool = False
    option: str = ""


def _setting(
    default: Any, text: str, metavar: str = "", *, file: bool = False, in_rules_only: bool = False
) -> Any:
    """Describe an option of `ReadOptions` to the people who state it."""
    many = isinstance(default, tuple | dict)
    told = {"setting": OptionDescription(text, metavar, many, file, "" if in_rules_only else "--")}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=told)
    return field(default=default, metadata=told)


@dataclass(frozen=True)
class ReadOptions:
    """How a file is read. A format ignores what does not concern it.

    What people are told of each option stands beside it, see `settings_of_reading`.

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
    layout
        Where the columns of a text of fixed width stand, see `sfumato.formats.layouts`.
    skip_lines
        The lines before the header, or before the first record, that are left out.
    missing
        The texts that mean a missing value.
    keep_blank_rows
        Whether rows without any value are records; else they are left out. Version 1 keeps them.
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
        Whether codes that an SPSS file declares missing are kept as values: how version 1 has it.
    missing_reasons
        What becomes of them, and of other missing values with a reason; see `reasons`.
    same_texts
        Whether texts that look alike are made the same, see `sfumato.formats.columns.alike`.
    column_missing
        The texts that mean a missing value in single columns, by name; a number is written as it
        is shown.
    hidden, merged, shown_dates, error_cells
        See `Hidden`, `MergedCellRule`, `ShownDates` and `ErrorCells`.
    any_size
        Whether a file is read that unpacks to far more than its size lets one expect.
    column_types
        The types the custodian fixed, by column; the others are found out from all rows.
    ragged_rows, bad_values
        See `RaggedRows` and `BadValues`.
    column_bad_values
        The choice for single columns, by name.
    version
        The version of reading, see `READING_VERSION`.

    Raises
    ------
    BadOptions
        If the options contradict one another.
    """

    format: str = _setting("csv", "the format: csv, xlsx, sav and so on", in_rules_only=True)
    encoding: str = _setting("", "the text's encoding, e.g. cp1252", "NAME")
    delimiter: str = _setting(",", "between fields: a character, tab, comma or semicolon", "MARK")
    quote: str = _setting('"', "around texts: a character, or none", "MARK")
    escape: str = _setting("", "before a character that is meant literally, or none", "MARK")
    decimal: str = _setting(".", "the mark in decimal numbers: point or comma", "MARK")
    thousands: str = _setting("", "between groups of three digits: a character, or none", "MARK")
    date_order: DateOrder = _setting(DateOrder.YEAR_FIRST, "how dates are written")
    header: bool = _setting(True, "whether the first row holds the columns' names")
    layout: tuple[str, ...] = _setting(
        (), "a file that says where the columns of a text of fixed width stand", "FILE", file=True
    )
    skip_lines: int = _setting(0, "how many lines above the table are left out", "N")
    missing: tuple[str, ...] = _setting(
        ("",), "a text that means a missing value, beside the empty one", "TEXT"
    )
    keep_blank_rows: bool = _setting(
        False, "whether rows without any value are kept, as records whose values are all missing"
    )
    quoted_empty_is_text: bool = _setting(
        False, "whether an empty field in quotes is an empty text rather than missing"
    )
    escaped_formulas: bool = _setting(
        False, "whether an apostrophe before what looks like a formula is taken away"
    )
    sheet: str = _setting("", "the sheet of a workbook, or the table of a database", "NAME")
    query: str = _setting("", "a SELECT statement for a database", in_rules_only=True)
    keep_user_missing: bool = _setting(
        False,
        "true: as `missing_reasons` with values, in projects of an earlier version",
        in_rules_only=True,
    )
    missing_reasons: ReasonsKept = _setting(
        ReasonsKept.DROPPED,
        "what becomes of reasons why values are missing, in SPSS, Stata and SAS files",
    )
    same_texts: bool = _setting(
        False,
        "whether texts are the same that differ in blanks at their ends, in characters that nobody"
        " sees, or in how letters with accents are stored",
    )
    column_missing: Mapping[str, tuple[str, ...]] = _setting(
        {}, "a text or number that means a missing value in one column", "COLUMN=TEXT"
    )
    hidden: Hidden = _setting(
        Hidden.LEAVE_OUT, "the rows, columns and cells that a workbook does not show"
    )
    merged: MergedCellRule = _setting(
        MergedCellRule.EVERY_ROW, "where the value of a workbook's merged cells stands"
    )
    shown_dates: ShownDates = _setting(
        ShownDates.AS_SHOWN,
        "dates of which a workbook shows the day, the month or the year alone",
    )
    error_cells: ErrorCells = _setting(ErrorCells.MISSING, "a workbook's errors, such as #N/A")
    any_size: bool = _setting(
        False, "read a file that unpacks to far more than its size lets one expect"
    )
    column_types: Mapping[str, ColumnType] = _setting({}, "the type of a column", "COLUMN=TYPE")
    ragged_rows: RaggedRows = _setting(
        RaggedRows.REFUSE, "what becomes of rows with too many or too few fields"
    )
    bad_values: BadValues = _setting(
        BadValues.REFUSE, "what becomes of values that don't have their column's type"
    )
    column_bad_values: Mapping[str, BadValues] = _setting(
        {}, "what becomes of such values of one column", "COLUMN=CHOICE"
    )
    version: int = READING_VERSION

    def __post_init__(self) -> None:
        if self.keep_user_missing and self.version > 1:  # what it is called since
            object.__setattr__(self, "missing_reasons", ReasonsKept.VALUES)
            object.__setattr__(self, "keep_user_missing", False)
        if not 1 <= self.version <= READING_VERSION:
            raise BadOptions(
                "The table is read by version {version}, which this Sfumato does not know.",
                "Use the Sfumato that the project was made with, or a later one.",
                version=self.version,
            )
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

    @property
    def reasons(self) -> ReasonsKept:
        """What becomes of missing values with a reason; version 1 knows no column for them."""
        if self.version > 1:
            return self.missing_reasons
        return ReasonsKept.VALUES if self.keep_user_missing else ReasonsKept.DROPPED

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

    def with_missing(self, column: str, texts: Sequence[str]) -> ReadOptions:
        """Return options by which further texts mean a missing value in one column."""
        known = self.column_missing.get(column, ())
        texts = tuple(dict.fromkeys((*known, *texts)))
        return replace(self, column_missing={**self.column_missing, column: texts})

    def tolerant(self) -> ReadOptions:
        """Return options that refuse nothing: what does not fit is shown as text."""
        return replace(
            self,
            ragged_rows=RaggedRows.SKIP,
            bad_values=BadValues.TEXT,
            column_bad_values={},
        )

    def to_dict(self, also: Collection[str] = ()) -> dict[str, Any]:
        """Return the options as plain JSON values; what is as usual is left out.

        The version always stands there: without one, the options are of version 1. So do the
        options named in `also`.
        """
        usual = replace(ReadOptions(), version=1)
        plain: dict[str, Any] = {"format": self.format}
        for item in fields(self):
            value = getattr(self, item.name)
            if value != getattr(usual, item.name) or item.name in also:
                plain[item.name] = _plain(value)
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], version: int = 1) -> ReadOptions:
        """Return options from plain JSON values.

        Parameters
        ----------
        plain
            What `to_dict` returned, or a person stated.
        version
            The version of reading where none is stated.

        Raises
        ------
        BadOptions
            If an option is unknown or has a value it can't have.
        """
        return cls(**{"version": version, **typed_options(plain)})


def typed_options(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return some options, stated as plain JSON values, as what `ReadOptions` takes.

    Raises
    ------
    BadOptions
        If an option is unknown or has a value it can't have.
    """
    usual = ReadOptions()
    known = {item.name for item in fields(ReadOptions)}
    for name in plain:
        if name not in known:
            raise BadOptions(
                "There is no option {name} for reading a file.",
                "Known are: {known}.",
                name=name,
                known=", ".join(sorted(known)),
            )
    typed = {}
    for name, value in plain.items():
        try:
            typed[name] = _typed(getattr(usual, name), value, name)
        except (ValueError, TypeError, AttributeError):
            raise BadOptions(
                "The option {name} for reading a file has a value it can't have.",
                "{known}",
                name=name,
                known=_values_of(getattr(usual, name), name),
            ) from None
    return typed


def _values_of(usual: object, name: str) -> str:
    """Say which values an option can have."""
    kind = _KINDS.get(name, type(usual))
    if name == "column_missing":
        return Sentence("Give a list of texts for each column.")
    if issubclass(kind, StrEnum):
        return Sentence("Choose one of: {known}.", known=", ".join(kind))
    return Sentence("Open the file again and choose how to read it.")


def settings_of_reading() -> dict[str, OptionDescription]:
    """Return what people are told of each option that they can state, by its name."""
    told: dict[str, OptionDescription] = {}
    for item in fields(ReadOptions):
        setting = item.metadata.get("setting")
        if setting is not None:
            # One column's type is stated at a time.
            name = (
                item.name.removesuffix("s") if str(item.type).startswith("Mapping") else item.name
            )
            option = setting.option and f"--{name.replace('_', '-')}"
            told[item.name] = replace(setting, option=option)
    return told


_KINDS: Final = {"column_types": ColumnType, "column_bad_values": BadValues}
"""What the values are of options that differ by column."""


FOUND_OUT: Final = frozenset(
    (
        *("encoding", "delimiter", "decimal", "thousands", "date_order", "header", "skip_lines"),
        "escaped_formulas",
    )
)
"""What is found out of a file where nobody states it."""


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
        return {name: _plain(item) for name, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _typed(usual: object, value: Any, name: str) -> Any:
    """Return a plain value as the option's type; raise `ValueError` where it does not fit."""
    if isinstance(usual, StrEnum):
        return type(usual)(value)
    if name == "column_missing":
        columns = cast(Mapping[str, Any], value)
        return {str(column): _typed((), texts, "") for column, texts in columns.items()}
    if isinstance(usual, Mapping):
        kind = _KINDS[name]
        return {str(column): kind(item) for column, item in cast(Mapping[str, str], value).items()}
    if isinstance(usual, tuple):
        if isinstance(value, str) or not all(isinstance(item, str) for item in value):
            raise ValueError(name)
        return tuple(value)
    if type(value) is not type(usual):
        raise ValueError(name)
    return value
