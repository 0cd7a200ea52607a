"""Memory that libraries keep once it is free."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache

import pyarrow as pa


def give_memory_back() -> None:
    """Give the system back what Arrow and the C library keep of what work took and left.

    They keep it for each thread that had some, and there are many: it adds up.
    """
    pa.default_memory_pool().release_unused()
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    """Return what gives memory back, of C libraries that don't do so by themselves (glibc)."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
