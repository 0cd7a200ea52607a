"""The staging folder in which a bundle is written before it gets its final name.

It stands beside the target, so that the last step is one renaming. The project's ``pending``
table names it from before it exists until the release has ended, whatever happens between.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import zipfile
import zlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from app.formats.bundle import digest_of_files
from app.project.database import Database
from app.project.files import remove_tree
from app.project.serialise import canonical_json


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
    return tuple(
        Staging(folder=folder, prepared=prepared, **json.loads(details))
        for folder, details, prepared in database.rows(
            "SELECT staging, details, prepared FROM pending ORDER BY rowid"
        )
    )


def digest_of_bundle(path: Path) -> str | None:
    """Return the digest of a bundle as it stands on the disk, folder or zip.

    None where nothing stands, or no bundle: a file that is no zip, a zip with broken parts.
    """
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file())
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
