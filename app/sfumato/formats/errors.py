"""What can go wrong with a file, and what the custodian can do about it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence, formatted


@dataclass(frozen=True)
class Way:
    """A way out of an error: what the custodian chooses, and how the file is read then.

    Parameters
    ----------
    title
        The choice.
    options
        The `ReadOptions` with it. They are refused by errors themselves, so these don't know them.
    """

    title: str
    options: Any


class FileError(SfumatoError):
    """A file can't be read or written as asked.

    Parameters
    ----------
    what, remedy, **details
        See `SfumatoError`.
    ways
        The remedies that are a change of the reading options, ready to be used.
    """

    read_by: Any = None
    """The `ReadOptions` that the file was read by; None before it is read."""

    def __init__(
        self, what: str, remedy: str = "", *, ways: Sequence[Way] = (), **details: object
    ) -> None:
        super().__init__(what, remedy, **details)
        self.ways = tuple(ways)


@contextmanager
def refused_at(
    complaints: tuple[type[Exception], ...],
    refusal: FileError,
    numbers: Collection[int | None] = (),
) -> Iterator[None]:
    """Refuse a file where a library complains of it: what the library says may quote values.

    Parameters
    ----------
    complaints
        What the library raises at files that are not what they seem.
    refusal
        What is raised in its place.
    numbers
        The numbers of operating system errors that are such complaints too; None for those of
        the library itself, which have none.
    """
    complained = False
    try:
        yield
    except complaints:
        complained = True
    except OSError as error:
        if error.errno not in numbers:
            raise
        complained = True
    if complained:
        raise refusal


class CannotOpen(FileError):
    """The file is not there, is not a file, or may not be read."""


class UnknownFormat(FileError):
    """The file is in no format that is known, or not in one that can be written."""


class DamagedFile(FileError):
    """The file is not what its name or its first bytes promise, or it ends too early."""


class TooLarge(FileError):
    """The file would take far more room than its size lets one expect."""


class BadOptions(FileError):
    """The options for reading contradict one another or don't fit the file."""


class EmptyFile(FileError):
    """The file has no records."""


class WrongEncoding(FileError):
    """The file's bytes are not text in the encoding chosen."""


class BadHeader(FileError):
    """The columns' names can't be used."""


class OpenQuote(FileError):
    """A quotation mark opens and does not close, or a field is too long to be one."""


class RaggedRow(FileError):
    """A row has more or fewer fields than there are columns; `row` counts data rows from 1."""

    def __init__(
        self, what: str, remedy: str, *, row: int, ways: Sequence[Way], **details: object
    ) -> None:
        self.row = row
        super().__init__(what, remedy, ways=ways, row=grouped(row), **details)


class BadValue(FileError):
    """A few values of a column don't have its type.

    Parameters
    ----------
    column, row
        The column's name and the first such row, counted from 1.
    count
        How many rows are so.
    """

    def __init__(
        self,
        what: str,
        remedy: str,
        *,
        column: str,
        row: int,
        count: int,
        ways: Sequence[Way],
        **details: object,
    ) -> None:
        self.column = column
        self.row = row
        self.count = count
        super().__init__(
            what,
            remedy,
            ways=ways,
            column=column,
            row=grouped(row),
            count=grouped(count),
            **details,
        )


class UnsupportedColumn(FileError):
    """A column holds something that is neither number, text, date nor yes/no."""


class BadAddress(FileError):
    """The address of a database can't be used."""


class DriverMissing(FileError):
    """The package that reads a kind of database is not installed."""


class CannotConnect(FileError):
    """The database does not answer, or does not let one in."""


class WrongPassword(CannotConnect):
    """The database wants a password, or another one."""


class BadQuery(FileError):
    """The database refuses what is asked of it, or fails while it answers."""


class CannotWrite(FileError):
    """The folder or the file does not take what is written."""


class DiskFull(CannotWrite):
    """There is no room left on the disk."""


class BeyondFormat(FileError):
    """The table holds something that the format can't hold without loss."""


def grouped(number: int) -> Sentence:
    """Return a whole number that is written as its reader's language does."""
    return formatted(number, ",")
