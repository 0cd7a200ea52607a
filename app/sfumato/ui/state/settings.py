"""What the window remembers between starts: recent projects, appearance, geometry."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final, Protocol

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator
from shiboken6 import isValid

from sfumato.formats import language as below
from sfumato.formats.language import ENGLISH, known, shipped

RECENT_KEPT: Final = 8


AS_THE_SYSTEM: Final = ""
_KEY: Final = "window/language"


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


def is_on(store: Store, key: str) -> bool:
    """Return whether what is stored under a key, as 0 or 1, is on."""
    return bool(int(store.value(key, 0) or 0))


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


class MemoryLimit:
    """How much memory a table may take before it is read in parts.

    Parameters
    ----------
    store
        Where another limit than the usual one is kept, in megabytes.
    """

    KEY: Final = "table/memory"
    OFFERED: Final = (1000, 2000, 4000, 8000, 16_000, 32_000)
    USUAL: Final = 0
    _SHARE: Final = 0.5
    _UNKNOWN: Final = 8e9

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def bytes(self) -> float:
        """The limit: what was chosen, or half of the machine's memory."""
        return self._chosen() * 1e6 or self.usual

    @property
    def usual(self) -> float:
        """The limit in bytes where none was chosen: half of the machine's memory."""
        return self._SHARE * self._machine()

    @property
    def megabytes(self) -> int | None:
        """What was chosen of what is offered, or the usual; None for another limit."""
        chosen = self._chosen()
        return next((one for one in (self.USUAL, *self.OFFERED) if one == chosen), None)

    def choose(self, megabytes: int) -> None:
        """Remember a choice."""
        self._store.setValue(self.KEY, megabytes)

    def _chosen(self) -> float:
        try:
            return max(float(self._store.value(self.KEY)), self.USUAL)
        except (TypeError, ValueError):
            return self.USUAL

    def _machine(self) -> float:
        try:
            return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, OSError, ValueError):  # not told on Windows
            return self._UNKNOWN


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


def name_of(language: str) -> str:
    """Return a language's own name for itself."""
    name = "English" if language == ENGLISH else QLocale(language).nativeLanguageName()
    return f"{name[:1].upper()}{name[1:]}" or language


def chosen(store: Store) -> str:
    """Return the language that the person chose; empty where it is the system's."""
    return str(store.value(_KEY, AS_THE_SYSTEM) or AS_THE_SYSTEM)


def choose(store: Store, language: str) -> None:
    """Remember a language."""
    store.setValue(_KEY, language)


_installed: Final[list[QTranslator]] = []
"""What the application speaks by now, until it speaks another language."""


def speak(
    application: QCoreApplication, language: str, folder: Path | None = None
) -> tuple[QTranslator, ...]:
    """Load Qt's own texts and Sfumato's in a language, where there are any.

    Parameters
    ----------
    application
        What speaks from now on; widgets that are made already keep their texts.
    language
        As Qt names it; empty for the system's.
    folder
        Where compiled translations are; those that are shipped when None.

    Returns
    -------
    tuple of QTranslator
        What was installed.
    """
    while _installed:
        before = _installed.pop()
        if isValid(before):
            application.removeTranslator(before)
    system = QLocale.system()
    spoken = known(language or system.name(), folder)
    below.speak(spoken, folder=folder)
    locale = QLocale(spoken)
    QLocale.setDefault(_writing(locale, system))
    qt = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    for name, place in (("qtbase", qt), ("sfumato", str(folder or shipped()))):
        translator = QTranslator(application)
        if translator.load(locale, name, "_", place):
            application.installTranslator(translator)
            _installed.append(translator)
    return tuple(_installed)


def _writing(spoken: QLocale, system: QLocale) -> QLocale:
    """Return how numbers are written: as the system does where it agrees with the language."""
    alike = all(
        sign(spoken) == sign(system)
        for sign in (QLocale.language, QLocale.decimalPoint, QLocale.groupSeparator)
    )
    return system if alike else spoken
