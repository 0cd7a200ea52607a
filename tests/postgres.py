"""A PostgreSQL server of a test's own, on a port and in a folder that nobody else uses."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

PASSWORD = "Quicksilver&%7 'x"
"""Has what an address has to quote, and nothing that another text could hold by chance."""


def programs() -> Path | None:
    """Return the folder of the server's programs; Debian keeps them out of the way."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


@dataclass
class Server:
    """A running server.

    Parameters
    ----------
    port
        Where it listens, on 127.0.0.1.
    """

    port: int

    def address(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}?sslmode=disable"

    def run(self, *statements: str) -> None:
        """Run statements as the owner of everything."""
        dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
        whole = self.address().replace("postgres@", "postgres:Quicksilver%26%257%20%27x@")
        with dbapi.connect(whole, autocommit=True) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)


def _as_server(*command: str | Path) -> list[str]:
    """Return a command as the server's user: a server refuses to run as root."""
    words = [str(each) for each in command]
    return ["runuser", "-u", "postgres", "--", *words] if os.geteuid() == 0 else words


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def running() -> Iterator[Server]:
    """Start a server whose users need a password; it ends with the block."""
    bin_folder = programs()
    if bin_folder is None:
        pytest.skip("PostgreSQL is not installed")
    pytest.importorskip("adbc_driver_postgresql")
    folder = Path(tempfile.mkdtemp(prefix="sfumato-pg-"))
    try:
        (folder / "password").write_text(PASSWORD)
        if os.geteuid() == 0:
            for path in (folder, folder / "password"):
                shutil.chown(path, "postgres")
        data, port = folder / "data", _free_port()
        control = [bin_folder / "pg_ctl", "-D", data, "-w", "-t", "60"]
        init = (bin_folder / "initdb", "-D", data, "-U", "postgres", "-A", "scram-sha-256")
        settings = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        for command in (
            (*init, "--pwfile", folder / "password", "--no-sync", "--locale=C.UTF-8"),
            (*control, "-l", folder / "log", "-o", settings, "start"),
        ):
            subprocess.run(
                _as_server(*command), check=True, stdout=subprocess.DEVNULL, cwd=folder, timeout=120
            )
        try:
            yield Server(port)
        finally:
            stop = _as_server(*control, "-m", "immediate", "stop")
            subprocess.run(stop, check=True, stdout=subprocess.DEVNULL, cwd=folder, timeout=120)
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server for the whole run, with a table of patients; see `PATIENTS`."""
    with running() as server:
        server.run(*PATIENTS)
        yield server


PATIENTS = (
    "CREATE TYPE ward AS ENUM ('north', 'south')",
    "CREATE TABLE patients (id int PRIMARY KEY, name text, born date, seen timestamp,"
    " cost numeric(10, 2), weight float8, smoker boolean, ward ward, code uuid,"
    " visits bigint, admitted timestamptz, fee money, note varchar(20))",
    "INSERT INTO patients SELECT i, CASE WHEN i % 7 > 0 THEN 'name ' || i END,"
    " date '1950-01-01' + i, timestamp '2026-01-01 08:30' + i * interval '1 minute', i * 1.25,"
    " i / 3.0, i % 2 = 0, (ARRAY['north', 'south'])[1 + i % 2]::ward,"
    " ('00000000-0000-0000-0000-' || lpad(i::text, 12, '0'))::uuid, i * 5000000000,"
    " timestamptz '2026-01-01 08:30+02', i::numeric::money, 'Zürich' FROM generate_series(1, 40) i",
    "CREATE VIEW north AS SELECT id, name FROM patients WHERE ward = 'north'",
    "CREATE SCHEMA study",
    'CREATE TABLE study."odd "" name" (a int)',
    "CREATE TABLE unreadable (id int, picture bytea, tags text[])",
    "INSERT INTO unreadable VALUES (1, '\\x00', ARRAY['x'])",
)
