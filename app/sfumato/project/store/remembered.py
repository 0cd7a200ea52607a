"""What was found out about a project's table, remembered on this computer until something changes.

Looking through a long table takes minutes, and tells the same as long as the table, what is decided
about it, and the program are the same. What is remembered holds values and a few rows, so it is
encrypted (AES-256-GCM) under a key of the project, with what it is about as associated data: nobody
without the passphrase can read it, or put something else in its place. One file for each thing
stands in the user's state folder; where it was changed or removed, it is found out anew.
"""

from __future__ import annotations

import hashlib
import hmac
import pickle
import secrets
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import sfumato
from sfumato.formats.errors import FileError
from sfumato.formats.files import read_regular, write_whole
from sfumato.project.store.seal import state_folder
from sfumato.project.store.secret import ProjectSecret

_FOLDER: Final = "remembered"
_NONCE_BYTES: Final = 12
_LARGEST: Final = 1 << 28
"""More bytes are found out anew rather than kept."""


class Remembered:
    """What is remembered about one project, of each thing the last that was kept.

    Parameters
    ----------
    secret
        The project secret, which the files' key and names are derived from.
    """

    def __init__(self, secret: ProjectSecret) -> None:
        self._key = secret.derive("remembered")

    def path(self, what: str) -> Path | None:
        """Return the encrypted file of a thing; None where the user has no state folder."""
        folder = state_folder()
        name = hmac.new(self._key, f"name {what}".encode(), hashlib.sha256).hexdigest()[:32]
        return None if folder is None else folder / _FOLDER / name

    def find(self, what: str, about: str) -> Any:
        """Return what was kept about exactly this by this program; None where nothing was."""
        path = self.path(what)
        if path is None:
            return None
        try:
            content = read_regular(path)
            nonce, sealed = content[:_NONCE_BYTES], content[_NONCE_BYTES:]
            opened = AESGCM(self._key).decrypt(nonce, sealed, _associated(what, about))
        except (OSError, InvalidTag, ValueError):
            return None
        # This very program wrote it, for somebody who had the project's secret.
        return pickle.loads(opened)

    def keep(self, what: str, about: str, found: object) -> None:
        """Keep a thing in the place of what was. A folder that takes no file is no fault."""
        path, content = self.path(what), pickle.dumps(found)
        if path is None or len(content) > _LARGEST:
            return
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = AESGCM(self._key).encrypt(nonce, content, _associated(what, about))
        with suppress(OSError, FileError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(path, nonce + sealed)


def _associated(what: str, about: str) -> bytes:
    return f"{_program()} {what} {about}".encode()


@cache
def _program() -> str:
    """Return what tells this program from another one: versions, and when its files changed.

    Versions of what it computes with, too: they may read otherwise what another one wrote.
    """
    parts = (sfumato, np, pd, pa)
    versions = " ".join((sys.version, *(part.__version__ for part in parts)))
    digest, folder = hashlib.sha256(versions.encode()), Path(sfumato.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        stat = path.stat()
        digest.update(f"{path.relative_to(folder)} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()
