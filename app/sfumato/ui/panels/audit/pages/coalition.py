"""What is known so far: any group of recipients, and what it learns by pooling releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, Signal
from PySide6.QtWidgets import QWidget

from sfumato.analysis.answers import Answer
from sfumato.analysis.coalitions.coalitions import (
    CoalitionAnswer,
    CoalitionReport,
    answer_of,
    growth_of,
    in_order_of_release,
    weigh_added,
    weigh_coalition,
)
from sfumato.analysis.coalitions.holdings import Holding, imagined, told_together
from sfumato.analysis.coalitions.pooled_numbers import (
    NumbersCoalition,
    linear_errors,
    numbers_coalition,
)
from sfumato.analysis.coalitions.restored_files import RealizedReport, answer_of_files, weigh_held
from sfumato.analysis.questions.coalition import asides
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.coalition_risk import AddedRecipient
from sfumato.engine.disclosure.record_risk import RecordRisk
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import LevelTerm
from sfumato.engine.table.combinations import combined
from sfumato.engine.table.table import Attribute
from sfumato.formats.language import grouped
from sfumato.plots.coalitions import (
    AddedData,
    GrowthData,
    build_added_recipient,
    build_risk_distribution,
    build_risk_growth,
)
from sfumato.plots.figure import builder
from sfumato.plots.ladders import LadderData, LadderRung, build_trust_ladder
from sfumato.plots.pooled_numbers import build_error_by_copies
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.look.wording import spoken, typeset
from sfumato.ui.panels.audit.holders import (
    TICK,
    HoldersPage,
    level_text,
    tr,
)
from sfumato.ui.panels.audit.pages.answer import AnswerView
from sfumato.ui.panels.base import PanelState
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import SliderField, TickAll
from sfumato.ui.widgets.layout import Badge, Card, column, label, row, say
from sfumato.ui.widgets.messages import Message, error_texts
from sfumato.ui.widgets.plot_view import PlotView

JOB: Final = "audit what if"
MOST_ON_SLIDER: Final = 10.0
USUAL: Final = 0.5


class WhatIf(QWidget):
    """Answers what a recipient more would change, before anything is released."""

    failed = Signal(object)
    """A `Message`: the plot could not be saved."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._term: LevelTerm | None = None
        self._entry: PolicyEntry | None = None
        self._attributes: Mapping[str, Attribute] = {}
        self._coalition: tuple[Holding, ...] = ()
        self.title = label("", "muted")
        self.level = SliderField(0.0, 1.0, parent=self)
        self.trouble = label("", "muted", wrap=True)
        self.trouble.hide()
        self.plot = PlotView(session.chooser, self)
        heading = label(self.tr("What if I add a recipient?"), "heading")
        note = self.tr("Choose a level. Nothing is released, and nothing is kept.")
        asked = row(self.title, self.level)
        self._column = column(
            heading, label(note, "muted", wrap=True), asked, self.trouble, (self.plot, 1)
        )
        self.setLayout(self._column)
        self.level.editing_finished.connect(self.ask)
        self.plot.failed.connect(self.failed)

    def show_coalition(
        self,
        entry: PolicyEntry,
        attributes: Mapping[str, Attribute],
        coalition: Sequence[Holding],
    ) -> None:
        """Ask about another coalition, or another attribute."""
        same = self._entry == entry
        self._entry, self._attributes = entry, attributes
        self._coalition = tuple(coalition)
        terms = mechanism_called(entry.mechanism).terms
        term = next((term for term in terms if len(term.fields) == 1), None)
        if term is not None and not (same and term == self._term):
            self._offer(term)
        self._term = term
        self.setVisible(term is not None)
        self.ask()

    def ask(self) -> None:
        """Weigh the coalition with the recipient who is imagined."""
        if self._term is None or self._entry is None or not self.isVisible():
            self._session.runner.cancel(JOB)
            return
        field = self._term.fields[0]
        try:
            added = imagined(
                self._session.document,
                self._entry,
                {field.name: self.level.value},
                self._attributes,
                tr("A new recipient"),
            )
        except SfumatoError as error:
            self._refuse(error)
            return
        self._session.runner.run(
            self.tr("Weighing one more recipient"),
            partial(weigh_added, self._entry, self._coalition, added, self._attributes),
            partial(self._show, self._entry.key, level_text(added), self._coalition),
            self._refuse,
            key=JOB,
        )

    def _offer(self, term: LevelTerm) -> None:
        """Put a slider for this term in place."""
        field = term.fields[0]
        top = min(field.maximum, MOST_ON_SLIDER)
        made = SliderField(
            field.minimum,
            field.maximum,
            decimals=field.decimals,
            unit=field.unit,
            reach=(field.minimum, top),
            parent=self,
        )
        made.set_value(min(max(USUAL, field.minimum), top))
        made.field.spin.setAccessibleName(spoken(term.title))
        made.editing_finished.connect(self.ask)
        self._column.replaceWidget(self.level, made)
        self.level.hide()
        self.level.deleteLater()
        self.level = made
        made.show()
        self.title.setText(spoken(term.title))
        self.level.setAccessibleName(spoken(term.title))

    def _show(
        self,
        attribute: str,
        level: str,
        coalition: tuple[Holding, ...],
        change: AddedRecipient | None,
    ) -> None:
        if coalition != self._coalition:
            return
        self.trouble.hide()
        if change is None:
            self.plot.clear()
            return
        best = coalition[0].recipient if coalition else ""
        self.plot.show_plot(
            partial(build_added_recipient, AddedData(attribute, level, best, change))
        )

    def _refuse(self, error: SfumatoError) -> None:
        """Say why there is no answer, where the level was given."""
        self._session.runner.cancel(JOB)
        self.plot.clear()
        self.trouble.setText(" ".join(error_texts(error)).strip())
        self.trouble.show()


