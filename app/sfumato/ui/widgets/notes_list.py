"""What readers remark on a table: a list with counts, rows and switches, and marks in its head."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSize, Qt, Signal
from PySide6.QtWidgets import QApplication, QPushButton, QVBoxLayout, QWidget

from sfumato.formats.choices import (
    ReadingChoice,
    cautions_first,
    choice_sentence,
    choices_between,
    choices_of,
    marks_of,
    rows_sentence,
    taken_back,
    with_choices,
)
from sfumato.formats.errors import Way
from sfumato.formats.language import grouped
from sfumato.formats.notes import Note
from sfumato.formats.options import ReadOptions
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import spoken, typeset
from sfumato.ui.widgets.layout import (
    ElidedButton,
    ScrollPage,
    beside,
    boxed,
    clear_layout,
    column,
    label,
    say,
)
from sfumato.ui.widgets.messages import announce
from sfumato.ui.widgets.painted import IconLabel, icon_pixmap
from sfumato.ui.widgets.responsive import FlowLayout

HIGHEST: Final = 188
"""The list takes no more of a page, and scrolls; pixels at scale 1."""


def _tr(text: str) -> str:
    return QCoreApplication.translate("NotesList", text)


def counted(notes: Sequence[Note], first: int | None = None) -> str:
    """Say how many remarks there are, and how many of them are to be looked at.

    Parameters
    ----------
    notes
        The remarks.
    first
        How many rows they are about, where no more are read yet: what they count is less than what
        the whole table holds.
    """
    if not notes:
        return _tr("What was chosen of how the table is read")
    cautions = sum(note.caution for note in notes)
    if first is not None:
        words = _tr("{count} {count:remark|remarks} on the first {rows} {rows:row|rows}")
        if cautions:
            words = _tr(
                "{count} {count:remark|remarks} on the first {rows} {rows:row|rows},"
                " {some} to be looked at"
            )
    elif cautions:
        words = _tr(
            "{count} {count:remark|remarks} on how the table is read, {some} to be looked at"
        )
    else:
        words = _tr("{count} {count:remark|remarks} on how the table is read")
    rows = grouped(first or 0)
    return words.format(count=grouped(len(notes)), some=cautions, rows=rows)


def column_marks(notes: Sequence[Note]) -> Mapping[str, Callable[[int], Any]]:
    """Return what marks columns in a table's head: those that remarks are about."""
    found = {}
    for name, (caution, those) in marks_of(notes).items():
        told = "\n".join(spoken(note.sentence) for note in those)
        found[name] = partial(_mark, name, "caution" if caution else "info", told)
    return found


def _mark(name: str, icon: str, told: str, role: int) -> Any:
    """Return what a marked heading shows and tells in a role of Qt."""
    if role == Qt.ItemDataRole.DecorationRole:
        return icon_pixmap(icon, "accent" if icon == "info" else icon, scaled(16))
    if role == Qt.ItemDataRole.AccessibleTextRole:
        return _tr("{column}, remarked: {text}").format(column=name, text=told)
    return told if role == Qt.ItemDataRole.ToolTipRole else None


