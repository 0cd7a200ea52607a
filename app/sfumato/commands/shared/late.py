"""Libraries that are imported once something of them is asked for.

Most commands look at no table, but what they import can: to import pandas takes longer than all
that they do.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from types import ModuleType
from typing import Any

_IMPORTING = RLock()
"""Two threads may be the first to ask at once."""


def imported_late(name: str, *with_it: str) -> None:
    """Let a library be imported when something of it is first asked for, if it was not yet.

    Python's own `importlib.util.LazyLoader` is not made for several threads in version 3.11.

    Parameters
    ----------
    name
        The library's name, or that of a part of one.
    with_it
        Parts of other libraries that it would import and not use; they are imported late then.
    """
    if name not in sys.modules and (spec := find_spec(name)) is not None:
        stand_in = _StandIn(name)
        stand_in.__spec__ = spec
        stand_in.__with_it__ = with_it
        sys.modules[name] = stand_in
        whole, _, part = name.rpartition(".")
        if whole:  # as the import of a part does, which others look for there
            setattr(sys.modules[whole], part, stand_in)


class _StandIn(ModuleType):
    """Stands where a library is imported from, and has whatever the library has."""

    __with_it__: tuple[str, ...]

    def __getattr__(self, name: str) -> Any:
        with _IMPORTING:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
                try:
                    for part in self.__with_it__:
                        imported_late(part)
                    import_module(self.__name__)
                except BaseException:  # of a command that is cancelled just then, too
                    sys.modules[self.__name__] = self
                    raise
        found = getattr(sys.modules[self.__name__], name)
        # What is Python's own differs from one module to the other.
        if not name.startswith("__"):
            setattr(self, name, found)
        return found
