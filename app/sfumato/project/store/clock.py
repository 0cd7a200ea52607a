"""The only place where the project learns the time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Returns the present time, with its zone."""


def utc_now() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)


def stamp(clock: Clock) -> str:
    """Return the present time as it is recorded: ISO 8601, UTC, to the second."""
    return clock().astimezone(UTC).isoformat(timespec="seconds")
