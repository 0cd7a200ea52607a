"""Work on a long table, stretch by stretch, on as many threads as there are workers."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from sfumato.engine.core.progress import Context

Worker = Callable[[slice], None]
"""Does one stretch of rows. Each thread has a worker of its own, with its own buffers."""


_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


_WORTH_A_THREAD: Final = 2_000


def made_ahead(items: Iterable[_Made], rows: int = _WORTH_A_THREAD) -> Generator[_Made]:
    """Yield items, each made on another thread while the one before it is used.

    A thread for fewer rows than 2,000 takes longer than it saves, where it is known how many.
    """
    if rows < _WORTH_A_THREAD:
        yield from items
        return
    source = iter(items)
    with ThreadPoolExecutor(1, "ahead") as pool:

        def following() -> tuple[_Made, ...]:
            return tuple(itertools.islice(source, 1))

        coming = pool.submit(following)
        while found := coming.result():
            coming = pool.submit(following)
            yield found[0]


def made_side_by_side(
    make: Callable[[_Item], _Made], items: Iterable[_Item], threads: int
) -> Iterator[_Made]:
    """Yield what is made of each item, in their order, one more ahead than there are threads."""
    coming = deque[Future[_Made]]()
    with ThreadPoolExecutor(threads, "made") as pool:
        for item in items:
            coming.append(pool.submit(make, item))
            if len(coming) > threads:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()


@contextmanager
def side_by_side(threads: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """Give a `map` that calls its function on several threads."""
    with ThreadPoolExecutor(threads, "beside") as pool:
        yield pool.map


def in_stretches(
    rows: int,
    stretch: int,
    threads: int,
    worker: Callable[[], Worker],
    context: Context,
    text: str,
) -> None:
    """Let workers do all stretches of a table; whichever is free takes the next.

    Parameters
    ----------
    rows
        The number of rows, n.
    stretch
        How many rows a worker takes at a time.
    threads
        How many work at once, at most. The calling thread is one of them, and reports.
    worker
        Makes the worker of a thread.
    context
        Told of the progress; may stop the work.
    text
        What is reported.
    """
    turns = _Turns(rows, stretch)
    turns.run([worker() for _ in range(max(1, min(threads, turns.count)))], context, text)


class _Turns:
    """The stretches that nobody has taken yet."""

    def __init__(self, rows: int, stretch: int) -> None:
        self._starts: Iterator[int] = iter(range(0, rows, stretch))
        self._stretch = stretch
        self.count = -(-rows // stretch)
        self._done = 0
        self._lock = threading.Lock()

    def run(self, workers: Sequence[Worker], context: Context, text: str) -> None:
        if len(workers) == 1:
            self._take(workers[0], context, text)
        else:
            with ThreadPoolExecutor(len(workers) - 1, "stretches") as pool:
                helpers = [pool.submit(self._take, worker, None, text) for worker in workers[1:]]
                try:
                    self._take(workers[0], context, text)
                finally:
                    self._stop()
                for helper in helpers:
                    helper.result()
        context.report(1.0, text)

    def _take(self, worker: Worker, context: Context | None, text: str) -> None:
        while (start := self._next()) is not None:
            worker(slice(start, start + self._stretch))
            with self._lock:
                self._done += 1
            if context is not None:
                context.report(self._done / self.count, text)

    def _next(self) -> int | None:
        with self._lock:
            return next(self._starts, None)

    def _stop(self) -> None:
        """Let no further stretch begin."""
        with self._lock:
            self._starts = iter(())