LEDGER_JOB: Final = "audit ledger"


class CoalitionPage(HoldersPage):
    """Ticks recipients and weighs what they hold together."""

    title: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Coalitions"))
    order: ClassVar[int] = 1
    nothing: ClassVar[tuple[str, str, str]] = (
        "audit",
        str(QT_TRANSLATE_NOOP("Audit", "Nobody holds anything yet")),
        str(
            QT_TRANSLATE_NOOP(
                "Audit",
                "Once recipients have levels of trust, tick any group of them here and see what"
                " they would learn by putting their releases together.",
            )
        ),
    )
    job: ClassVar[str] = "audit coalition"

    def build(self) -> None:
        """Put the coalition beside the bars, and what is known record by record below."""
        session = self.session
        self._weighed = False
        self._tampering: SfumatoError | None = None
        card = self.lay_out_holders()
        self.ladder, self.bars = self.new_plot(), self.new_plot()
        self.distribution, self.growth = self.new_plot(), self.new_plot()
        self.what_if = WhatIf(session, self)
        self.files = ReleasedFiles(session, self)
        title = self.tr("Whose records are in most danger?")
        note = self.tr("Average probability that the coalition gives to a record's true value.")
        self.groups = Card(title, note, self)
        self.by_value = AnswerView(session.chooser, title, self)
        self.groups.put(self.by_value)
        self.ledger = Badge("verify", "muted", "", parent=self)
        self.ledger.hide()
        self.controls((self.tr("&Attribute"), self.entry), self.basis, None, self.ledger)
        self.tick_all = TickAll(self.model.tick_all, self)
        self.tick_all.show()
        card.body.addWidget(self.tick_all)
        self.add(self.open_note, self.side_by_side(card, self.bars), self.rest)
        self.add(self.side_by_side(self.distribution, self.growth), self.files, self.groups)
        self.add(self.side_by_side(self.what_if, self.ladder))
        for signal in (session.project_changed, session.ledger_changed):
            signal.connect(self._examine_ledger)
        self.what_if.failed.connect(self.told)
        self.files.failed.connect(self.told)
        self._examine_ledger()

    # ----- what there is

    def state(self) -> PanelState:
        """Return whether the present coalition was weighed."""
        if not self.model.holdings:
            return PanelState.EMPTY
        if self._tampering is not None:
            return PanelState.ATTENTION
        return PanelState.DONE if self._weighed else PanelState.IN_PROGRESS

    def _examine_ledger(self) -> None:
        """Find out whether the record of what was released can be relied on."""
        project = self.session.project
        self._tampering = None
        self.ledger.setVisible(project is not None)
        if project is not None:
            self.ledger.show_state("clock", "muted", self.tr("Examining the ledger"))
            self.session.runner.run(
                self.tr("Examining the ledger"),
                project.count_entries,
                self._show_intact,
                self._show_tampering,
                key=LEDGER_JOB,
            )

    def _show_intact(self, entries: int) -> None:
        words = self.tr("Ledger intact, {n} {n:entry|entries}").format(n=grouped(entries))
        self.ledger.show_state("verify", "good", words)
        self.state_changed.emit()

    def _show_tampering(self, error: SfumatoError) -> None:
        self._tampering = error
        self.ledger.show_state("danger", "danger", self.tr("Ledger not as it was written"))
        self.tell(Message.of_error(error, topic="ledger"))
        self.state_changed.emit()

    # ----- what it comes to

    def _tell(self, answer: Answer, coalition: Sequence[Holding]) -> None:
        """Say what was found, and what else is to be known."""
        document, releases = self.session.document, self.session.steps.releases()
        beside = asides(document, str(self.entry.value), coalition, releases)
        self.tell_learned(answer.sentences, beside)

    def weigh(self) -> None:
        """Say what the ticked recipients learn; the bars follow from a job."""
        self._weighed = False
        if not self.isVisible():
            self.in_sight(self.refresh)()
        entries = self.entries() if self.isVisible() else {}
        if not entries or not self.model.holdings:
            self.session.runner.cancel(self.job)
            self.state_changed.emit()
            return
        coalition = self.model.coalition
        entry, attributes = entries[str(self.entry.value)]
        self._show_ladder(entry)
        pool = numbers_coalition(entry, coalition, attributes)
        if coalition:
            formed = pool is not None and pool.formed
            self._tell(Answer((told_together(entry.key, coalition, formed),)), coalition)
        else:
            self.tell_learned((tr(TICK),))
        self.open_note.show_best(entry.key, coalition)
        attribute = combined([attributes[name] for name in entry.attributes])
        countable = attribute.counts is not None
        self.what_if.setVisible(countable)
        if countable:
            self.what_if.show_coalition(entry, attributes, coalition)
        if not coalition:
            self._show_nothing()
        if coalition and countable:
            self.session.runner.run(
                self.tr("Weighing a coalition"),
                partial(_weigh, entry, coalition, attributes),
                partial(self._show_weighed, coalition),
                self._fail,
                key=self.job,
            )
        else:
            self.session.runner.cancel(self.job)
        if not countable:
            self._show_nothing()
        if pool is not None and not countable:
            self._show_numbers(pool)
        self.state_changed.emit()

    def _show_numbers(self, pool: NumbersCoalition) -> None:
        """Show how far the error of an estimate falls: numbers have no values to guess right."""
        try:
            errors = linear_errors(pool)
        except SfumatoError as error:
            self._fail(error)
            return
        self._weighed = True
        self.bars.show_plot(partial(build_error_by_copies, pool, errors))

    def _show_ladder(self, entry: PolicyEntry) -> None:
        chosen = {holding.recipient for holding in self.model.coalition}
        rungs = tuple(
            LadderRung(
                holding.recipient,
                holding.trust,
                level_text(holding),
                "",
                holding.recipient in chosen,
            )
            for holding in self.model.holdings
        )
        self.ladder.show_plot(partial(build_trust_ladder, LadderData(entry.key, rungs)))

    def _show_weighed(self, coalition: Sequence[Holding], weighed: Weighed | None) -> None:
        if tuple(coalition) != self.model.coalition:
            return
        self._weighed = True
        if weighed is None:
            self._show_nothing()
        else:
            found, told, growth = weighed
            self._tell(told, coalition)
            self.bars.show_plot(builder(told.figures[0]))
            self.distribution.show_plot(partial(build_risk_distribution, found))
            self.growth.show_plot(partial(build_risk_growth, growth))
            self.by_value.show_answer(replace(told, figures=()))
            self.files.show_coalition(coalition, found.risk.on_ladder)
        self._show_details(weighed is not None)
        self.state_changed.emit()

    def _show_nothing(self) -> None:
        for plot in (self.bars, self.distribution, self.growth):
            plot.clear()
        self._show_details(False)

    def _show_details(self, shown: bool) -> None:
        """Show what is known record by record, or take it away."""
        for part in (self.distribution, self.growth, self.groups):
            part.setVisible(shown)
        if not shown:
            self.files.dismiss()

    def _fail(self, error: SfumatoError) -> None:
        self._show_nothing()
        self.tell(Message.of_error(error, topic="coalition"))


