"""Finds the texts in a window that no translator could translate."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from matplotlib.text import Text
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QDoubleSpinBox,
    QLabel,
    QLineEdit,
    QTabBar,
    QTableView,
    QWidget,
)

from installer.translating import CHECKOUT, NAME, compiled, renew
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document
from sfumato.ui.widgets.plot_view import PlotView

BEGIN, END = "«", "»"
_TRANSLATED = re.compile(f"{BEGIN}[^{BEGIN}{END}]*{END}")
_MARKUP = re.compile(r"<style.*?</style>|<[^>]+>", re.DOTALL)
_NO_WORDS = re.compile(r"\S+…|\S*[/\d]\S*")
_WORD = re.compile(r"[^\W\d_]{3,}")
NAMES = frozenset({"Sfumato", "Clinic", "clinic", "csv", "tmp", "English", "Deutsch", "Esperanto"})
"""Names that are the same in every language."""


def pseudo_language(
    checkout: Path, say: Callable[[str], str], *, known: Path | None = None
) -> Path:
    """Return a language made of the English texts, compiled in a copy of the code.

    Parameters
    ----------
    checkout
        An empty folder for the copy.
    say
        Gives the translation of a text.
    known
        Another language, whose texts do; else they are looked for in the code, which takes long.
    """
    if known is None:
        shutil.copytree(CHECKOUT / "app", checkout / "app", ignore=shutil.ignore_patterns("*.pyc"))
        path = renew("eo", checkout)
    else:
        path = checkout / NAME.format(locale="eo")
        shutil.copyfile(known, path)
    tree = ElementTree.parse(path)
    for message in tree.iter("message"):
        translation = message.find("translation")
        assert translation is not None
        translation.attrib.pop("type", None)
        translation.text = say(str(message.findtext("source")))
    tree.write(path, encoding="utf-8", xml_declaration=True)
    compiled(path)
    return path


def untranslated(
    widgets: Iterable[QWidget], document: Document, table: Table | None
) -> Iterator[tuple[str, str]]:
    """Give each text with a word that is neither translated nor the table's, with its widget."""
    own = NAMES | own_words(document, table)
    for widget in widgets:
        for place, text in texts_in(widget):
            rest = bare(text)
            if set(_WORD.findall(rest)) - own:
                yield place, rest


def bare(text: str) -> str:
    """Return a text without markup, words cut short, and what is translated."""
    text, before = _MARKUP.sub(" ", text), ""
    while text != before:
        text, before = _TRANSLATED.sub("", text), text
    return _NO_WORDS.sub("", text)


def own_words(document: Document, table: Table | None) -> frozenset[str]:
    """Return the words of the table and of the custodian, which nobody translates."""
    own = [document.title, *(one for who in document.recipients for one in (who.name, who.note))]
    for spec in document.columns:  # classes that the custodian named
        own += spec.binning.labels or () if spec.binning is not None else ()
    if document.generalization is not None:
        for other in document.generalization.others:
            own += (other.holder, *other.quasi_identifiers)
    if table is not None:
        own += map(str, table.frame.columns)
        for name in table.frame.columns:
            own += map(str, table.frame[name].head(5000).astype(str).unique())
    return frozenset(_WORD.findall(" ".join(own)))


def texts_in(window: QWidget) -> Iterator[tuple[str, str]]:
    """Give each text that a window shows, and those of the tips and for screen readers."""
    for widget in (window, *window.findChildren(QWidget)):
        if widget.isVisibleTo(window) or widget is window:
            for text in filter(None, _of(widget)):
                yield type(widget).__name__, text
    for action in window.findChildren(QAction):
        if ": " not in action.text():  # Undo names a step, which a scene calls as it likes.
            yield "QAction", action.text()


def _of(widget: QWidget) -> Iterator[str]:
    yield from (widget.toolTip(), widget.accessibleName(), widget.accessibleDescription())
    match widget:
        case QLabel() | QAbstractButton():
            yield widget.text()
        case QLineEdit():
            yield widget.placeholderText()
        case QComboBox():
            yield from (widget.itemText(place) for place in range(widget.count()))
        case QTabBar():
            yield from (widget.tabText(place) for place in range(widget.count()))
        case QDoubleSpinBox():
            yield from (widget.prefix(), widget.suffix())
        case QTableView() if widget.model() is not None:
            model = widget.model()
            for column in range(model.columnCount(QModelIndex())):
                yield str(model.headerData(column, Qt.Orientation.Horizontal) or "")
        case PlotView() if widget.figure is not None:
            shown = [text.get_text() for text in widget.figure.figure.findobj(Text)]
            yield " ".join(shown)
