"""The languages that the window speaks: English, and every one that is translated."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from sfumato.resources import resource_path
from sfumato.ui.state.settings import Store

ENGLISH: Final = "en"
AS_THE_SYSTEM: Final = ""
_KEY: Final = "window/language"
_PREFIX: Final = "sfumato_"


def languages(folder: Path | None = None) -> tuple[str, ...]:
    """Return the languages there are, as Qt names them, English first.

    Parameters
    ----------
    folder
        Where compiled translations are; those that are shipped when None.
    """
    paths = (folder or _shipped()).glob(f"{_PREFIX}*.qm")
    return (ENGLISH, *sorted(path.stem.removeprefix(_PREFIX) for path in paths))


def name_of(language: str) -> str:
    """Return a language's own name for itself."""
    return QLocale(language).nativeLanguageName().capitalize() or language


def chosen(store: Store) -> str:
    """Return the language that the person chose; empty where it is the system's."""
    return str(store.value(_KEY, AS_THE_SYSTEM) or AS_THE_SYSTEM)


def choose(store: Store, language: str) -> None:
    """Remember a language; the window speaks it from its next start on."""
    store.setValue(_KEY, language)


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
    found = []
    locale = QLocale(language) if language else QLocale()
    qt = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    for name, place in (("qtbase", qt), ("sfumato", str(folder or _shipped()))):
        translator = QTranslator(application)
        if translator.load(locale, name, "_", place):
            application.installTranslator(translator)
            found.append(translator)
    return tuple(found)


def _shipped() -> Path:
    """Return where translations are shipped, which may be nowhere."""
    with suppress(FileNotFoundError):
        return resource_path("translations")
    return resource_path() / "translations"
