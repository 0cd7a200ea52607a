"""The scaffold of every page of the audit: an empty state, or controls above an answer."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, Signal
from PySide6.QtWidgets import QWidget

from sfumato.analysis.questions.question import Topic
from sfumato.engine.core.errors import SfumatoError
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.base import LazyWidget, PanelState
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import (
    Badge,
    EmptyState,
    Part,
    ScrollPage,
    boxed,
    button,
    column,
    label,
    row,
    say,
)
from sfumato.ui.widgets.messages import Message, error_texts
from sfumato.ui.widgets.painted import IconLabel
from sfumato.ui.widgets.plot_view import PlotView
from sfumato.ui.widgets.responsive import FlowLayout, Pages, ResponsiveRow

WIDE: Final = 760
"""From this width on, two parts of a page stand side by side."""
GO: Final = {
    "policy": str(QT_TRANSLATE_NOOP("Audit", "Go to Policy")),
    "attributes": str(QT_TRANSLATE_NOOP("Audit", "Go to Attributes")),
    "releases": str(QT_TRANSLATE_NOOP("Audit", "Go to Releases")),
}


class AuditPage(LazyWidget):
    """One question about what releases reveal.

    A page has a job at most, an empty state, and a sheet below its controls: a sentence that
    answers, an explanation, and the figures. Subclasses fill it in `build`.

    Parameters
    ----------
    session
        What is open.
    parent
        The owner.
    """

    title: ClassVar[str]
    """The page's name, marked by ``QT_TRANSLATE_NOOP("Audit", …)``."""
    topic: ClassVar[Topic] = Topic.TOGETHER
    """What its question is about."""
    order: ClassVar[int]
    """Its place among the pages."""
    takes_files: ClassVar[bool] = False
    """Whether it is about a file that turned up."""
    nothing: ClassVar[tuple[str, str, str]]
    """The drawing, the heading and the text of the empty state, marked like the title."""
    leads_to: ClassVar[str] = "policy"
    """The panel in which what is missing is made."""
    job: ClassVar[str] = ""
    """The key of the page's job."""
    listens: ClassVar[tuple[str, ...]] = (
        "document_changed",
        "table_changed",
        "attribute_changed",
        "project_changed",
    )
    """The session's signals after which the page looks again."""

    told = Signal(object)
    """A `Message` for the panel."""
    state_changed = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        icon, heading, text = self.nothing
        self.empty = EmptyState(icon, self.translated(heading), self.translated(text))
        go = partial(session.panel_requested.emit, self.leads_to)
        self.empty.add_button(button(self.translated(GO[self.leads_to]), go, "primary"))
        self.sentence = label("", "heading", wrap=True)
        self.explanation = label("", "muted", wrap=True)
        self.trouble = Badge("danger", "danger", self.tr("This can't be examined"), parent=self)
        self.sheet = ScrollPage(self)
        self.work = QWidget(self)
        self._above = column((self.sheet, 1), spacing=Space.BETWEEN)
        self.work.setLayout(self._above)
        self.pages = Pages(self)
        self.pages.addWidget(self.empty)
        self.pages.addWidget(self.work)
        self.setLayout(column(self.pages))
        self.icon = IconLabel("clock", "muted", 20)
        self.sheet.put(self.trouble, row(self.icon, self.sentence, wide=1), self.explanation)
        for words in (self.trouble, self.icon, self.sentence, self.explanation):
            words.hide()
        self.build()
        self.sheet.column.addStretch(1)
        look_again = self.in_sight(self.refresh)
        for name in self.listens:
            getattr(session, name).connect(look_again)
            getattr(session, name).connect(self._leave)
        look_again()

    # ----- what a page adds

    @abstractmethod
    def build(self) -> None:
        """Make the page's controls and the figures below its sentence."""

    @abstractmethod
    def refresh(self, _changed: object = None) -> None:
        """Look again at what is open, now that somebody looks."""

    def _leave(self) -> None:
        if not self.isVisible():
            self.give_up()

    def give_up(self) -> None:
        """Stop the work that nobody looks at, and whose question has changed."""
        if self.job:
            self.session.runner.cancel(self.job)

    def state(self) -> PanelState:
        """Return how far the page's question is answered."""
        return PanelState.EMPTY

    def has_material(self) -> bool:
        """Return whether the page has anything to ask about; without it, its tab is left out."""
        return True

    def take_file(self, path: Path) -> None:
        """Work on a file that turned up."""

    def choose_file(self) -> None:
        """Let the person choose a file that turned up."""

    # ----- what it is built of

    def controls(self, *pieces: tuple[str, QWidget] | QWidget | None) -> None:
        """Put fields with their names and widgets above the sheet; what follows None is apart."""
        self._above.insertLayout(self._above.count() - 1, field_line(*pieces))

    def add(self, *parts: Part) -> None:
        """Put parts below one another."""
        self.sheet.put(*parts)

    def fill_with(self, widget: QWidget) -> None:
        """Let one widget that scrolls by itself take the sheet's place."""
        self.sheet.hide()
        self._above.addWidget(widget, 1)

    def new_plot(self) -> PlotView:
        """Return a plot whose failures are told in the panel."""
        made = PlotView(self.session.chooser, self)
        made.failed.connect(self.told)
        return made

    def side_by_side(self, left: QWidget, right: QWidget) -> ResponsiveRow:
        """Return two parts beside each other, where there is room for both."""
        return ResponsiveRow(WIDE, left, right, parent=self)

    # ----- what it says

    def show_work(self, ready: bool) -> None:
        """Show the work, or what is missing for it."""
        self.pages.setCurrentWidget(self.work if ready else self.empty)

    def say(self, sentence: str, explanation: str = "", icon: str = "", token: str = "") -> None:
        """Say what was found, and what it means; an icon and its colour give the verdict."""
        self.trouble.hide()
        self.icon.setVisible(bool(icon))
        if icon:
            self.icon.show_icon(icon, token or icon)
        say(self.sentence, sentence)
        say(self.explanation, explanation)

    def refuse(self, error: SfumatoError) -> None:
        """Say why there is no answer."""
        self.say(*error_texts(error))
        self.trouble.show()

    def tell(self, message: Message) -> None:
        """Show a message in the panel."""
        self.told.emit(message)

    @classmethod
    def translated_title(cls) -> str:
        """Return the title in the person's language."""
        return cls.translated(cls.title)

    @staticmethod
    def translated(text: str) -> str:
        """Return a marked text in the person's language."""
        return QCoreApplication.translate("Audit", text)


def field_line(*pieces: tuple[str, QWidget] | QWidget | None) -> FlowLayout:
    """Return fields side by side, each after its name, on as many lines as they need.

    What follows None stands at the right, where there is room.
    """
    return FlowLayout(
        *(named(*piece) if isinstance(piece, tuple) else piece for piece in pieces if piece),
        spacing=Space.BETWEEN,
        apart=pieces.index(None) if None in pieces else 0,
    )


def named(words: str, field: QWidget) -> QWidget:
    """Return a field after its name, to be shown and hidden as one."""
    name = label(words, "muted")
    name.setBuddy(field)
    if not field.accessibleName():
        field.setAccessibleName(words.replace("&", ""))
    return boxed(row(name, field))
