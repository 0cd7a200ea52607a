"""What the window remembers between starts: recent projects, appearance, geometry."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Protocol

RECENT_KEPT: Final = 8


class Store(Protocol):
    """Where settings are kept: `QSettings`, or a dictionary in tests."""

    def value(self, key: str, default: Any = None) -> Any:
        """Return what is stored under `key`."""

    def setValue(self, key: str, value: Any) -> None:
        """Store a value under `key`."""


class MemoryStore:
    """Settings that are forgotten at the end."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def value(self, key: str, default: Any = None) -> Any:
        """Return what is stored under `key`."""
        return self._values.get(key, default)

    def setValue(self, key: str, value: Any) -> None:
        """Store a value under `key`."""
        self._values[key] = value


class TextScale:
    """How large the person wants text, in per cent of the system's size.

    Parameters
    ----------
    store
        Where it is remembered; a window takes it when it is made.
    """

    OFFERED: Final = (90, 100, 115, 125, 150)
    USUAL: Final = 100
    _KEY: Final = "window/text-size"

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def percent(self) -> int:
        """What was chosen; the usual size where nothing that is offered was."""
        stored = str(self._store.value(self._KEY, self.USUAL))
        return next((one for one in self.OFFERED if stored == str(one)), self.USUAL)

    def choose(self, percent: int) -> None:
        """Remember a choice."""
        self._store.setValue(self._KEY, percent)


class RecentProjects:
    """The projects opened last, most recent first.

    Parameters
    ----------
    store
        Where they are remembered.
    """

    _KEY: Final = "recent/projects"

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def paths(self) -> tuple[Path, ...]:
        """The projects that are still there."""
        return tuple(path for path in map(Path, self._listed()) if path.is_file())

    def add(self, path: Path) -> None:
        """Put a project first."""
        text = str(path.absolute())
        kept = [text, *(other for other in self._listed() if other != text)]
        self._store.setValue(self._KEY, kept[:RECENT_KEPT])

    def clear(self) -> None:
        """Forget them all."""
        self._store.setValue(self._KEY, [])

    def _listed(self) -> list[str]:
        stored = self._store.value(self._KEY, [])
        if isinstance(stored, str):  # QSettings gives a list of one back as a string
            return [stored]
        return [str(path) for path in stored or []]
