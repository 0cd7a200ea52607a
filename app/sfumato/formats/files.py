"""Files that are read in pieces, written whole or not at all, and known by their digest.

Nothing in a zip is trusted: its directory says how large an entry is, but only what comes out is
counted, and every kind of damage ends in one error.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import secrets
import shutil
import stat
import struct
import sys
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence
from sfumato.formats.errors import (
    CannotOpen,
    CannotWrite,
    DiskFull,
    FileError,
    TooLarge,
    refused_at,
)

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

if sys.platform != "win32":
    import fcntl

_PIECE: Final = 4 << 20
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_ABANDONED: Final = 3_600.0
"""Nobody is writing any more what has been left alone for so many seconds."""
_MOMENT: Final = 10.0
_LOCKS: Final = sys.platform != "win32"
_LOCKED_DIGITS: Final = 16
"""The digits in the name of an unfinished file that is locked; others have fewer."""

_TOO_LONG: Final = frozenset({errno.ENAMETOOLONG})
_NOT_ALLOWED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def digest_of_files(files: Mapping[str, str]) -> str:
    """Return the digest of a bundle from its files' digests.

    It is the SHA-256 of what ``LC_ALL=C sha256sum *`` prints in the bundle's folder, so that
    it can be computed without Sfumato.
    """
    listing = "".join(f"{files[name]}  {name}\n" for name in sorted(files))
    return hashlib.sha256(listing.encode()).hexdigest()


def digest_of(path: Path, context: Context) -> str:
    """Return a file's SHA-256 in hexadecimal.

    Raises
    ------
    CannotOpen
        If the file can't be read.
    Cancelled
        If the context says so.
    """
    digest = hashlib.sha256()
    with opening(path):
        size = max(path.stat().st_size, 1)
        done = 0
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
                done += len(piece)
                context.report(min(1.0, done / size), Sentence("Checking {path}", path=path.name))
    return digest.hexdigest()


class HashedFile(io.FileIO):
    """A file that is written once from its beginning, and hashed on the way.

    Raises
    ------
    OSError
        If the system refuses, or the disk does not take all that is written.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, "wb")
        self._hashed = hashlib.sha256()

    def write(self, content: ReadableBuffer) -> int:
        """Write all of it: the system may take a part at a time."""
        left = memoryview(content).cast("B")
        size = len(left)
        self._hashed.update(left)
        while left:
            left = left[super().write(left) :]
        return size

    @property
    def digest(self) -> str:
        """The SHA-256 of what was written, in hexadecimal."""
        return self._hashed.hexdigest()


def is_file(path: Path) -> bool:
    """Whether a file is there: none where a name is too long or no name of a file at all."""
    return os.path.isfile(path)  # noqa: PTH113 (pathlib raises at such names)


def read_regular(path: Path, most: int = -1) -> bytes:
    """Return the first `most` bytes of a file, or all; what is none, such as a pipe, is refused.

    To open a pipe that nobody writes to would wait for ever.

    Raises
    ------
    OSError
        If it is no file, or the system refuses.
    """
    flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, os.O_RDONLY | flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
        return file.read(most)


def is_folder(path: Path) -> bool:
    """Whether a folder is there; as `is_file`."""
    return os.path.isdir(path)  # noqa: PTH112 (pathlib raises at such names)


@contextmanager
def opening(path: Path, folders: bool = False) -> Iterator[None]:
    """Say in plain words what the system's refusal to read `path` means.

    Parameters
    ----------
    path
        The file.
    folders
        Whether it may be a folder.

    Raises
    ------
    CannotOpen
        Also where `path` is no file but a folder, a pipe or a device: to open some of these
        would wait for ever.
    """
    try:
        _check_regular(path, folders)
        yield
    except OSError as error:
        raise refusal_to_read(error, path) from None
    except MemoryError:
        raise TooLarge(
            "There is not enough memory to read {file}.",
            "Close other programs, or read it on a machine with more memory.",
            file=path.name,
        ) from None


def _check_regular(path: Path, folders: bool) -> None:
    try:
        mode = path.stat().st_mode
    except ValueError:  # A NUL, or a character that no name has.
        mode = None
    if mode is None:
        raise CannotOpen(
            "{path} can't be the name of a file.",
            "Take out the NUL or the broken character, or choose the file again.",
            path=printable(path),
        )
    if stat.S_ISDIR(mode):
        if folders:
            return
        raise CannotOpen("{path} is a folder.", "Choose a file.", path=path)
    if not stat.S_ISREG(mode):
        raise CannotOpen(
            "{path} is a pipe, a socket or a device, not a file.",
            "Write what comes from it into a file, and choose that.",
            path=path,
        )


