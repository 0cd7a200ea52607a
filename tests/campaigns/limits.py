"""A disk that is full as far as this process can tell."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

needs_limits = pytest.mark.skipif(
    find_spec("resource") is None, reason="limits on a file's size are POSIX's"
)


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    """Let no file grow beyond `size` bytes meanwhile."""
    import resource  # noqa: PLC0415 - not on every system

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
