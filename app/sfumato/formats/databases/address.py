"""Where a database server is, without the password; and the passwords of those that are open."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from sfumato.formats.errors import BadAddress

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
