"""Names of columns as files have them."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.formats.errors import BadHeader, BadOptions, Way
from sfumato.formats.options import ReadOptions


def check_fixed_types(names: Sequence[str], options: ReadOptions) -> None:
    """Refuse options that fix the type of a column that is not there.

    Raises
    ------
    BadOptions
        If there is such a column.
    """
    for name in options.column_types:
        if name not in names:
            raise BadOptions(
                "The type of column {column} is fixed, but the file has no such column.",
                "Choose a file with this column, or leave its type to be found out.",
                ways=(Way("Leave it to be found out", options.with_type(name, None)),),
                column=name,
            )


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
