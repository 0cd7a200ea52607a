"""A file that was found: whose copy it is, and what would make every copy traceable."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QWidget

from sfumato.analysis.all_rows import rows_of
from sfumato.analysis.answers import Answer, Severity
from sfumato.analysis.disclosure.recipient_traceability import (
    RecipientTraceability,
    recipient_traceability,
)
from sfumato.analysis.disclosure.traced_files import answer_of_file
from sfumato.analysis.questions.question import Topic
from sfumato.engine.core.errors import SfumatoError
from sfumato.project.document.edits import USUAL_SPACING, WIDEST_SPACING, with_spacing
from sfumato.project.document.model import Document
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import typeset
from sfumato.ui.panels.audit.pages.answer import AnswerView
from sfumato.ui.panels.audit.pages.base import AuditPage
from sfumato.ui.panels.base import PanelState
from sfumato.ui.widgets.fields import NumberField
from sfumato.ui.widgets.files import FileChooser, dropped_file, table_filters
from sfumato.ui.widgets.layout import Card, button, label, row
from sfumato.ui.widgets.messages import Message, MessageKind, error_texts
from sfumato.ui.widgets.painted import IconLabel


class FindingCard(Card):
    """Asks for a file, and shows which releases it comes from.

    Parameters
    ----------
    chooser
        Asks where a plot is saved.
    """

    asked = Signal()
    """The person wants to choose a file."""

    def __init__(self, chooser: FileChooser, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._icon = IconLabel("verify", "muted", 24)
        self.verdict = label(self.tr("Whose copy is it?"), "heading", wrap=True)
        self.about = label("", "muted", wrap=True)
        self.choose = button(self.tr("Choose the found &file…"), self.asked.emit, "primary")
        self.shown = AnswerView(chooser, self.tr("Releases that the file may come from"), self)
        head = row(self._icon)
        head.addWidget(self.verdict, 1)
        self.put(head, self.about, self.shown)
        self.body.addSpacing(Space.INSIDE)
        self.body.addLayout(row(self.choose, None))
        self.show_nothing()

    def show_nothing(self) -> None:
        """Say what the card is for."""
        self._icon.show_icon("verify", "muted")
        self.verdict.setText(self.tr("Whose copy is it?"))
        self.about.setText(
            self.tr(
                "Choose a file that turned up where it should not be. A part of a release is"
                " enough, in any order, with columns missing or renamed, or mixed from two"
                " recipients' files."
            )
        )
        self.shown.show_answer(Answer(()))

    def show_working(self, name: str) -> None:
        """Say that a file is being compared."""
        self._icon.show_icon("clock", "muted")
        self.verdict.setText(self.tr("Comparing {name} with every release").format(name=name))
        self.about.setText(self.tr("Each release is made again from the table and the key."))
        self.shown.show_answer(Answer(()))

    def show_answer(self, answer: Answer) -> None:
        """Show where a file comes from."""
        # Somebody's copy is where it should not be: a danger, and no success.
        token = "danger" if answer.verdict is Severity.GRAVE else "caution"
        self._icon.show_icon(token, token)
        first, *others = map(typeset, answer.sentences)
        self.verdict.setText(first)
        self.about.setText(" ".join(others))
        self.shown.show_answer(answer)


PERCENT = 100.0


class SpacingCard(Card):
    """Proposes a spacing of recipients' levels, says what it would do, and sets it."""

    drafted = Signal()
    """The person wants to know what another spacing would do."""
    accepted = Signal(float)
    """The person wants this spacing, a share."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            self.tr("A level of its own for every recipient"),
            self.tr(
                "Recipients at the same level get the same values, so a leaked file names them"
                " all. Levels that lie a hair apart stay on one ladder, and give every file"
                " values of its own."
            ),
            parent,
        )
        self.field = NumberField(
            0.0, WIDEST_SPACING * PERCENT, decimals=2, unit="%", step=0.1, parent=self
        )
        name = label(self.tr("Distance to the &next level"), "muted")
        name.setBuddy(self.field)
        self.field.value_changed.connect(lambda _value: self.drafted.emit())
        self.outcome = label("", wrap=True)
        self.use = button(self.tr("&Use this distance"), self._accept)
        self.stop = button(self.tr("Same level again"), lambda: self.accepted.emit(0.0), "quiet")
        self.put(row(name, self.field, None), self.outcome, row(self.use, self.stop, None))

    @property
    def spacing(self) -> float:
        """The spacing in the field, a share."""
        return self.field.value / PERCENT

    def show_document(self, document: Document) -> None:
        """Show the spacing in force; where there is none, propose the usual one."""
        self.field.set_value((document.level_spacing or USUAL_SPACING) * PERCENT)
        self.stop.setVisible(document.level_spacing > 0.0)
        self._refresh_use(document)

    def _refresh_use(self, document: Document) -> None:
        self.use.setEnabled(abs(self.spacing - document.level_spacing) > 1e-9)

    def show_working(self, document: Document) -> None:
        """Say that the cost is being computed."""
        self._refresh_use(document)
        self.outcome.setText(self.tr("Computing how many rows would name a recipient…"))

    def show_price(self, price: RecipientTraceability) -> None:
        """Say what the spacing in the field does."""
        self.outcome.setText(typeset(price.sentence))

    def show_problem(self, text: str) -> None:
        """Say why that can't be computed."""
        self.outcome.setText(text)

    def _accept(self) -> None:
        self.accepted.emit(self.spacing)


