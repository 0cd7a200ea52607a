"""A window by its keys: letters of buttons, fields and menus, the order of Tab, and the focus.

Which letters are free depends on the language and on what else is in sight, so what the texts say
by ``&`` is a wish: it is kept where nothing before has the letter, and whatever has none gets one.

Qt visits widgets in the order in which they were made. Editors that are made when they are first
needed come after everything else there, and Tab leaves them for the other end of the window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import shiboken6
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QCheckBox,
    QGridLayout,
    QLabel,
    QLayout,
    QMainWindow,
    QMenu,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QStackedWidget,
    QWidget,
)

from sfumato.jobs import JobRunner
from sfumato.ui.widgets.paint_queue import delayed


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


def reading_order(top: QWidget) -> list[QWidget]:
    """Return the widgets inside another that Tab can stop at, in the order of reading.

    Parameters
    ----------
    top
        The window, or a part of it.
    """
    return [widget for widget in _walk(top) if _is_stop(widget)]


def next_stop(top: QWidget, present: QWidget | None, *, forward: bool) -> QWidget | None:
    """Return where Tab, or Shift+Tab, goes from a widget, round and round.

    Parameters
    ----------
    top
        The window, or a part of it.
    present
        What has the focus.
    forward
        Whether Tab was pressed without Shift.

    Returns
    -------
    The next stop; None where `present` is not in sight inside `top`, or is the only stop.
    """
    visited = [widget for widget in _walk(top) if widget is present or _is_stop(widget)]
    place = next((at for at, widget in enumerate(visited) if widget is present), None)
    if place is None or len(visited) < 2:
        return None
    return visited[(place + (1 if forward else -1)) % len(visited)]


def heir(gone: QWidget | None) -> QWidget | None:
    """Return what stands nearest to a widget that went out of sight, to have the focus after it.

    Parameters
    ----------
    gone
        What had the focus.

    Returns
    -------
    The next stop, else the one before, in the part that it has gone from; None where it is in
    sight, stood alone there, or gave its place to another page.
    """
    part = gone
    while part is not None and not part.isHidden():
        part = part.parentWidget()
    around = part.parentWidget() if part is not None else None
    if part is None or around is None or isinstance(around, QStackedWidget):
        return None
    children = [child for child in _children(around) if child is part or not child.isHidden()]
    place = next((at for at, child in enumerate(children) if child is part), 0)
    after = (stop for child in children[place + 1 :] for stop in _stops_of(child))
    before = (stop for child in reversed(children[:place]) for stop in _stops_of(child)[::-1])
    return next(after, None) or next(before, None)


def _stops_of(widget: QWidget) -> list[QWidget]:
    return [each for each in (widget, *_walk(widget)) if _is_stop(each)]


def go_to(stop: QWidget, reason: Qt.FocusReason) -> None:
    """Give a widget the focus, and bring it into sight wherever it was scrolled away."""
    stop.setFocus(reason)
    parent = stop.parentWidget()
    while parent is not None:
        if isinstance(parent, QScrollArea):
            parent.ensureWidgetVisible(stop)
        parent = parent.parentWidget()


def _is_stop(widget: QWidget) -> bool:
    """Return whether Tab stops at a widget; one with a proxy lets the proxy have the focus.

    A page that scrolls is a stop where it has more than is in sight, and no stop inside it from
    which the keys would scroll it.
    """
    by_tab = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    if not by_tab or not widget.isEnabled() or widget.focusProxy() is not None:
        return False
    if not isinstance(widget, QScrollArea):
        return True
    bars = (widget.verticalScrollBar(), widget.horizontalScrollBar())
    return any(bar.maximum() > 0 for bar in bars) and not any(map(_is_stop, _walk(widget)))


def _walk(widget: QWidget) -> Iterator[QWidget]:
    """Yield the widgets in sight inside one, each before what is inside it."""
    for child in _children(widget):
        if not child.isHidden():
            yield child
            yield from _walk(child)


def _children(widget: QWidget) -> list[QWidget]:
    """Return a widget's children: as its layout has them, then the others by where they lie."""
    layout = widget.layout()
    placed = list(_laid_out(layout)) if layout is not None else []
    known = {id(child) for child in placed}
    others = [
        child
        for child in widget.children()
        if isinstance(child, QWidget) and not child.isWindow() and id(child) not in known
    ]
    return placed + sorted(others, key=lambda child: (child.y(), child.x()))


def _laid_out(layout: QLayout) -> Iterator[QWidget]:
    """Yield a layout's widgets in its order, those of a grid row by row."""
    places = list(range(layout.count()))
    if isinstance(layout, QGridLayout):
        cells: dict[int, Any] = {place: layout.getItemPosition(place) for place in places}
        places.sort(key=lambda place: tuple(cells[place][:2]))
    for place in places:
        item = layout.itemAt(place)
        if item is None:
            continue
        child, inner = item.widget(), item.layout()
        if child is not None:
            yield child
        elif inner is not None:
            yield from _laid_out(inner)


class FocusKeeper(QObject):
    """Gives the focus back where work took it away, and finds a place where it is nowhere.

    Qt moves the focus on from a button that is disabled while its work is done; once the work has
    ended, whoever pressed it and has not moved finds it where it was.

    Parameters
    ----------
    window
        Whose focus is kept.
    runner
        Whose jobs take it away for a while.
    begin
        Gives the focus to where the work in sight begins.
    """

    def __init__(self, window: QMainWindow, runner: JobRunner, begin: Callable[[], object]) -> None:
        super().__init__(window)
        self._window, self._begin = window, begin
        self._lent: tuple[QWidget, QWidget] | None = None
        self._soon = delayed(self, self._settle)
        runner.job_finished.connect(self._wait)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._take_notice)

    def _wait(self, _job: object) -> None:
        self._soon.start()

    def _take_notice(self, before: QWidget | None, now: QWidget | None) -> None:
        """Remember what lost the focus because it was disabled; look for one that is lost."""
        if not shiboken6.isValid(self._window):
            return  # the focus leaves the window with its last widget
        if now is None:
            if self._window.isActiveWindow():
                self._soon.start()
            return
        if before is not None and before.window() is self._window and not before.isEnabled():
            self._lent = (before, now)
        elif self._lent is not None and now is not self._lent[1] and self._window.isActiveWindow():
            self._lent = None

    def _settle(self) -> None:
        if self._lent is not None:
            before, now = self._lent
            if not shiboken6.isValid(before):
                self._lent = None
            elif before.isEnabled() and before.isVisible():
                self._lent = None
                at = self._window.focusWidget()
                if at is None or (shiboken6.isValid(now) and at is now):
                    before.setFocus(Qt.FocusReason.OtherFocusReason)
        focused = self._window.focusWidget()
        if self._window.isActiveWindow() and (focused is None or not focused.isVisible()):
            self._begin()
