"""The uniform ladder: releases of a categorical attribute at any trust level.

A release is a pure function of the attribute's key, each record's identifier and true value,
and the level. No release needs to know of any other, and releases at any levels, made in any
order, on any machine, are the rungs of one ladder: the less trusted is a garbling of the more
trusted, so that a coalition learns what its most trusted member knows and nothing more.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.progress import Context
from sfumato.engine.ladders.uniform_cells import Rung, rung_at
from sfumato.engine.ladders.uniform_kernel import STRETCH, TILE, Kernel
from sfumato.engine.randomness.keys import AttributeKey

LARGEST_DOMAIN: Final = 1 << 31
"""The largest number of values that a domain can have on a ladder."""


def check_level(level: float, above_zero: bool = False) -> None:
    """Raise `LevelError` where `level` is not a retention probability, or is a forbidden 0."""
    if not 0.0 <= level <= 1.0:
        raise LevelError(
            "The retention probability {level} is not between 0 and 1.",
            "Choose a number from 0 (nothing is kept) to 1 (the original).",
            level=level,
        )
    if above_zero and level == 0.0:
        raise LevelError(
            "The ladder has no end above the retention probability 0.",
            "Choose a number above 0.",
        )


def release_codes(
    codes: Codes,
    size: int,
    level: float,
    record_ids: npt.NDArray[np.uint64],
    key: AttributeKey,
    context: Context,
    threads: int = 2,
    stretch: int = STRETCH,
    tile: int = TILE,
    top: Codes | None = None,
) -> Codes:
    """Return an attribute's codes as they are released at one level.

    A true code is kept with probability `level`, otherwise replaced by a code drawn uniformly
    from the whole domain. At level 1 the release is the original; at level 0, the limit of
    the ladder, it is uniform and independent of all other releases.

    Parameters
    ----------
    codes
        The true values, shape (n,).
    size
        The number of values in the domain, m.
    level
        The retention probability p, from 0 to 1.
    record_ids
        The records' identifiers, shape (n,).
    key
        The attribute's key.
    context
        Told of the progress from the calling thread; may stop the work.
    threads, stretch, tile
        How many threads work at once, how many records one takes at a time, and how many of
        them it works on at once. The release does not depend on them.
    top
        What the ladder begins with, where not the original (see `base_mechanism`).

    Returns
    -------
    numpy.ndarray
        The released codes, shape (n,), in the type of `codes`.

    Raises
    ------
    LevelError
        If the level is not between 0 and 1.
    ValueError
        If the codes, the identifiers and the size do not fit together.
    """
    check_level(level)
    _check_codes(codes, size, record_ids)
    top = codes if top is None else top
    if level == 1.0:
        context.report(1.0, "Releasing")
        return top.copy()
    # Buffers are no larger than the table.
    stretch = max(1, min(stretch, len(codes)))
    work = _Work(codes, record_ids, top, rung_at(level) if level > 0.0 else None, stretch)
    return work.run(_kernels(work, size, key, min(threads, work.stretches), tile), context)


def _kernels(work: _Work, size: int, key: AttributeKey, count: int, tile: int) -> list[Kernel]:
    """Return a kernel for each thread, with a cipher and buffers of its own."""
    tile = min(tile, work.stretch)
    return [
        Kernel(size, key.cipher(), work.code_type, work.stretch, tile) for _ in range(max(1, count))
    ]


def _check_codes(codes: Codes, size: int, record_ids: npt.NDArray[np.uint64]) -> None:
    if not 1 <= size <= LARGEST_DOMAIN:
        raise ValueError("the domain is empty or too large")
    if codes.shape != record_ids.shape or codes.ndim != 1:
        raise ValueError("codes and record ids are not two lists of one length")
    if codes.dtype.kind != "u" or record_ids.dtype != np.uint64:
        raise ValueError("codes or record ids are not of an unsigned type")
    if len(codes) and int(codes.max()) >= size:
        raise ValueError("a code lies outside the domain")


class _Work:
    """The stretches of one release, taken by whichever thread is free."""

    def __init__(
        self,
        codes: Codes,
        record_ids: npt.NDArray[np.uint64],
        top: Codes,
        rung: Rung | None,
        stretch: int,
    ) -> None:
        self._codes = codes
        self._record_ids = record_ids
        self._top = top
        self._out = np.empty_like(codes)
        self.code_type = codes.dtype
        self._rung = rung
        self.stretch = stretch
        self._starts: Iterator[int] = iter(range(0, len(codes), stretch))
        self._lock = threading.Lock()
        self._done = 0
        self.stretches = -(-len(codes) // stretch)

    def run(self, kernels: list[Kernel], context: Context) -> Codes:
        """Do all stretches, one thread for each kernel; the calling thread reports."""
        with ThreadPoolExecutor(len(kernels), "release") as pool:
            helpers = [pool.submit(self._take_turns, kernel, None) for kernel in kernels[1:]]
            try:
                self._take_turns(kernels[0], context)
            finally:
                self._stop()
            for helper in helpers:
                helper.result()
        context.report(1.0, "Releasing")
        return self._out

    def _take_turns(self, kernel: Kernel, context: Context | None) -> None:
        """Do one stretch after another, then the rows that they left."""
        left = []
        while (start := self._next_start()) is not None:
            part = slice(start, start + self.stretch)
            codes, ids, out = self._codes[part], self._record_ids[part], self._out[part]
            if self._rung is None:
                kernel.release_bottom(codes, ids, out)
            else:
                top = self._top[part]
                left.append(start + kernel.release(self._rung, codes, ids, top, out))
            with self._lock:
                self._done += 1
            if context is not None:
                context.report(self._done / self.stretches, "Releasing")
        if self._rung is not None and left:
            self._finish(kernel, self._rung, np.concatenate(left))

    def _finish(self, kernel: Kernel, rung: Rung, left: npt.NDArray[np.intp]) -> None:
        for start in range(0, len(left), self.stretch):
            rows = left[start : start + self.stretch]
            out = np.empty(len(rows), dtype=self._out.dtype)
            codes, ids, top = self._codes[rows], self._record_ids[rows], self._top[rows]
            kernel.release(rung, codes, ids, top, out, thorough=True)
            self._out[rows] = out

    def _next_start(self) -> int | None:
        with self._lock:
            return next(self._starts, None)

    def _stop(self) -> None:
        """Let no further stretch begin."""
        with self._lock:
            self._starts = iter(())