def printable(path: Path) -> str:
    """Return a path as it can be shown and written anywhere, odd characters as codes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(path))


def refusal_to_read(error: OSError, path: Path) -> CannotOpen:
    """Return what the system's refusal to read `path` means to the custodian."""
    if error.errno in _TOO_LONG:
        return CannotOpen(
            "{path} can't be read: its name or its path is longer than the system takes.",
            "Give it a shorter name, or move it up to a folder nearer to the top.",
            path=path,
        )
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return CannotOpen(
            "There is no file {path}.",
            "Check whether it was moved or renamed, and choose it again.",
            path=path,
        )
    if error.errno in _NOT_ALLOWED:
        return CannotOpen(
            "You may not read {path}.",
            "Ask its owner for the permission, or copy it to a folder of yours.",
            path=path,
        )
    return CannotOpen(
        "{path} can't be read: {reason}.",
        "Check the disk or the network drive it is on.",
        path=path,
        reason=os.strerror(error.errno) if error.errno else type(error).__name__,
    )


def new_private(path: Path) -> int:
    """Make an empty file that nobody but its owner can read, and return its descriptor.

    Raises
    ------
    FileExistsError
        If something stands under that name.
    OSError
        If the system refuses.
    """
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)


def write_private(path: Path, content: bytes) -> None:
    """Write a new file that nobody but its owner can read; raises what `new_private` does."""
    with os.fdopen(new_private(path), "wb") as file:
        file.write(content)


@contextmanager
def unfinished_beside(path: Path) -> Iterator[Path]:
    """Give a new file, readable by its owner alone, for what becomes `path` once it is whole.

    Nothing is left under its name afterwards. It is locked until then, and the system lets go of a
    lock however a process ends: what can be locked was left behind, see `remove_abandoned`.

    Raises
    ------
    OSError
        If the system refuses.
    """
    remove_abandoned(path)
    name = f"{_beginning(path)}{secrets.token_hex(8 if _LOCKS else 6)}.part"
    unfinished = path.with_name(name)
    handle = new_private(unfinished)
    if _LOCKS:
        _is_free(handle)
    else:
        os.close(handle)
    try:
        yield unfinished
    finally:
        for leftover in (unfinished, path.with_name(f"{name}-journal")):
            with suppress(OSError):
                leftover.unlink(missing_ok=True)
        if _LOCKS:
            os.close(handle)


def _is_free(handle: int) -> bool | None:
    """Lock an open file; return whether nobody else has, None where it can't be locked."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def remove_abandoned(path: Path) -> None:
    """Remove what writers of `path` that were killed have left beside it.

    That is what no living process has locked, or, where files are not locked, what nobody has
    written to for an hour; and a second name of `path` itself.
    """
    _remove_abandoned(path.parent, re.escape(_beginning(path)), path)


def remove_all_abandoned(folder: Path) -> None:
    """Remove what writers of any file in a folder that were killed have left there."""
    _remove_abandoned(folder, r"\..{1,80}\.", None)


def _remove_abandoned(folder: Path, beginning: str, path: Path | None) -> None:
    ours = re.compile(f"({beginning}([0-9a-f]{{12}}|[0-9a-f]{{16}})[.]part)(-journal)?", re.DOTALL)
    gone = []
    with suppress(OSError, ValueError), os.scandir(folder) as entries:
        for entry in entries:
            found = ours.fullmatch(entry.name)
            if found is not None and entry.is_file(follow_symlinks=False):
                part, file = folder / found[1], Path(entry.path)
                second = path is not None and is_file(path) and path.samefile(file)
                if second or _is_abandoned(part if os.path.lexists(part) else file):
                    gone.append(file)
    for file in gone:
        with suppress(OSError):
            file.unlink(missing_ok=True)


def _is_abandoned(path: Path) -> bool:
    age = time.time() - path.stat().st_mtime
    named = re.search("([0-9a-f]+)[.]part$", path.name)
    if not _LOCKS or named is None or len(named[1]) < _LOCKED_DIGITS:
        return age > _ABANDONED
    handle = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        free = _is_free(handle)
    finally:
        os.close(handle)
    # A file that was made in this instant is not locked yet.
    return age > _ABANDONED if free is None else free and age > _MOMENT


def _beginning(path: Path) -> str:
    return f".{path.name[:80]}."


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path`; when all went well, it becomes `path` in one step.

    What was under `path` before is replaced then, and not touched otherwise. After an error
    or a cancelling, nothing is left under the temporary name. Nobody but its owner can read the
    file, until the owner shares it.

    Raises
    ------
    DiskFull
        If there is no room.
    CannotWrite
        If the folder does not take the file.
    """
    if "\0" in str(path):
        raise CannotWrite(
            "{path} can't be the name of a file.",
            "Choose a name without the NUL.",
            path=printable(path),
        )
    try:
        _check_folder(path)
        with unfinished_beside(path) as unfinished:
            yield unfinished
            force_to_disk(unfinished)
            unfinished.replace(path)
        force_to_disk(path.parent)
    except OSError as error:
        raise refusal_to_write(error, path) from None


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all; see `written_whole`."""
    with written_whole(path) as unfinished:
        unfinished.write_bytes(content)


def _check_folder(path: Path) -> None:
    if is_folder(path):
        raise CannotWrite("{path} is a folder.", "Choose another name.", path=path)
    if not is_folder(path.parent):
        raise CannotWrite(
            "There is no folder {folder}.", "Choose another folder.", folder=path.parent
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def force_to_disk(path: Path) -> None:
    """Wait until a file, or on POSIX a folder's list of names, is on the disk."""
    folder = path.is_dir()
    if folder and os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def refusal_to_write(error: OSError, path: Path) -> FileError:
    """Return what the system's refusal to write `path` means to the custodian."""
    if error.errno in _FULL:
        return DiskFull(
            "The disk is full, so {file} was not written.",
            "Make room on the disk, or choose another folder.",
            file=path.name,
        )
    if error.errno in _NOT_ALLOWED:
        return CannotWrite(
            "You may not write to the folder {folder}.",
            "Choose another folder.",
            folder=path.parent,
        )
    return CannotWrite(
        "{file} can't be written: {reason}.",
        "Choose another folder or another name.",
        file=path.name,
        reason=os.strerror(error.errno) if error.errno else type(error).__name__,
    )