Weighed = tuple[CoalitionAnswer, Answer, GrowthData]


def _weigh(
    entry: PolicyEntry,
    coalition: Sequence[Holding],
    attributes: Mapping[str, Attribute],
    context: Context,
) -> Weighed | None:
    answer = weigh_coalition(entry, coalition, attributes, Part(context, 0.0, 0.7))
    if answer is None:
        return None
    order = in_order_of_release(answer.members)
    points = growth_of(answer, Part(context, 0.7, 1.0))
    names = tuple(holding.recipient for holding in order)
    told = answer_of(CoalitionReport(answer))
    return answer, told, GrowthData(answer.entry, points, names)


FILES_JOB: Final = "audit files"


class ReleasedFiles(QWidget):
    """Makes the released columns again and tells what they give away of each record."""

    failed = Signal(object)
    """A `Message`: the plot could not be saved."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._coalition: tuple[Holding, ...] = ()
        self.sentence = label("", wrap=True)
        self.agreement = label("", "muted", wrap=True)
        heading = self.tr("In the files as released")
        self.shown = AnswerView(session.chooser, heading, self)
        self.shown.failed.connect(self.failed)
        note = self.tr(
            "The figures above are averages over the noise. Here the released values themselves"
            " are looked at, record by record."
        )
        words = (label(heading, "heading"), label(note, "muted", wrap=True))
        self.setLayout(column(*words, self.sentence, self.agreement, self.shown))
        self.hide()

    def show_coalition(self, coalition: Sequence[Holding], expected: RecordRisk) -> None:
        """Weigh the files of a coalition, if they are released; else there is nothing to show.

        Parameters
        ----------
        coalition
            What the members hold, the most trusted first.
        expected
            What they restore on average over the noise.
        """
        session, rows = self._session, self._session.all_rows()
        released = not any(one.planned for one in coalition)
        if session.project is None or rows is None or not coalition or not released:
            self.dismiss()
            return
        self._coalition = tuple(coalition)
        self._say(tr("The released columns are being made again."))
        self.show()
        session.runner.run(
            self.tr("Weighing the released files"),
            partial(weigh_held, rows, self._coalition),
            partial(self._show, self._coalition, expected),
            self._refuse,
            key=FILES_JOB,
        )

    def dismiss(self) -> None:
        """Show nothing any more."""
        self._session.runner.cancel(FILES_JOB)
        self._coalition = ()
        self._say("")
        self.hide()

    def _show(
        self, coalition: tuple[Holding, ...], expected: RecordRisk, report: RealizedReport
    ) -> None:
        if coalition != self._coalition:
            return
        if report.risk is None:
            self._say(tr("That can't be told: {reason}", reason=spoken(report.reason)))
            return
        answer = answer_of_files(report, expected)
        told, *agreement = map(typeset, answer.sentences)
        self._say(told, " ".join(agreement), answer)

    def _refuse(self, error: SfumatoError) -> None:
        self._say(" ".join(error_texts(error)).strip())

    def _say(self, sentence: str, agreement: str = "", answer: Answer | None = None) -> None:
        self.sentence.setText(sentence)
        say(self.agreement, agreement)
        self.shown.show_answer(answer or Answer(()))


PAGE = CoalitionPage
