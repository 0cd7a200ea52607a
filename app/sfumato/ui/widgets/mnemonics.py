"""A letter of its own for every button, box and field of a dialog, and for every line of a menu.

Which letters are free depends on the language and on what else is in sight, so what the texts say
by ``&`` is a wish: it is kept where nothing before has the letter, and whatever has none gets one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QAbstractButton,
    QCheckBox,
    QLabel,
    QMenu,
    QPushButton,
    QRadioButton,
    QWidget,
)


def letter_of(text: str) -> str:
    """Return the letter that a text is reached by, lower-case; empty where it has none."""
    return QKeySequence.mnemonic(text).toString().rpartition("+")[2].casefold()


def with_letters(texts: Sequence[str], taken: Iterable[str] = ()) -> list[str]:
    """Return texts with a letter each that no other has, as far as there are enough.

    Wishes are heard first, from the first text on; then words' beginnings, then other letters.

    Parameters
    ----------
    texts
        What is seen, with or without ``&``.
    taken
        Letters that others have.
    """
    used = {letter.casefold() for letter in taken}
    found: dict[int, str] = {}
    for place, text in enumerate(texts):
        wish = letter_of(text)
        if wish and wish not in used:
            used.add(wish)
            found[place] = text
    left = [place for place in range(len(texts)) if place not in found]
    # First those that have the fewest letters to choose from.
    for place in sorted(left, key=lambda place: len(set(texts[place].casefold()) - used)):
        found[place] = _lettered(texts[place], used)
    return [found[place] for place in range(len(texts))]


def _lettered(text: str, used: set[str]) -> str:
    plain = _plain(text)
    beginnings = [
        at for at, sign in enumerate(plain) if sign.isalnum() and not plain[at - 1 : at].isalnum()
    ]
    places = [*beginnings, *(at for at, sign in enumerate(plain) if sign.isalpha())]
    at = next((at for at in places if plain[at].casefold() not in used), None)
    doubled = [sign.replace("&", "&&") for sign in plain]
    if at is None:
        return "".join(doubled)
    used.add(plain[at].casefold())
    return "".join((*doubled[:at], "&", *doubled[at:]))


def _plain(text: str) -> str:
    """Return a text as it is seen."""
    return text.replace("&&", "\0").replace("&", "").replace("\0", "&")


def reached_by_letter(top: QWidget) -> list[QAbstractButton | QLabel]:
    """Return the buttons, boxes and labels of fields in sight that a letter is for."""
    parts: list[QAbstractButton | QLabel] = []
    for part in top.findChildren(QWidget):
        if part.window() is not top.window() or not part.isVisibleTo(top):
            continue
        pressed = isinstance(part, QPushButton | QCheckBox | QRadioButton) and part.text()
        if pressed or (isinstance(part, QLabel) and part.buddy() is not None and part.text()):
            parts.append(part)  # type: ignore[arg-type]
    return parts


def give_letters(top: QWidget, taken: Iterable[str] = (), *, wished: bool = False) -> None:
    """Give every part of a dialog a letter of its own, that is not taken elsewhere.

    Parameters
    ----------
    top
        The dialog, or a page.
    taken
        Letters that others have: the menus'.
    wished
        Whether only parts get one that ask for one.
    """
    parts = [part for part in reached_by_letter(top) if not wished or letter_of(part.text())]
    texts = with_letters([part.text() for part in parts], taken)
    for part, text in zip(parts, texts, strict=True):
        if part.text() != text:
            part.setText(text)


def give_letters_to_menu(menu: QMenu) -> None:
    """Give every line of a menu a letter of its own."""
    lines = [action for action in menu.actions() if action.isVisible() and action.text()]
    for line, text in zip(lines, with_letters([line.text() for line in lines]), strict=True):
        if line.text() != text:
            line.setText(text)
