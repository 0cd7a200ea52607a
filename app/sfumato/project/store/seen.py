"""The newest state of each project that this machine has seen, kept beside no project.

A file can't show that a whole older copy of it was put in its place. So the counter of its seal
is noted in the user's own state folder. The note carries an HMAC under a key of the project: a
note that was changed or removed counts as none, and does nothing worse.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from sfumato.formats.errors import FileError
from sfumato.formats.files import write_whole
from sfumato.project.document.serialise import canonical_json
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


class Seen:
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
            with path.open("rb") as file:
                plain = json.loads(file.read(_LARGEST_NOTE))
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
