"""The seal over a project's whole state, so that nobody changes it without the passphrase.

With every change, a counter goes up by one, and an HMAC (SHA-256) under a key derived from
the project secret covers the project's identity, the version of the schema, the counter, and
a digest of each part: identity, wrapped secret, further keys, document, unfinished releases and
the ledger's end. The ledger's entries hang on its end by their chain. The digests are kept beside
the HMAC, so that it can be told which part was changed.

What no seal in one file can show is the return of a whole older copy. So the counter is noted in
the user's own state folder. The note carries an HMAC under a key of the project: a note that was
changed or removed counts as none, and does nothing worse.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence
from sfumato.formats.errors import FileError
from sfumato.formats.files import read_regular, write_whole
from sfumato.project.document.model import canonical_json
from sfumato.project.errors import NotSealed, ProjectPart, SealViolation
from sfumato.project.store import schema
from sfumato.project.store.schema import Contents, Row, digest_of_rows, rows_of
from sfumato.project.store.secret import ProjectSecret

_FOLDER: Final = "sfumato"
_LARGEST_NOTE: Final = 1000


def state_folder() -> Path | None:
    """Return where notes are kept: the user's state folder; None where the user has none."""
    stated = os.environ.get("XDG_STATE_HOME")
    if stated and Path(stated).is_absolute():
        return Path(stated) / _FOLDER
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) / _FOLDER if local else None
    try:
        home = Path.home()
    except RuntimeError:
        return None
    between = "Library/Application Support" if sys.platform == "darwin" else ".local/state"
    return home / between / _FOLDER


def folders_of_state() -> tuple[Path, ...]:
    """Return the state folder and those in it."""
    folder = state_folder()
    if folder is None or not folder.is_dir():
        return ()
    return (folder, *(each for each in sorted(folder.iterdir()) if each.is_dir()))


