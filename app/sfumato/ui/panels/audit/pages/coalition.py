"""What is known so far: any group of recipients, and what it learns by pooling releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QHeaderView, QWidget

from sfumato.analysis.coalitions import (
    CoalitionAnswer,
    growth_of,
    in_order_of_release,
    weigh_added,
    weigh_coalition,
)
from sfumato.analysis.holdings import Holding, imagined
from sfumato.analysis.pooled_numbers import linear_errors, numbers_coalition
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.coalition_risk import AddedRecipient, CoalitionRisk
from sfumato.engine.disclosure.record_risk import CERTAIN
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import LevelTerm
from sfumato.engine.table.combinations import combined
from sfumato.engine.table.table import Attribute
from sfumato.formats.language import grouped
from sfumato.plots.axes import percent
from sfumato.plots.coalitions import (
    AddedData,
    GrowthData,
    build_added_recipient,
    build_collusion_bars,
    build_risk_distribution,
    build_risk_growth,
)
from sfumato.plots.ladders import LadderData, LadderRung, build_trust_ladder
from sfumato.plots.pooled_numbers import build_error_by_copies
from sfumato.project.document.model import PolicyEntry
from sfumato.project.withdrawal import still_counted
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken, typeset
from sfumato.ui.panels.audit.holders import (
    HoldersPage,
    adopted_beside,
    coalition_sentence,
    level_text,
    numbers_sentence,
    tr,
)
from sfumato.ui.panels.audit.released_files import ReleasedFiles
from sfumato.ui.panels.base import PanelState
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import SliderField, TickAll
from sfumato.ui.widgets.layout import Badge, Card, column, label, row
from sfumato.ui.widgets.messages import Message, error_texts
from sfumato.ui.widgets.plot_view import PlotView
from sfumato.ui.widgets.tables import MISSING_TEXT, Cell, CellsModel, Heading, TableView, show_value

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


VALUE, RECORDS, LADDER, INDEPENDENT, CERTAIN_SHARE = range(5)
ROWS_SHOWN: Final = 9
ROOM_FOR_ARROW: Final = "\u2003"
"""Keeps the sign of sorting clear of a heading that stands at the right."""


class GroupsModel(CellsModel):
    """A line for each value that occurs; the most endangered first."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__((), parent)
        self._values: tuple[str, ...] = ()
        self._numbers = np.zeros((0, 5))
        self._order: npt.NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._sorted = LADDER, True
        self.lay_out(0, self._headings())

    def _headings(self) -> list[Heading]:
        certain = percent(CERTAIN, 0)
        share = self.tr(
            "Share of its records that independent noise restores with at least {certain}"
        ).format(certain=certain)
        titles = (
            (self.tr("True value"), self.tr("The record's true value")),
            (self.tr("Records"), self.tr("How many records have it")),
            (
                self.tr("On the ladder"),
                self.tr("Average probability given to it by the coalition, as released"),
            ),
            (
                self.tr("Independent noise"),
                self.tr("The same if every release had noise of its own"),
            ),
            (self.tr("Of these ≥ {certain}").format(certain=certain), share),
        )
        return [
            Heading(title + ROOM_FOR_ARROW * (at != VALUE), tip, right=at != VALUE)
            for at, (title, tip) in enumerate(titles)
        ]

    def show_risk(
        self, values: Sequence[object], counts: npt.NDArray[np.int64], risk: CoalitionRisk | None
    ) -> None:
        """Show what a coalition restores of each value's records; None shows nothing."""
        if risk is None:
            self._values, self._numbers = (), np.zeros((0, 5))
        else:
            occurs = np.flatnonzero(counts)
            self._values = tuple(
                MISSING_TEXT if values[at] is None else show_value(values[at])
                for at in occurs.tolist()
            )
            columns = (
                np.argsort(np.argsort(np.array(self._values), kind="stable")),
                counts[occurs],
                risk.on_ladder.by_value[occurs],
                risk.independent.by_value[occurs],
                risk.independent.certain_by_value[occurs],
            )
            self._numbers = np.stack([np.asarray(c, dtype=np.float64) for c in columns], axis=1)
        self.arrange(*self._sorted)
        self.lay_out(len(self._values))

    def cell(self, row: int, column: int) -> Cell:
        """Return what a cell shows."""
        at = int(self._order[row])
        number = float(self._numbers[at, column])
        text = grouped(round(number)) if column == RECORDS else percent(number, 1)
        text = self._values[at] if column == VALUE else text
        return Cell(text, text)

    def arrange(self, column: int, descending: bool) -> None:
        """Put the values in the order of a column."""
        self._sorted = column, descending
        numbers = self._numbers[:, column]
        self._order = np.argsort(-numbers if descending else numbers, kind="stable")


