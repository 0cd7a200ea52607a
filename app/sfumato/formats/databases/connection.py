"""A database: where it is, what it is asked, and how its answer is waited for.

A call of a driver may take hours and can't look up from its work, so it is made in a thread that
has ended when the call returns, or is left to its time-out where a person stops waiting for it.

An `Address` says where a server is, without the password; the passwords of those that are open
are remembered beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Final, Protocol, TypeVar
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

import pyarrow as pa

from sfumato.engine.core.errors import Cancelled
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence
from sfumato.formats.errors import BadAddress, FileError
from sfumato.formats.options import ColumnType

_SCHEMES: Final = ("postgresql://", "postgres://")
_SETTINGS: Final = frozenset(
    {
        *("host", "port", "service", "passfile", "sslmode", "sslrootcert", "sslcert", "sslkey"),
        *("sslcrl", "channel_binding", "gssencmode", "target_session_attrs"),
    }
)
"""What may follow the question mark: how to reach the server, and nothing that is secret."""


@dataclass(frozen=True)
class Address:
    """A database on a PostgreSQL server.

    Parameters
    ----------
    host, port, database, user
        Empty or 0 where the driver's own ways are to find it (``PGHOST``, a service file …).
    settings
        Further settings of the connection, such as ``("sslmode", "verify-full")``.
    """

    host: str = ""
    port: int = 0
    database: str = ""
    user: str = ""
    settings: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, text: str) -> Address:
        """Return the address that a URL states.

        Raises
        ------
        BadAddress
            If it is no URL of a database, or holds a password or a setting that is not known.
        """
        parts, port = _split(text)
        settings = tuple(sorted(parse_qsl(parts.query, keep_blank_values=True)))
        if parts.password is not None or any("password" in name for name, _ in settings):
            raise BadAddress(
                "The address of the database holds a password. Others can see it on a command"
                " line, and it would be kept in the project.",
                "Leave it out. The window asks for it; a command takes it from the variable"
                " PGPASSWORD or from the file that PGPASSFILE names (usual: ~/.pgpass).",
            )
        for name, _ in settings:
            if name not in _SETTINGS:
                raise BadAddress(
                    "The address of the database has a setting called {name}.",
                    "Known are: {known}.",
                    name=name if name.isidentifier() else "?",
                    known=", ".join(sorted(_SETTINGS)),
                )
        host, user = unquote(parts.hostname or ""), unquote(parts.username or "")
        return cls(host, port, unquote(parts.path.removeprefix("/")), user, settings)

    def __str__(self) -> str:
        """The URL, without a password."""
        return self.url()

    def url(self, password: str = "", **more: str) -> str:
        """Return the URL that a driver is given.

        Parameters
        ----------
        password
            Stands in it where there is one.
        **more
            Settings of the connection beside its own.
        """
        user = quote(self.user, safe="")
        if password:
            user += f":{quote(password, safe='')}"
        host = f"[{self.host}]" if ":" in self.host else quote(self.host, safe="")
        place = f"{host}:{self.port}" if self.port else host
        before = f"{user}@" if user else ""
        settings = urlencode([*self.settings, *more.items()], quote_via=quote)
        after = f"?{settings}" if settings else ""
        return f"postgresql://{before}{place}/{quote(self.database, safe='')}{after}"

    @property
    def name(self) -> str:
        """What the database is called in a sentence."""
        return self.database or dict(self.settings).get("service") or self.host or "PostgreSQL"

    @property
    def server(self) -> str:
        """What its server is called in a sentence."""
        host = self.host or dict(self.settings).get("host") or "the usual place"
        return f"{host}:{self.port}" if self.port else host


def _split(text: str) -> tuple[SplitResult, int]:
    found = None
    if text.startswith(_SCHEMES) and text.isprintable():
        # What is no number as a port, or a bracket that does not close.
        with suppress(ValueError):
            parts = urlsplit(text)
            found = parts, parts.port or 0
    if found is None:
        raise BadAddress(
            "This is not the address of a database.",
            "Write it as postgresql://user@host:5432/database, without the password.",
        )
    return found


Place = Path | Address
"""Where a source is: a file or a folder, or a database on a server."""


def place_of(text: str) -> Place:
    """Return the place that a text states: a database's URL, or else a path.

    Raises
    ------
    BadAddress
        See `Address.of`.
    """
    return Address.of(text) if text.startswith(_SCHEMES) else Path(text)


class Passwords:
    """The passwords of databases that are open, in this process's memory and nowhere else."""

    def __init__(self) -> None:
        self._known: dict[Address, str] = {}

    def keep(self, address: Address, password: str) -> None:
        """Use a password from now on wherever the address is read; an empty one for none."""
        self._known[address] = password

    def of(self, address: Address) -> str:
        """Return the password; empty where the driver's own ways are to find it."""
        return self._known.get(address, "")

    def forget(self) -> None:
        """Forget all of them."""
        self._known.clear()


PASSWORDS: Final = Passwords()


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