class SeenCounter:
    """The newest counter of one project that this machine has seen.

    Parameters
    ----------
    secret
        The project secret: names and seals the note, so that neither tells of the project.
    """

    def __init__(self, secret: ProjectSecret) -> None:
        self._key = secret.derive("newest state seen")
        self._newest = 0

    def counter(self) -> int:
        """Return the newest counter that was noted; 0 where none was."""
        path = self._path()
        if path is None:
            return 0
        try:
            plain = json.loads(read_regular(path, _LARGEST_NOTE))
            counter, mac = plain["counter"], plain["mac"]
            if type(counter) is int and hmac.compare_digest(mac, self._mac(counter)):
                self._newest = max(self._newest, counter)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            pass  # none, or one that was changed
        return self._newest

    def note(self, counter: int) -> None:
        """Note a counter where it is newer. A folder that takes no note is no fault."""
        path = self._path()
        if path is None or counter <= self._newest:
            return
        self._newest = counter
        plain = canonical_json({"counter": counter, "mac": self._mac(counter)})
        with suppress(OSError, FileError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(path, plain.encode())

    def _path(self) -> Path | None:
        folder = state_folder()
        name = hmac.new(self._key, b"name", hashlib.sha256).hexdigest()[:32]
        return None if folder is None else folder / f"{name}.json"

    def _mac(self, counter: int) -> str:
        return hmac.new(self._key, b"counter %d" % counter, hashlib.sha256).hexdigest()


SEALED_SINCE: Final = 2
"""The first version of the schema that has a seal."""

_TABLES: Final[Mapping[ProjectPart, str]] = {
    ProjectPart.IDENTITY: "project",
    ProjectPart.WRAPPING: "wrapping",
    ProjectPart.DOCUMENT: "document",
    ProjectPart.PENDING: "pending",
    ProjectPart.LEDGER: "ledger_end",
    ProjectPart.KEYS: "keys",
}
_LATER: Final[Mapping[ProjectPart, int]] = {ProjectPart.KEYS: 3}
"""The first version of the schema that has a part; the others have been there from the first."""

_CHANGED: Final[Mapping[ProjectPart, Sentence]] = {
    ProjectPart.IDENTITY: Sentence("Its identity or its date was changed."),
    ProjectPart.WRAPPING: Sentence("Its passphrase was changed or set back to an older one."),
    ProjectPart.DOCUMENT: Sentence(
        "Its decisions were changed: columns, policy, recipients or levels differ from what was"
        " saved."
    ),
    ProjectPart.PENDING: Sentence("Its list of interrupted releases was changed."),
    ProjectPart.LEDGER: Sentence("The end of its ledger was changed, or entries were cut off."),
    ProjectPart.KEYS: Sentence(
        "Its recovery sheet or the people who approve its releases were changed or set back."
    ),
}
_NEVER_SEALED: Final = Sentence(
    "It has no seal: either it was saved by a version of Sfumato without seals, or someone"
    " removed the seal. There is no way to tell whether it has been changed since."
)
_SEAL_TAKEN_AWAY: Final = Sentence(
    "Its seal was removed: this computer has seen the project sealed. There is no way to tell"
    " what else was changed."
)
_SEAL_CHANGED: Final = Sentence("Its seal or the seal's counter was changed.")

Digests = Mapping[str, str]


@dataclass(frozen=True)
class SealedState:
    """One state of a project.

    Parameters
    ----------
    counter
        Goes up by one with each change.
    parts
        The digest of each sealed part, by the part's name.
    """

    counter: int
    parts: Digests


class Seal:
    """Examines and writes a project's seal; the `Keeper` of its database.

    Parameters
    ----------
    path
        The project, for messages.
    project_id
        The project's identity, part of the HMAC.
    secret
        The project secret, which the key is derived from.

    Attributes
    ----------
    state
        The state that was sealed last; None before the first.
    seen
        The newest state that this machine has seen.
    """

    def __init__(self, path: Path, project_id: str, secret: ProjectSecret) -> None:
        self.state: SealedState | None = None
        self.seen = SeenCounter(secret)
        self._path = path
        self._project_id = project_id
        self._key = secret.derive("state")
        self._next: SealedState | None = None
        self._lowest = 0

    def examine(self, contents: Contents, newest: int | None = None) -> tuple[SealViolation, ...]:
        """Return in which ways a file is not as it was sealed; empty where it is.

        The ledger's entries are not looked at here.

        Parameters
        ----------
        contents
            What was read from the file.
        newest
            The newest counter that was noted before that; without it, the one noted now, which
            is right for whoever keeps all writers out.
        """
        found = []
        if contents.oddities:
            shown = ", ".join(oddity.shown for oddity in contents.oddities)
            what = Sentence(
                "Its database has something added or lacks a guard: {shown}.", shown=shown
            )
            found.append(SealViolation(ProjectPart.SCHEMA, what))
        newest = self._lowest = self.seen.counter() if newest is None else newest
        if contents.version < SEALED_SINCE or not contents.tables["seal"]:
            what = _SEAL_TAKEN_AWAY if newest else _NEVER_SEALED
            return (*found, SealViolation(ProjectPart.NEVER_SEALED, what))
        _, counter, parts, mac = contents.row("seal")
        claimed, standing = _parsed(parts), _digests(contents.tables)
        changed = [
            part
            for part in _tables_of(contents.version)
            if claimed and claimed.get(part) != standing[part]
        ]
        found += [SealViolation(part, _CHANGED[part]) for part in changed]
        if not hmac.compare_digest(mac.encode(), self._mac(contents.version, counter, parts)):
            return (*found, SealViolation(ProjectPart.SEAL, _SEAL_CHANGED))
        if counter < newest:
            found.append(SealViolation(ProjectPart.OLDER, _older(counter, newest)))
        self._lowest = max(counter, newest)
        if not changed:
            self.state = SealedState(counter, standing)
        return tuple(found)

    def begin(self, connection: sqlite3.Connection) -> None:
        """Refuse to seal what someone changed in the file while it was open."""
        if self.state is None:
            return
        standing = _standing(connection)
        changed = [part for part in _TABLES if standing.get(part) != self.state.parts.get(part)]
        if changed:
            raise NotSealed(self._path, [SealViolation(part, _CHANGED[part]) for part in changed])

    def end(self, connection: sqlite3.Connection) -> None:
        """Seal the state as it stands now."""
        before = 0 if self.state is None else self.state.counter
        counter = max(before, self._lowest) + 1
        parts = _standing(connection)
        text = canonical_json(parts)
        mac = self._mac(schema.version_of(connection), counter, text).decode()
        connection.execute("INSERT OR REPLACE INTO seal VALUES (1, ?, ?, ?)", (counter, text, mac))
        self._next = SealedState(counter, parts)

    def committed(self) -> None:
        """Learn that the state that was sealed is on the disk."""
        if self._next is not None:
            self.state, self._next = self._next, None
            self.remember()

    def remember(self) -> None:
        """Note on this machine that the present state was seen."""
        if self.state is not None:
            self.seen.note(self.state.counter)

    def _mac(self, version: int, counter: int, parts: str) -> bytes:
        content = {
            "project": self._project_id,
            "schema": version,
            "counter": counter,
            "parts": parts,
        }
        digest = hmac.new(self._key, canonical_json(content).encode(), hashlib.sha256)
        return digest.hexdigest().encode()


def _tables_of(version: int) -> dict[ProjectPart, str]:
    """Return the sealed parts of a version of the schema, and the table of each."""
    return {part: table for part, table in _TABLES.items() if version >= _LATER.get(part, 1)}


def _standing(connection: sqlite3.Connection) -> dict[str, str]:
    tables = _tables_of(schema.version_of(connection)).values()
    return _digests({name: rows_of(connection, name) for name in tables})


def _digests(tables: Mapping[str, tuple[Row, ...]]) -> dict[str, str]:
    found = ((part, tables[table]) for part, table in _TABLES.items() if table in tables)
    return {part.value: digest_of_rows(rows) for part, rows in found}


def _parsed(parts: str) -> Digests:
    """Return the digests that a seal lists; empty where it is no list."""
    try:
        found = json.loads(parts)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _older(counter: int, newest: int) -> Sentence:
    return Sentence(
        "It is older than the copy last open on this computer: this is state {counter}, that was"
        " state {newest}. Its ledger does not record what was done since.",
        counter=counter,
        newest=newest,
    )
