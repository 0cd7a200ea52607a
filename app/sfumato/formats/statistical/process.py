"""Reading statistical files in a process of their own, so that a crash is an error.

The library is written in C: at some damaged files it ends the program that called it.
"""

from __future__ import annotations

import json
import os
import select
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final

import pyarrow as pa

import sfumato
from sfumato.engine.core.progress import Context
from sfumato.formats.errors import DamagedFile
from sfumato.formats.statistical import child

_PATIENCE: Final = 0.2
"""Seconds after which cancelling is looked for though the library reports nothing."""
_ENDED: Final = b""
_ROOT: Final = str(Path(sfumato.__file__).parents[1])

Answer = tuple[pa.RecordBatch, dict[str, Any]]


class LibraryProcess:
    """A process that reads one file; to be used as a context, at whose end it is gone.

    Parameters
    ----------
    path
        The file.
    reader
        The name of the library's function for such files.
    package
        What the file is a file of, in plain words.
    """

    def __init__(self, path: Path, reader: str, package: str) -> None:
        self._path = path
        self._reader = reader
        self._package = package

    def __enter__(self) -> LibraryProcess:
        places = [_ROOT, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-m", child.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        with suppress(BrokenPipeError):
            self._process.__exit__(kind, error, trace)

    def call(self, context: Context, **wanted: Any) -> Answer:
        """Return the columns that the library reads, and what the file says about them.

        Parameters
        ----------
        context
            Progress and cancelling.
        wanted
            What the library is asked for.

        Raises
        ------
        DamagedFile
            If the library can't read the file, or crashes at it.
        """
        request = {"path": str(self._path.absolute()), "reader": self._reader, "wanted": wanted}
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended, and the frames say so
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        share = 0.0
        while True:
            letter, content = self._frame()
            if letter != child.PROGRESS:
                return self._taken(letter, content)
            if content:
                (share,) = struct.unpack("<d", content)
            context.report(share, f"Reading {self._path.name}")

    def _frame(self) -> tuple[bytes, bytes]:
        """Return the next frame, or one that reports nothing new where none comes for a while."""
        answers = self._process.stdout
        assert answers is not None
        # Elsewhere than on POSIX one can't wait for a pipe and for something else.
        if os.name == "posix" and not select.select([answers], [], [], _PATIENCE)[0]:
            return child.PROGRESS, b""
        header = _exactly(answers, child.HEADER.size)
        if header is None:
            return _ENDED, b""
        letter, length = child.HEADER.unpack(header)
        content = _exactly(answers, length)
        return (_ENDED, b"") if content is None else (letter, content)

    @property
    def runs(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None

    def damaged(self) -> DamagedFile:
        """Return the error for a file that the library could not read, or not all of."""
        return damaged(self._path, self._package)

    def _taken(self, letter: bytes, content: bytes) -> Answer:
        if letter == child.COLUMNS:
            with pa.ipc.open_stream(content) as stream:
                batch = stream.read_next_batch()
                return batch, json.loads(stream.schema.metadata[b"described"])
        if letter == child.NO_MEMORY:
            raise MemoryError
        if letter == child.SYSTEM:
            code = int(content)
            raise OSError(code, os.strerror(code), str(self._path))
        if letter == child.DAMAGED:
            raise self.damaged()
        raise DamagedFile(
            "{file} is damaged: the library that reads {package} files crashed at it.",
            "Copy it again from where it comes from, or save it there in another format.",
            file=self._path.name,
            package=self._package,
        )


def damaged(path: Path, package: str) -> DamagedFile:
    """Return the error for a file that its package could not read either."""
    return DamagedFile(
        "{file} is not a whole {package} file, or its text is in another encoding.",
        "Copy it again from where it comes from, or state its encoding.",
        file=path.name,
        package=package,
    )


def _exactly(answers: IO[bytes], size: int) -> bytes | None:
    """Return so many bytes, or None where the process ends before."""
    pieces = []
    while size:
        piece = answers.read(size)
        if not piece:
            return None
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
