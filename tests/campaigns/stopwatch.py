"""How long the main thread keeps the window waiting, and what it did meanwhile."""

from __future__ import annotations

import faulthandler
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

REFERENCE_SECONDS = 0.004
"""What the reference computation takes of a thread's own time on the machine of RESULTS.md while
nothing else runs: the best of 60 was 0.0039 s."""
REFERENCE_RUNS = 5
_WORDS = tuple(f"{number * 7919 % 20011:05d}" for number in range(20_000))

POLL_SECONDS = 0.02
SHOWN_FRAMES = 14


@dataclass(frozen=True)
class Stall:
    """One step in which nobody was answered for long.

    Parameters
    ----------
    what
        What was being done.
    worked
        The main thread's own time, seconds; other programs on the machine do not count.
    passed
        Seconds that went by.
    stack
        Where it was, as far as it was looked at.
    slowness
        How many times longer than usual the reference computation took right after.
    """

    what: str
    worked: float
    passed: float
    stack: str = ""
    slowness: float = 1.0

    @property
    def usual(self) -> float:
        """The own time it would have taken where nothing else runs, roughly, seconds."""
        return self.worked / self.slowness

    def told(self) -> str:
        """Return the figures, what was being done, and where the thread was."""
        slowed = f"{self.worked:.2f} s of {self.passed:.2f} s, {self.slowness:.1f} times slowed"
        return f"{self.usual:.2f} s ({slowed}) in {self.what}\n{self.stack}"


class Stopwatch:
    """Times the steps of the main thread; where one is long, it looks where the thread is.

    The thread's own time is what counts: on a machine that others use too, a step takes as long
    as they please. Others also empty the caches, and processors differ: right after a step above
    the limit the reference computation tells how slow the thread is now, and the step is a stall
    where it took longer than the limit times that.

    Parameters
    ----------
    limit
        Seconds of the thread's own time above which a step is a stall, where the reference takes
        its usual time.

    Attributes
    ----------
    longest
        The longest step.
    stalls
        Every step above the limit.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self.longest = Stall("", 0.0, 0.0)
        self.stalls: list[Stall] = []
        self._begun: float | None = None
        self._stack = ""
        self._main = threading.get_ident()
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="stopwatch", daemon=True)

    def __enter__(self) -> Stopwatch:
        self._watcher.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._watcher.join()

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Time what a block does."""
        self._stack = ""
        begun = self._begun = time.monotonic()
        own = time.thread_time()
        try:
            yield
        finally:
            worked, passed = time.thread_time() - own, time.monotonic() - begun
            self._begun = None
            slowed = slowness() if worked > self._limit else 1.0
            seen = Stall(what, worked, passed, self._stack, slowed)
            if seen.usual > self.longest.usual:
                self.longest = seen
            if seen.usual > self._limit:
                self.stalls.append(seen)

    def _watch(self) -> None:
        while not self._over.wait(POLL_SECONDS):
            begun = self._begun
            if begun is not None and time.monotonic() - begun > self._limit * 0.6:
                self._stack = self._stack or _where(self._main)


def slowness() -> float:
    """Return how many times longer than usual the reference takes now, at least 1.

    It fills a dictionary, sorts texts and looks them up at random places of the memory. The
    slowest of a few runs counts: what slows a step seldom lasts as long as it.
    """
    slowest = 0.0
    for _ in range(REFERENCE_RUNS):
        begun = time.thread_time()
        places = {word: place for place, word in enumerate(_WORDS)}
        sum(places[word] for word in sorted(_WORDS))
        slowest = max(slowest, time.thread_time() - begun)
    return max(1.0, slowest / REFERENCE_SECONDS)


def _where(thread: int) -> str:
    """Return where a thread is.

    Only as text: whoever holds a frame of another thread keeps what is in it, and a painter that
    is let go of in the wrong thread takes the process down.
    """
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        threads = file.read().split("\n\n")
    found = [told for told in threads if f"{thread:#018x}" in told]
    return "\n".join(found[0].splitlines()[: SHOWN_FRAMES + 1]) if found else ""