TRACE_JOB: Final = "trace a leak"
PRICE_JOB: Final = "price of tracing"


class LeakPage(AuditPage):
    """Traces found files to recipients."""

    title: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Leaks"))
    topic: ClassVar[Topic] = Topic.LEAK
    order: ClassVar[int] = 80
    nothing: ClassVar[tuple[str, str, str]] = (
        "verify",
        str(QT_TRANSLATE_NOOP("Audit", "Nothing has been released yet")),
        str(
            QT_TRANSLATE_NOOP(
                "Audit",
                "Once a project has made releases, choose a file that turned up somewhere, to see"
                " whose copy it is.",
            )
        ),
    )
    leads_to: ClassVar[str] = "releases"
    listens: ClassVar[tuple[str, ...]] = ("document_changed", "project_changed", "table_changed")
    takes_files: ClassVar[bool] = True

    def build(self) -> None:
        """Put the file that was found above the distance of levels."""
        self.setAcceptDrops(True)
        self._priced: tuple[Document, BatchedTable] | None = None
        self.finding = FindingCard(self.session.chooser, self)
        self.spacing = SpacingCard(self)
        self.add(self.finding, self.spacing)
        self.finding.asked.connect(self.choose_file)
        self.spacing.drafted.connect(self._price)
        self.spacing.accepted.connect(self._accept)
        for signal in (self.session.project_changed, self.session.table_changed):
            signal.connect(self._start_anew)
        self.session.document_changed.connect(self.in_sight(self._show_spacing))
        self._show_spacing()

    def state(self) -> PanelState:
        """Return empty: tracing is never part of the work that is due."""
        return PanelState.EMPTY

    def _start_anew(self) -> None:
        self.session.runner.cancel(TRACE_JOB)
        self.finding.show_nothing()
        self._show_spacing()

    def _show_spacing(self) -> None:
        self.spacing.show_document(self.session.document)

    def refresh(self, _changed: object = None) -> None:
        """Compute what the distance of levels does, now that somebody looks."""
        self.show_work(self.session.project is not None and self.session.source is not None)
        self._price()

    # ----- a file

    def choose_file(self) -> None:
        """Let the person choose a file that turned up; without releases, say what is missing."""
        if self.pages.currentWidget() is not self.work:
            return
        path = self.session.chooser.open_file(self.tr("The found file"), table_filters())
        if path is not None:
            self.trace(path)

    def take_file(self, path: Path) -> None:
        """Trace a file that was brought here."""
        self.trace(path)

    def trace(self, path: Path) -> None:
        """Say whose copy a file is: a table, a bundle, either of them zipped, or a part of one."""
        project, source = self.session.project, self.session.source
        if project is None or source is None:
            text = self.tr("A found file is held against a project and its table.")
            remedy = self.tr("Open both, then drop the file again.")
            self.tell(Message(MessageKind.CAUTION, text, remedy, topic="leak"))
            return
        self.finding.show_working(path.name)
        self.session.runner.run(
            self.tr("Tracing {name}").format(name=path.name),
            partial(answer_of_file, project, source, path),
            partial(self._show_answer, project),
            self._fail,
            key=TRACE_JOB,
        )

    def _show_answer(self, project: ProjectFile, answer: Answer) -> None:
        if project is self.session.project:
            self.finding.show_answer(answer)
            self.sheet.bring_top(self.finding)

    def _fail(self, error: SfumatoError) -> None:
        self.finding.show_nothing()
        self.tell(Message.of_error(error, topic="leak"))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take one file that is dropped."""
        files = [url for url in event.mimeData().urls() if url.isLocalFile()]
        if len(files) == 1 and self.pages.currentIndex() == 1:
            event.acceptProposedAction()
        else:
            event.ignore()

    def dropEvent(self, event: QDropEvent) -> None:
        """Trace what was dropped."""
        path = dropped_file(event.mimeData())
        if path is not None:
            event.acceptProposedAction()
            self.trace(path)

    # ----- a level of its own

    def _price(self) -> None:
        """Compute what the spacing in the field would do, once somebody looks."""
        session = self.session
        source = session.source
        if not self.isVisible() or source is None or session.project is None:
            return
        try:
            drafted = with_spacing(session.document, self.spacing.spacing)
        except SfumatoError as error:
            self._show_problem(error)
            return
        asked = (drafted, source)
        if self._priced is not None and self._priced[1] is asked[1] and self._priced[0] == asked[0]:
            return
        self._priced = asked
        self.spacing.show_working(session.document)
        session.runner.run(
            self.tr("Computing what tracing costs"),
            partial(
                recipient_traceability,
                rows_of(drafted, source, session.keys, session.project_folders),
            ),
            self.spacing.show_price,
            self._show_problem,
            key=PRICE_JOB,
        )

    def _show_problem(self, error: SfumatoError) -> None:
        self.session.runner.cancel(PRICE_JOB)
        self._priced = None
        self.spacing.show_problem(" ".join(error_texts(error)))

    def _accept(self, spacing: float) -> None:
        try:
            changed = with_spacing(self.session.document, spacing)
        except SfumatoError as error:
            self._show_problem(error)
            return
        text = self.tr("Levels apart") if spacing else self.tr("Levels as chosen")
        self.session.edit(text, changed)


PAGE = LeakPage
