"""The button that proposes a whole plan: one job, one step of undo, and what it comes to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QWidget

from sfumato.analysis.planning.plan import SafePlan
from sfumato.analysis.planning.safe_plan import propose_plan
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import spoken, typeset
from sfumato.ui.panels.policy.board.words import GaugeText, gauge_texts
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import WrappedCheckBox
from sfumato.ui.widgets.layout import ScrollPage, boxed, button, label, row
from sfumato.ui.widgets.messages import Action, Message, MessageKind
from sfumato.ui.widgets.painted import IconLabel, put_icon
from sfumato.ui.widgets.responsive import FlowLayout

PLAN_JOB: Final = "policy-whole-plan"
TOPIC: Final = "whole plan"
MOST_ROWS: Final = 200_000
"""The board of a table with so many rows is filled by itself: that takes seconds."""


class PlanDialog(Dialog):
    """Says what a plan decided, with what speaks for it, and what each recipient would get.

    Parameters
    ----------
    plan
        The plan, which is in effect already.
    undo
        Takes it back.
    randomise
        Plans again, with these columns randomised that would be left out.
    """

    def __init__(
        self,
        plan: SafePlan,
        undo: Callable[[], object],
        randomise: Callable[[tuple[str, ...]], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(tr("A plan for all releases"), spoken(plan.summary), parent)
        page = ScrollPage(self)
        page.column.setContentsMargins(0, 0, Space.INSIDE, 0)
        self.body.addWidget(page, 1)
        self._undo, self._randomise = undo, randomise
        self._boxes = {
            WrappedCheckBox(name.replace("&", "&&"), self): name
            for step in plan.steps
            for name in step.left_out
        }
        left = [one.sentence for each in plan.after for one in each.standing]
        if left:
            page.put(label(tr("What is left"), "heading"))
        for sentence in dict.fromkeys(left):
            page.put(label(f"• {typeset(spoken(sentence))}", wrap=True))
        page.put(label(tr("Before and after"), "heading"), boxed(_figures(plan)))
        if self._boxes:
            self._offer(page)
        page.put(label(tr("What each recipient gets"), "heading"))
        for told in plan.outcomes:
            page.put(label(typeset(spoken(told)), wrap=True))
        page.put(label(tr("What is decided"), "heading"))
        for step in plan.steps:
            page.put(label(f"• {typeset(spoken(step.told))}", wrap=True))
            if step.why:
                page.put(label(typeset(spoken(step.why)), "muted", wrap=True))
        page.column.addStretch(1)
        self.add_button(tr("Undo the plan"), self._take_back)
        self.add_primary(tr("Close"))
        self.resize(scaled(680), scaled(520))

    def _offer(self, page: ScrollPage) -> None:
        """Offer to let columns leave randomised that nobody would see anything of."""
        again = button(tr("Randomise columns"), self._plan_again)
        again.setEnabled(False)
        for box in self._boxes:
            box.toggled.connect(lambda _on: again.setEnabled(bool(self._ticked)))
        words = tr(
            "A column that nobody else can know about a person, such as how they feel, need not be"
            " left out: it can leave randomised, like any sensitive column. Tick those columns."
        )
        page.put(label(tr("Left out, or randomised?"), "heading"), label(words, wrap=True))
        page.put(boxed(FlowLayout(*self._boxes)), boxed(FlowLayout(again)))

    @property
    def _ticked(self) -> tuple[str, ...]:
        return tuple(name for box, name in self._boxes.items() if box.isChecked())

    def _plan_again(self) -> None:
        self.accept()
        self._randomise(self._ticked)

    def _take_back(self) -> None:
        self._undo()
        self.reject()


def _figures(plan: SafePlan) -> QGridLayout:
    """Return the gauges of each recipient, as they were and as they are with the plan."""
    grid = QGridLayout()
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(Space.BETWEEN)
    grid.setVerticalSpacing(Space.TIGHT)
    times = (
        (tr("before"), plan.gauges_before, plan.before),
        (tr("after"), plan.gauges_after, plan.after),
    )
    for place, name in enumerate(each.recipient for each in plan.gauges_after):
        grid.addWidget(label(name, "strong", wrap=True), 2 * place, 0, 2, 1)
        for line, (time, gauges, checked) in enumerate(times, 2 * place):
            grid.addWidget(label(time, "muted"), line, 1)
            known = next((each for each in gauges if each.recipient == name), None)
            found = next((each for each in checked if each.recipient == name), None)
            texts = gauge_texts(known, found) if known is not None else ()
            for column, gauge in enumerate(texts, 2):
                grid.addLayout(_figure(f"{name}, {time}", gauge), line, column)
            if known is None:
                grid.addWidget(label(tr("nothing is decided yet"), "muted"), line, 2, 1, 3)
    for column in range(2, 5):
        grid.setColumnStretch(column, 1)
    return grid


def _figure(whose: str, gauge: GaugeText) -> QHBoxLayout:
    """Return a gauge with its sign, name and value."""
    words = label(f"{gauge.name} {gauge.value}", wrap=True)
    words.setAccessibleName(f"{whose}: {gauge.name} {gauge.value}")
    words.setToolTip(gauge.why)
    known = gauge.look != "muted"
    sign = IconLabel(gauge.look, gauge.look, 14) if known else None
    return row(*((sign,) if sign is not None else ()), (words, 1), spacing=Space.TIGHT)


class PlanProposer(QObject):
    """Proposes what makes the releases to all recipients safe, and puts it into effect.

    Parameters
    ----------
    session
        What is open.
    """

    told = Signal(Message)
    """What the plan comes to, or why there is none."""

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        tip = tr("Propose what is missing for safe releases to all recipients; can be undone")
        self.button = button(tr("Make this safe"), self.propose, "primary", tip=tip)
        put_icon(self.button, "shield", "on_accent")

    def refresh(self, perturbing: bool) -> None:
        """Offer it while there is a table, of which releases to recipients are planned."""
        self.button.setVisible(perturbing and self._session.source is not None)

    def propose(self) -> None:
        """Search for the plan in a job."""
        self.randomise(())

    def randomise(self, columns: tuple[str, ...]) -> None:
        """Search for the plan by which columns leave randomised that nobody else can know."""
        words = tr("Randomise columns") if columns else tr("Make this safe")
        take = self._session.unless_changed(words, partial(self._take, words))
        self._search(words, take, self._refuse, columns)

    def fill(self) -> None:
        """Put a plan on the empty board of a table that was just opened; nothing is asked."""
        session, words = self._session, tr("Fill the board")
        document, opened, session.unplanned = session.document, session.unplanned, None
        if opened is None or session.surveyed is not opened:
            return
        if opened.table.held_rows(MOST_ROWS) is None:
            return
        if document.policy or document.recipients:
            return

        def take(plan: SafePlan) -> None:
            if session.document is document:  # else the person began, and the button is at hand
                self._take(words, plan)

        self._search(words, take, lambda _refused: None)

    def _search(
        self,
        words: str,
        take: Callable[[SafePlan], None],
        refuse: Callable[[SfumatoError], None],
        sensitive: tuple[str, ...] = (),
    ) -> None:
        session = self._session
        source, document, keys = session.source, session.document, session.keys
        if source is None:
            return
        releases = session.steps.releases()

        def work(context: Context) -> SafePlan:
            return propose_plan(document, source, keys, releases, context, sensitive)

        session.runner.run(words, work, take, refuse, key=PLAN_JOB)

    def _take(self, words: str, plan: SafePlan) -> None:
        if not plan.steps:
            text = tr("Nothing is missing: the plan is the one you have.")
            self.told.emit(Message(MessageKind.INFO, text, spoken(plan.summary), topic=TOPIC))
            return
        session = self._session
        session.edit(words, plan.document)
        done = plan.is_safe and bool(plan.document.sensitive)
        kind = MessageKind.GOOD if done else MessageKind.CAUTION
        about = Action(tr("See what changes…"), partial(self.show_plan, plan))
        undo = Action(tr("Undo"), session.undo, undoes=True)
        count = len(plan.steps)
        changed = tr("{count} {count:setting was|settings were} changed.", count=count)
        self.told.emit(
            Message(kind, spoken(plan.summary), changed, (about, undo), TOPIC, stays=True)
        )

    def show_plan(self, plan: SafePlan) -> PlanDialog:
        """Show what a plan decided, and what each recipient would get."""
        return PlanDialog(plan, self._session.undo, self.randomise, self.button.window()).present()

    def _refuse(self, error: SfumatoError) -> None:
        self.told.emit(Message.of_error(error, topic=TOPIC))
