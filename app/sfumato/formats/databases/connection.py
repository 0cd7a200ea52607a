"""What any database is asked, and how it is waited for.

A call of a driver may take hours and can't look up from its work, so it is made in a thread that
has ended when the call returns, or is left to its time-out where a person stops waiting for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import Final, Protocol, TypeVar

import pyarrow as pa

from sfumato.engine.core.errors import Cancelled
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence
from sfumato.formats.errors import FileError
from sfumato.formats.options import ColumnType

_POLL_SECONDS: Final = 0.1
_PATIENCE_SECONDS: Final = 5.0
"""How long a driver that was told to stop may take, before it is left to itself."""


_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Selected:
    """What is read: a table, a view, or the result of a query.

    Parameters
    ----------
    title
        What it is called.
    source
        What stands after FROM.
    key
        The columns of the primary key, where there is one.
    declared
        The types that are stated for columns of a database that does not hold them to these.
    """

    title: str
    source: str
    key: tuple[str, ...] = ()
    declared: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Described:
    """A column of what is read.

    Parameters
    ----------
    name
        Its name.
    type
        The Arrow type that it comes as.
    expression
        What is selected for it.
    order
        What rows are put in order by, after the columns before it.
    later
        What its texts are read as, where all of them can be: numbers whose digits a decimal
        number may not hold, and dates that are kept as texts.
    """

    name: str
    type: pa.DataType
    expression: str
    order: str
    later: ColumnType | None = None


class Connection(Protocol):
    """An open database that nothing can be written to. Its calls may take long, or for ever."""

    def tables(self) -> Sequence[tuple[str, str]]:
        """Return the schema and name of every table and view that may be read."""

    def table(self, schema: str, name: str) -> Selected:
        """Return how a table or view is selected from."""

    def describe(self, selected: Selected) -> Sequence[Described]:
        """Return the columns."""

    def count(self, selected: Selected) -> int:
        """Return the number of rows."""

    def batches(self, select: str, columns: Sequence[Described]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, each column as the type described."""

    def interrupt(self) -> None:
        """Let the call that another thread waits for end soon."""

    def close(self) -> None:
        """Close the connection."""

    def explained(self, error: BaseException) -> FileError | None:
        """Return what a driver's complaint means, without the values that it may quote."""


class Asking:
    """Waits for a database in a thread, so that a person can stop it at any time.

    Parameters
    ----------
    context
        Progress and cancelling.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._connection: Connection | None = None
        self._stuck = False
        self._at: tuple[float, str] = (0.0, Sentence("Waiting for the database"))

    def report(self, fraction: float, text: str) -> None:
        """Tell how far the work is."""
        self._at = fraction, text
        self._context.report(fraction, text)

    def ask(self, call: Callable[[], _Answer]) -> _Answer:
        """Return what a call of a driver returns.

        Raises
        ------
        FileError
            If the driver complains.
        Cancelled
            If the context says so.
        """
        answer: Future[_Answer] = Future()
        Thread(target=_settle, args=(answer, call), daemon=True).start()
        try:
            while not wait([answer], _POLL_SECONDS).done:
                self._context.report(*self._at)
        except Cancelled:
            if self._connection is not None:
                self._connection.interrupt()
                self._stuck = not wait([answer], _PATIENCE_SECONDS).done
            raise
        error = answer.exception()
        if error is None:
            return answer.result()
        connection = self._connection
        raise (connection.explained(error) if connection is not None else None) or error from None

    @contextmanager
    def connected(self, connect: Callable[[], Connection]) -> Iterator[Connection]:
        """Open a connection, and close it in the end."""
        self._context.report(*self._at)
        self._connection = self.ask(connect)
        try:
            yield self._connection
        finally:
            # A connection that still works for another thread can't be closed under it.
            if not self._stuck:
                with suppress(Exception):
                    self._connection.close()


def _settle(answer: Future[_Answer], call: Callable[[], _Answer]) -> None:
    try:
        answer.set_result(call())
    except BaseException as error:
        answer.set_exception(error)
