"""How long work reports its progress and learns that it should stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from sfumato.engine.core.errors import Cancelled

_Item = TypeVar("_Item")


class Context(Protocol):
    """What a long engine call is given."""

    def report(self, fraction: float, text: str) -> None:
        """Say that `fraction` (0 to 1) of the work is done; raise `Cancelled` to stop it."""


class Silent:
    """A context that nobody watches, for tests and short calls."""

    def report(self, fraction: float, text: str) -> None:
        """Do nothing."""


class Callback:
    """A context that passes progress on and stops when asked to.

    Parameters
    ----------
    on_progress
        Called with (fraction, text).
    should_stop
        Asked at every report; a true answer raises `Cancelled`.
    """

    def __init__(
        self, on_progress: Callable[[float, str], None], should_stop: Callable[[], bool]
    ) -> None:
        self._on_progress = on_progress
        self._should_stop = should_stop

    def report(self, fraction: float, text: str) -> None:
        """Pass the report on, or raise `Cancelled`."""
        if self._should_stop():
            raise Cancelled
        self._on_progress(fraction, text)


class Part:
    """One stretch of a longer piece of work, seen as a whole by the call that does it.

    Parameters
    ----------
    whole
        The context of the longer work.
    start, end
        The fractions of the longer work at which this part begins and ends.
    """

    def __init__(self, whole: Context, start: float, end: float) -> None:
        self._whole = whole
        self._start = start
        self._end = end

    def report(self, fraction: float, text: str) -> None:
        """Report to the longer work, scaled to this part."""
        self._whole.report(self._start + fraction * (self._end - self._start), text)


def one_by_one(context: Context, items: Sequence[_Item]) -> Iterator[tuple[_Item, Part]]:
    """Yield each item with its part of the work, all parts being alike."""
    for place, item in enumerate(items):
        yield item, Part(context, place / len(items), (place + 1) / len(items))