LARGEST_PACKED_DATA: Final = 4 << 30
"""The most bytes a data file may unpack to; who trusts a larger one unpacks it and reads that."""

_USUAL_UNPACKED: Final = 256 << 20
_RATIO: Final = 100
"""An entry unpacks to so many bytes at most, or to so many times as many as it has packed: tables
unpack to 5 to 50 times these."""
_CHUNK: Final = 1 << 20
_PACKED: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_LONGEST_NAME: Final = 255
_DAMAGE: Final = (
    *(zipfile.BadZipFile, zlib.error, EOFError, RuntimeError),
    *(struct.error, ValueError, OverflowError, IndexError),
)
"""What the library raises at a zip that was cut, altered or made to confuse."""


@contextmanager
def opened_zip(path: Path, kind: type[FileError]) -> Iterator[zipfile.ZipFile]:
    """Open a zip file.

    Raises
    ------
    FileError
        Of the `kind`, where it is damaged, also while its entries are read; or if it
        can't be read at all.
    """
    refusal = kind(
        "The zip file {path} is damaged.",
        "Copy it again, or ask whoever made it to send it again.",
        path=path,
    )
    # An entry said to begin before the file does is an error of the system.
    with (
        opening(path),
        refused_at(_DAMAGE, refusal, {errno.EINVAL}),
        zipfile.ZipFile(path) as archive,
    ):
        yield archive


def unpack_entry(
    archive: zipfile.ZipFile,
    entry: zipfile.ZipInfo,
    target: Path,
    largest: int,
    context: Context,
    refusal: type[FileError],
) -> None:
    """Unpack one entry to a path, but no more than it states and than can be right.

    Raises
    ------
    FileError
        Of the kind `refusal`, where the entry is no plain file or too large; or if the disk does
        not take it.
    zipfile.BadZipFile
        If it is not as long as stated, or damaged.
    """
    name = target.name
    linked = stat.S_ISLNK(entry.external_attr >> 16)
    if linked or entry.compress_type not in _PACKED or entry.flag_bits & 0x1:
        raise refusal(
            "{file} in the zip file is a link, encrypted or packed in a way that Sfumato does not"
            " unpack.",
            "Unpack it with the program that packed it, and choose the folder.",
            file=name[:_LONGEST_NAME],
        )
    if len(name.encode(errors="replace")) > _LONGEST_NAME:
        raise refusal(
            "A file in the zip file has a name of {length} {length:character|characters}, more"
            " than a system takes.",
            "Ask whoever made it to give it a shorter name.",
            length=len(name),
        )
    room = shutil.disk_usage(target.parent).free
    largest = min(largest, max(_USUAL_UNPACKED, _RATIO * entry.compress_size))
    if entry.file_size > min(largest, room):
        raise refusal(
            "{file} in the zip file would unpack to {size:,} {size:byte|bytes}; up to {most:,} are"
            " unpacked.",
            "If you know where it comes from, unpack it yourself where there is room, and choose"
            " the folder.",
            file=name,
            size=entry.file_size,
            most=min(largest, room),
        )
    with archive.open(entry) as source:
        _copy(source, target, entry.file_size, context)


def _copy(source: IO[bytes], target: Path, size: int, context: Context) -> None:
    try:
        file = target.open("wb")
    except OSError as error:
        raise refusal_to_write(error, target) from None
    with file:
        done = 0
        while chunk := source.read(_CHUNK):
            context.report(done / max(size, 1), Sentence("Unpacking {target}", target=target.name))
            done += len(chunk)
            if done > size:
                raise zipfile.BadZipFile
            try:
                file.write(chunk)
            except OSError as error:
                raise refusal_to_write(error, target) from None
    if done != size:
        raise zipfile.BadZipFile