class GroupsCard(Card):
    """Which records a coalition restores best, by their true value."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            QCoreApplication.translate("Audit", "Whose records are in most danger?"),
            QCoreApplication.translate(
                "Audit",
                "Average probability that the coalition gives to a record's true value. Click a"
                " heading to sort.",
            ),
            parent,
        )
        self.model = GroupsModel(self)
        self.table = TableView(self, row_numbers=False)
        self.table.setModel(self.model)
        self.table.setProperty("framed", False)
        self.table.setAccessibleName(self.heading.text())
        self.table.setSelectionBehavior(TableView.SelectionBehavior.SelectRows)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(VALUE, QHeaderView.ResizeMode.Stretch)
        header.setSortIndicator(LADDER, Qt.SortOrder.DescendingOrder)
        self.table.setSortingEnabled(True)
        self.table.setMinimumHeight(Space.FIELD * 5)
        self.body.addWidget(self.table, 1)

    def show_risk(
        self, values: Sequence[object], counts: npt.NDArray[np.int64], risk: CoalitionRisk | None
    ) -> None:
        """Show a coalition's risk; None shows nothing."""
        self.model.show_risk(values, counts, risk)
        lines = min(max(self.model.rowCount(), 3), ROWS_SHOWN)
        self.table.setMinimumHeight((Space.FIELD + 4) + Space.FIELD * lines + 2)


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
        self.beside = label("", "muted", wrap=True)
        self.ladder, self.bars = self.new_plot(), self.new_plot()
        self.distribution, self.growth = self.new_plot(), self.new_plot()
        self.agreement = label("", "muted", wrap=True)
        self.what_if = WhatIf(session, self)
        self.files = ReleasedFiles(session, self)
        self.groups = GroupsCard(self)
        self.ledger = Badge("verify", "muted", "", parent=self)
        self.ledger.hide()
        self.controls((self.tr("&Attribute"), self.entry), self.basis, None, self.ledger)
        self.tick_all = TickAll(self.model.tick_all, self)
        self.tick_all.show()
        card.body.addWidget(self.tick_all)
        self.add(self.open_note, self.beside, self.side_by_side(card, self.bars), self.agreement)
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

    def _withdrawn(self, coalition: Sequence[Holding]) -> str:
        """Return which releases to the coalition were withdrawn; empty where none was."""
        names = {holding.recipient for holding in coalition}
        releases = self.session.steps.releases()
        return typeset(still_counted(each for each in releases if each.recipient in names))

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
        self.say(coalition_sentence(entry.key, coalition))
        self.open_note.show_best(entry.key, coalition)
        beside = f"{adopted_beside(entry)} {self._withdrawn(coalition)}".strip()
        self.beside.setText(beside)
        self.beside.setVisible(bool(beside))
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
                partial(self._show_weighed, coalition, attribute),
                self._fail,
                key=self.job,
            )
        else:
            self.session.runner.cancel(self.job)
        if not countable:
            self._show_nothing()
        if coalition and not countable:
            self._show_numbers(entry, attributes, coalition)
        self.state_changed.emit()

    def _show_numbers(
        self, entry: PolicyEntry, attributes: Mapping[str, Attribute], coalition: Sequence[Holding]
    ) -> None:
        """Show how far the error of an estimate falls: numbers have no values to guess right."""
        asked = numbers_coalition(entry, coalition, attributes)
        if asked is None:
            return
        try:
            errors = linear_errors(asked)
            self.say(numbers_sentence(asked))
        except SfumatoError as error:
            self._fail(error)
            return
        self._weighed = True
        self.bars.show_plot(partial(build_error_by_copies, asked, errors))

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

    def _show_weighed(
        self, coalition: Sequence[Holding], attribute: Attribute, weighed: Weighed | None
    ) -> None:
        if tuple(coalition) != self.model.coalition:
            return
        self._weighed = True
        if weighed is None or attribute.domain is None or attribute.counts is None:
            self._show_nothing()
        else:
            answer, growth = weighed
            self.say(coalition_sentence(answer.entry, coalition, answer))
            self.agreement.setText(" ".join(map(typeset, answer.agreement)))
            self.bars.show_plot(partial(build_collusion_bars, answer))
            self.distribution.show_plot(partial(build_risk_distribution, answer))
            self.growth.show_plot(partial(build_risk_growth, growth))
            self.groups.show_risk(attribute.domain.values, attribute.counts, answer.risk)
            policy = self.session.document.entry_for(attribute.name)
            if policy is not None:
                on_ladder = answer.risk.on_ladder
                self.files.show_coalition(policy, attribute, coalition, on_ladder)
        self._show_details(weighed is not None)
        self.state_changed.emit()

    def _show_nothing(self) -> None:
        for plot in (self.bars, self.distribution, self.growth):
            plot.clear()
        self._show_details(False)

    def _show_details(self, shown: bool) -> None:
        """Show what is known record by record, or take it away."""
        for part in (self.agreement, self.distribution, self.growth, self.groups):
            part.setVisible(shown)
        if not shown:
            self.files.dismiss()

    def _fail(self, error: SfumatoError) -> None:
        self._show_nothing()
        self.tell(Message.of_error(error, topic="coalition"))


Weighed = tuple[CoalitionAnswer, GrowthData]


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
    return answer, GrowthData(answer.entry, points, names)


PAGE = CoalitionPage