class NotesList(QWidget):
    """The remarks on a table, cautions first, then what was chosen in their place.

    It stands below the table, so that rows stay where they are when it changes.

    Parameters
    ----------
    counts
        Whether it says itself how many remarks there are.
    """

    wanted = Signal(object)
    """The person wants the table to be read by other `ReadOptions`."""

    def __init__(self, parent: QWidget | None = None, *, counts: bool = True) -> None:
        super().__init__(parent)
        self._counts = counts
        self.notes: tuple[Note, ...] = ()
        self._options = self._found = ReadOptions()
        self._titles: dict[tuple[ReadingChoice, ...], str] = {}
        self._pressed: tuple[ReadingChoice, ...] = ()
        self._told = ""
        self.setAccessibleName(self.tr("Remarks on how the table is read"))
        self.page = ScrollPage(self)
        self.page.setAccessibleName(self.accessibleName())
        self.count = label("", "caption", wrap=True)
        self.lines = QVBoxLayout()
        self.lines.setContentsMargins(0, 0, 0, 0)
        self.lines.setSpacing(Space.INSIDE)
        self.page.column.setSpacing(Space.INSIDE)
        self.page.column.addWidget(self.count)
        self.page.column.addLayout(self.lines)
        self.page.column.addStretch(1)
        inner = self.page.widget()
        assert inner is not None
        self._inner = inner
        inner.installEventFilter(self)
        self.setLayout(column(self.page))
        self.hide()

    def sizeHint(self) -> QSize:
        """Ask for the height of all lines, as long as it leaves room for the table."""
        needed = self.page.column.totalHeightForWidth(self._inner.width())
        return QSize(super().sizeHint().width(), min(needed + 2, scaled(HIGHEST)))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Fit the height to the lines, whenever they wrap otherwise."""
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Resize):
            self._fit()
        return super().eventFilter(watched, event)

    def forget(self) -> None:
        """Remember nothing of another file."""
        self._titles.clear()
        self._pressed, self._told = (), ""
        self.show_notes((), self._options, self._options)

    def show_notes(
        self,
        notes: Sequence[Note],
        options: ReadOptions,
        found: ReadOptions,
        first: int | None = None,
    ) -> None:
        """Show the remarks on a reading.

        Parameters
        ----------
        notes
            The remarks.
        options
            What the table is read by.
        found
            How it seemed to be meant: what differs was chosen, and can be taken back.
        first
            How many rows the remarks are about, where no more are read yet.
        """
        held = QApplication.focusWidget()
        inside = held is not None and self.isAncestorOf(held)
        self.notes, self._options, self._found = tuple(cautions_first(notes)), options, found
        clear_layout(self.lines)
        chosen = choices_between(found, options)
        for line in (*map(self._note, self.notes), *map(self._choice, chosen)):
            self.lines.addWidget(line)
            line.show()  # now, so that one of its buttons can take the focus
        self.setVisible(self.lines.count() > 0)
        self._fit()
        if inside:
            self._focus()
        told = counted(self.notes, first) if self.notes else ""
        say(self.count, told if self._counts else "")
        if told and told != self._told and self.isVisible():
            announce(self, told)
        self._told = told

    def _note(self, note: Note) -> QWidget:
        icon, look = ("caution", "caution") if note.caution else ("info", "accent")
        words = self.tr("Caution: {text}") if note.caution else "{text}"
        said = typeset(note.sentence)
        texts = column(label(words.format(text=said), wrap=True), spacing=Space.TIGHT)
        if rows := rows_sentence(note):
            texts.addWidget(label(typeset(rows), "muted", wrap=True))
        parts = [self._way(way, said) for way in note.ways if choices_of(way, self._options)]
        if parts:
            texts.addLayout(FlowLayout(*parts, spacing=0, elided=True))
        return boxed(beside(IconLabel(icon, look, 16), texts))

    def _way(self, way: Way, about: str) -> QPushButton:
        # Here alone it is seen which numbers a remark takes for codes.
        asked = [one for one in choices_of(way, self._options) if one.name == "column_missing"]
        tip = "\n".join(typeset(choice_sentence(one)) for one in asked)
        made = ElidedButton(spoken(way.title), partial(self._take, way), tip)
        made.setAccessibleDescription("\n".join(filter(None, (about, tip))))
        return made

    def _choice(self, choice: ReadingChoice) -> QWidget:
        told = next((t for made, t in self._titles.items() if made == (choice,)), "")
        words = self.tr("Chosen: {text}").format(text=told or typeset(choice_sentence(choice)))
        back = ElidedButton(self.tr("Take it back"), partial(self._take_back, choice))
        back.setAccessibleDescription(words)
        back.setProperty("choice", repr(choice))
        texts = column(label(words, wrap=True), spacing=Space.TIGHT)
        texts.addLayout(FlowLayout(back, spacing=0, elided=True))
        return boxed(beside(IconLabel("check", "good", 16), texts))

    def _take(self, way: Way) -> None:
        choices = choices_of(way, self._options)
        self._titles[choices] = spoken(way.title)
        self._want(choices)

    def _take_back(self, choice: ReadingChoice) -> None:
        self._want((taken_back(choice, self._found),))

    def _want(self, choices: tuple[ReadingChoice, ...]) -> None:
        self._pressed = choices
        self.wanted.emit(with_choices(self._options, choices))

    def _focus(self) -> None:
        """Put the focus where the choice that was just made can be taken back."""
        buttons = self._inner.findChildren(QPushButton)
        shown = [each for each in buttons if each.isVisibleTo(self)]
        wanted = {repr(choice) for choice in self._pressed}
        first = next((each for each in shown if each.property("choice") in wanted), None)
        if (focused := first or next(iter(shown), None)) is not None:
            focused.setFocus()
            self.page.bring(focused)

    def _fit(self) -> None:
        height = self.sizeHint().height()
        if height != self.height():
            self.setFixedHeight(height)
