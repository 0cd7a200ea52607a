"""Unfinished releases, files that get their final name when they are whole, and the time.

A bundle is written in a staging folder beside its target, so that the last step is one renaming.
The project's ``pending`` table names it from before it exists until the release has ended,
whatever happens between. Whatever stands there, only a folder of such a name beside its target is
ever touched.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sfumato.engine.core.frozen import dataclass
from sfumato.formats.files import digest_of_files
from sfumato.project.document.model import canonical_json
from sfumato.project.errors import DamagedProject
from sfumato.project.store.database import Database
from sfumato.project.store.schema import Row

Clock = Callable[[], datetime]
"""Returns the present time, with its zone."""


def utc_now() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)


def stamp(clock: Clock) -> str:
    """Return the present time as it is recorded: ISO 8601, UTC, to the second."""
    return clock().astimezone(UTC).isoformat(timespec="seconds")


_NO_LINKS: Final = {errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV, errno.ENOSYS}


def move_without_overwriting(staged: Path, target: Path) -> None:
    """Give a finished file or folder its final name, in one step.

    Parameters
    ----------
    staged
        The file or folder, in the same folder or file system as the target.
    target
        The final name.

    Raises
    ------
    FileExistsError
        If something stands under that name.
    OSError
        If the system refuses.
    """
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    if staged.is_dir():
        # A folder that appears in this instant makes the system refuse, unless it is empty.
        staged.rename(target)
    else:
        try:
            # Unlike a renaming, a link never takes the place of a file.
            os.link(staged, target)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            staged.rename(target)
        else:
            staged.unlink(missing_ok=True)  # opening the file takes it away too
    sync_folder(target.parent)


def sync_file(path: Path) -> None:
    """Wait until a file's contents are on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Wait until a folder's list of names is on the disk, where the system knows how."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Wait until a folder and all files in it are on the disk."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            sync_file(path)
    for path in (folder, *sorted(p for p in folder.rglob("*") if p.is_dir())):
        sync_folder(path)


def remove_tree(folder: Path) -> None:
    """Remove a folder and all in it; nothing happens where there is none.

    Raises
    ------
    OSError
        If the system refuses.
    """
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)


@dataclass(frozen=True)
class Staging:
    """An unfinished release: where its files are and what they shall be.

    Parameters
    ----------
    folder
        The staging folder.
    target
        The final name of the bundle.
    release_id, recipient
        Of the release.
    as_zip
        Whether the bundle is one file inside the staging folder, or the folder itself.
    digest
        The bundle's digest once it is written; empty before.
    prepared
        The number of the ledger entry that recorded it; None before.
    """

    folder: str
    target: str
    release_id: str
    recipient: str
    as_zip: bool
    digest: str = ""
    prepared: int | None = None

    @classmethod
    def beside(cls, target: Path, release_id: str, recipient: str, as_zip: bool) -> Staging:
        """Return a staging with a folder name of its own beside the target."""
        folder = target.with_name(f".{target.name}.partial-{secrets.token_hex(4)}")
        return cls(str(folder), str(target), release_id, recipient, as_zip)

    @property
    def is_own(self) -> bool:
        """Whether it is named as `beside` names it, and no link leads elsewhere."""
        folder, target = self.folder_path, self.target_path
        own = re.fullmatch(rf"\.{re.escape(target.name)}\.partial-[0-9a-f]{{8}}", folder.name)
        beside = folder.is_absolute() and folder.parent == target.parent
        return bool(own and target.name and beside) and not (
            folder.is_symlink() or self.bundle_path.is_symlink()
        )

    @property
    def folder_path(self) -> Path:
        """The staging folder."""
        return Path(self.folder)

    @property
    def target_path(self) -> Path:
        """The final name."""
        return Path(self.target)

    @property
    def bundle_path(self) -> Path:
        """Where the bundle stands before it gets its final name."""
        return self.folder_path / self.target_path.name if self.as_zip else self.folder_path

    def note(self, connection: sqlite3.Connection) -> None:
        """Write it into the pending table, inside a transaction."""
        plain = {k: v for k, v in asdict(self).items() if k not in {"folder", "prepared"}}
        connection.execute(
            "INSERT OR REPLACE INTO pending VALUES (?, ?, ?)",
            (self.folder, canonical_json(plain), self.prepared),
        )

    def clear(self, connection: sqlite3.Connection) -> None:
        """Take it out of the pending table, inside a transaction."""
        connection.execute("DELETE FROM pending WHERE staging = ?", (self.folder,))

    def remove_files(self) -> None:
        """Remove the staging folder; raise `OSError` where the system refuses."""
        remove_tree(self.folder_path)

    def recorded(self, digest: str, number: int) -> Staging:
        """Return it with the digest of the finished bundle and its ledger entry."""
        return replace(self, digest=digest, prepared=number)


def pending_in(database: Database) -> tuple[Staging, ...]:
    """Return the unfinished releases of a project."""
    return stagings_of(database.rows("SELECT * FROM pending ORDER BY rowid"))


def stagings_of(rows: Sequence[Row]) -> tuple[Staging, ...]:
    """Return the unfinished releases that rows of the pending table tell of.

    Raises
    ------
    DamagedProject
        If a row is none that Sfumato writes.
    """
    return tuple(_staging_of(*row) for row in rows)


def _staging_of(folder: str, details: str, prepared: int | None) -> Staging:
    wanted = {"target": str, "release_id": str, "recipient": str, "as_zip": bool, "digest": str}
    try:
        plain = json.loads(details)
        if {name: type(value) for name, value in plain.items()} == wanted:
            return Staging(folder=folder, prepared=prepared, **plain)
    except (ValueError, AttributeError, RecursionError):
        pass  # no JSON, or no object
    raise DamagedProject(
        "An interrupted release of the project can't be read.",
        "The file was damaged or changed; restore an earlier copy.",
    )


def digest_of_bundle(path: Path) -> str | None:
    """Return the digest of a bundle as it stands on the disk, folder or zip.

    None where nothing stands, or no bundle: a file that is no zip, a zip with broken parts, a
    link, or a folder with one.
    """
    if path.is_symlink():
        return None
    if path.is_dir():
        inside = sorted(path.rglob("*"))
        if any(p.is_symlink() for p in inside):
            return None
        files = [p for p in inside if p.is_file()]
        return digest_of_files({p.relative_to(path).as_posix(): _digest_of_file(p) for p in files})
    if not path.is_file():
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            return digest_of_files(
                {entry.filename: _digest_of_entry(archive, entry) for entry in archive.infolist()}
            )
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError):
        return None


def _digest_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_of_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> str:
    digest = hashlib.sha256()
    with archive.open(entry) as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
