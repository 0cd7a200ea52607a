"""Names of columns as files have them."""

from __future__ import annotations

from collections.abc import Sequence

from app.formats.errors import BadHeader


def usable_names(names: Sequence[str]) -> list[str]:
    """Return the columns' names; a column without one is called by its position.

    Raises
    ------
    BadHeader
        If two columns have the same name.
    """
    named = [name or f"column_{position}" for position, name in enumerate(names, start=1)]
    seen: dict[str, int] = {}
    for position, name in enumerate(named, start=1):
        if name in seen:
            raise BadHeader(
                "Columns {first} and {second} are both called {column}.",
                "Rename one of them in the source file, or read it without a header.",
                first=seen[name],
                second=position,
                column=name,
            )
        seen[name] = position
    return named
