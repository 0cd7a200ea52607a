"""The languages that the window speaks: English, and every one that is translated."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from sfumato.formats import language as below
from sfumato.formats.language import ENGLISH, known, shipped
from sfumato.ui.state.settings import Store

AS_THE_SYSTEM: Final = ""
_KEY: Final = "window/language"


def name_of(language: str) -> str:
    """Return a language's own name for itself."""
    name = "English" if language == ENGLISH else QLocale(language).nativeLanguageName()
    return f"{name[:1].upper()}{name[1:]}" or language


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
    system = QLocale.system()
    spoken = known(language or system.name(), folder)
    below.speak(spoken)
    locale = QLocale(spoken)
    QLocale.setDefault(_writing(locale, system))
    qt = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    for name, place in (("qtbase", qt), ("sfumato", str(folder or shipped()))):
        translator = QTranslator(application)
        if translator.load(locale, name, "_", place):
            application.installTranslator(translator)
            found.append(translator)
    return tuple(found)


def _writing(spoken: QLocale, system: QLocale) -> QLocale:
    """Return how numbers are written: as the system does where it agrees with the language."""
    alike = all(
        sign(spoken) == sign(system)
        for sign in (QLocale.language, QLocale.decimalPoint, QLocale.groupSeparator)
    )
    return system if alike else spoken
