"""Work that no project holds yet, kept so that a crash or a power cut does not lose it.

What is kept is the document alone, never a row of the table. Its domains and hierarchies hold
values, so it is encrypted (AES-256-GCM) under a random key of its own. Files and keys are in two
folders of the user's state folder, readable by their owner only. A key goes with its file: what a
disk or a backup still has of the file then can't be read by anyone.

A window locks its key's file as long as it lives, and the system lets go of the lock however the
process ends. So what can be locked is what somebody left behind.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sfumato.formats.files import (
    is_file,
    new_private,
    read_regular,
    remove_abandoned,
    write_whole,
)
from sfumato.project.document.model import Document, document_from_json, document_to_json
from sfumato.project.errors import DamagedProject, UnsavedUnreadable
from sfumato.project.store.seal import state_folder

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

SUFFIX: Final = ".unsaved"
_KEPT: Final = "unsaved"
_KEYS: Final = "unsaved-keys"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_NAMED: Final = b"Sfumato unsaved work "
_HEAD: Final = _NAMED + b"1\n"
"""What every file begins with; the number tells how the rest is read."""
_ABANDONED: Final = 3_600.0
"""A key without a file belongs to nobody after so many seconds."""


class UnsavedWork:
    """One window's unsaved work on the disk, from its first writing until it is forgotten.

    It may be written from a worker while the main thread goes on: `document` is what the next
    writing keeps.

    Parameters
    ----------
    folder
        The user's state folder.
    name
        What was left behind, by its name; a new one without.

    Attributes
    ----------
    document
        What is to be kept.
    """

    def __init__(self, folder: Path, name: str = "") -> None:
        self.document = Document()
        self._written: Document | None = None
        self._name = name or secrets.token_hex(8)
        self._folders = folder / _KEPT, folder / _KEYS
        self._key = b""
        self._handle: int | None = None
        self._ended = False
        self._lock = threading.Lock()

    @property
    def path(self) -> Path:
        """The encrypted file."""
        return self._folders[0] / f"{self._name}{SUFFIX}"

    @property
    def key_path(self) -> Path:
        """The file of its key."""
        return self._folders[1] / f"{self._name}.key"

    @property
    def kept_at(self) -> datetime:
        """When it was written last; raises `OSError` where it is not there any more."""
        return datetime.fromtimestamp(self.path.stat().st_mtime, UTC)

    def write(self) -> None:
        """Write `document`, whole or not at all; nothing happens once it is forgotten.

        Raises
        ------
        FileError, OSError
            If the folder does not take it. What was kept before stays.
        """
        with self._lock:
            document = self.document
            if self._ended or document is self._written:
                return
            if self._handle is None:
                self._begin()
            nonce = secrets.token_bytes(_NONCE_BYTES)
            plain = document_to_json(document).encode()
            sealed = AESGCM(self._key).encrypt(nonce, plain, self._associated())
            write_whole(self.path, _HEAD + nonce + sealed)
            self._written = document

    def read(self) -> Document:
        """Return what was kept.

        Raises
        ------
        UnsavedUnreadable
            If it was damaged, its key is gone, or another version of Sfumato wrote it.
        OSError
            If the system refuses.
        """
        content = read_regular(self.path)
        if content.startswith(_NAMED) and not content.startswith(_HEAD):
            raise UnsavedUnreadable(
                "Unsaved work can't be read: another version of Sfumato kept it ({path}).",
                "Start that version to take it up, or discard it here.",
                path=self.path,
            )
        if not is_file(self.key_path):
            raise UnsavedUnreadable(
                "Unsaved work can't be read: its key is not on this computer ({path}).",
                "Open Sfumato where the work was done and as the same user, or discard it.",
                path=self.path,
            )
        begin = len(_HEAD) + _NONCE_BYTES
        try:
            opened = AESGCM(self._key).decrypt(
                content[len(_HEAD) : begin], content[begin:], self._associated()
            )
            return document_from_json(opened.decode())
        except (InvalidTag, ValueError, DamagedProject):
            raise UnsavedUnreadable(
                "Unsaved work can't be read: its file was damaged or changed ({path}).",
                "Restore the file from a backup of today and start Sfumato again, or discard it:"
                " your table and your projects are not touched.",
                path=self.path,
            ) from None

    def forget(self) -> None:
        """Remove it with its key: it is saved, or not wanted any more."""
        with self._lock:
            self._ended = True
            self.path.unlink(missing_ok=True)
            self._let_go()
            self.key_path.unlink(missing_ok=True)

    def leave(self) -> None:
        """Let go of it without removing it."""
        with self._lock:
            self._ended = True
            self._let_go()

    def take(self) -> bool:
        """Lock what was left behind; return whether it is there and nobody else has it."""
        if not is_file(self.path):
            return False
        try:
            handle = os.open(self.key_path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        except FileNotFoundError:
            return True  # nobody can have it open without its key
        except OSError:
            return False
        if not stat.S_ISREG(os.fstat(handle).st_mode) or not _locked(handle):
            os.close(handle)
            return False
        self._handle, self._key = handle, os.read(handle, _KEY_BYTES + 1)
        if is_file(self.path):
            return True
        self._let_go()  # whoever had it has just removed it
        return False

    def _begin(self) -> None:
        """Make the key and lock it; as long as that lasts, nobody else takes this up."""
        for folder in self._folders:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = new_private(self.key_path)
        try:
            if not _locked(handle):
                raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK), str(self.key_path))
            self._key = secrets.token_bytes(_KEY_BYTES)
            os.write(handle, self._key)
            os.fsync(handle)
        except OSError:
            os.close(handle)
            self.key_path.unlink(missing_ok=True)
            raise
        self._handle = handle

    def _let_go(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _associated(self) -> bytes:
        """Return what the encryption vouches for beside the content: no file stands for another."""
        return _HEAD + self._name.encode()


def unsaved_in(folder: Path | None) -> UnsavedWork | None:
    """Return the newest work that was left behind, locked; None where there is none.

    Parameters
    ----------
    folder
        The user's state folder.
    """
    if folder is None:
        return None
    _remove_lonely_keys(folder)
    files: list[Path] = []
    with suppress(OSError):
        files = sorted((folder / _KEPT).glob(f"[0-9a-f]*{SUFFIX}"), key=_age)
    for path in files:
        remove_abandoned(path)
        found = UnsavedWork(folder, path.stem)
        if found.take():
            return found
    return None


def new_unsaved() -> UnsavedWork | None:
    """Return where a window can keep its work; None where the user has no state folder."""
    folder = state_folder()
    return None if folder is None else UnsavedWork(folder)


def _remove_lonely_keys(folder: Path) -> None:
    """Remove the keys of windows that ended before they had written anything."""
    with suppress(OSError):
        for key in (folder / _KEYS).glob("*.key"):
            kept = folder / _KEPT / f"{key.stem}{SUFFIX}"
            if is_file(kept) or _age(key) < _ABANDONED:
                continue
            handle = os.open(key, os.O_RDWR)
            free = _locked(handle)
            os.close(handle)
            if free:
                remove_abandoned(kept)
                key.unlink(missing_ok=True)


def _age(path: Path) -> float:
    """Return how many seconds ago a file was written; at the far end what is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return float("inf")


def _locked(handle: int) -> bool:
    """Lock an open file for as long as it is open; return whether nobody else has it."""
    try:
        if sys.platform == "win32":
            os.lseek(handle, _KEY_BYTES * 2, os.SEEK_SET)  # beside the key, which is read
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
