"""Files and folders that get their final name when they are whole, and are never overwritten."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Final

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
