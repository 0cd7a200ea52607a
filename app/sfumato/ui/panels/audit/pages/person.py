"""Find a person: the custodian plays somebody who knows a few things of a neighbour."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

import pandas as pd
from PySide6.QtCore import QT_TRANSLATE_NOOP, QSignalBlocker, QSize, Qt
from PySide6.QtWidgets import QCompleter, QLineEdit, QListWidget, QListWidgetItem, QWidget

from sfumato.analysis.all_rows import AllRows
from sfumato.analysis.answers import Answer, Severity
from sfumato.analysis.coalitions.holdings import ReleaseBasis
from sfumato.analysis.disclosure.find_person import find_person, other_tables
from sfumato.analysis.disclosure.person_found import (
    Knowledge,
    NumberBelief,
    PersonFound,
    Reason,
    answer_of,
    reasons_of,
)
from sfumato.analysis.disclosure.person_rows import KnownFact, fact_of
from sfumato.analysis.questions.question import Topic
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import plain
from sfumato.engine.generalization.others import HolderClasses
from sfumato.engine.table.table import Table
from sfumato.formats.language import grouped
from sfumato.jobs import Ending, Job
from sfumato.project.adoption.adopt import rung_holders
from sfumato.project.document.model import Document
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release.groups import public_names, usual_knowledge
from sfumato.project.release.regenerate import released_last
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import filled_in, number, typeset, value_name
from sfumato.ui.panels.audit.holders import basis_choice
from sfumato.ui.panels.audit.pages.answer import AnswerView
from sfumato.ui.panels.audit.pages.base import AuditPage
from sfumato.ui.widgets.fields import ChoiceField, NumberField, TickAll, when_given
from sfumato.ui.widgets.layout import (
    Badge,
    Card,
    ElidedButton,
    boxed,
    button,
    clear_layout,
    column,
    form,
    label,
    row,
    say,
)
from sfumato.ui.widgets.messages import error_texts
from sfumato.ui.widgets.responsive import FlowLayout

TABLES_JOB: Final = "audit person tables"
USUAL_FIELDS: Final = 8
"""Columns that are offered at first; the others follow on request."""
MOST_SUGGESTED: Final = 500
MOST_CLASSES: Final = 400
THOUSAND: Final = 1_000
_VERDICTS: Final = {
    Severity.GRAVE: ("danger", "danger"),
    Severity.CAUTION: ("caution", "caution"),
    Severity.GOOD: ("good", "good"),
}


@dataclass(frozen=True)
class _PersonLook:
    """What was found, and what would help."""

    found: PersonFound
    answer: Answer
    reasons: tuple[Reason, ...]


class PersonPage(AuditPage):
    """Asks what is known of somebody, and says which rows remain and what is then believed."""

    title: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Find a person"))
    topic: ClassVar[Topic] = Topic.FOUND
    order: ClassVar[int] = 10
    job: ClassVar[str] = "audit person"
    nothing: ClassVar[tuple[str, str, str]] = (
        "search",
        str(QT_TRANSLATE_NOOP("Audit", "Nobody holds anything yet")),
        str(
            QT_TRANSLATE_NOOP(
                "Audit",
                "Once recipients have levels of trust, play somebody who has their files and knows"
                " a few things of a neighbour, and see what can be found out.",
            )
        ),
    )
    listens: ClassVar[tuple[str, ...]] = (*AuditPage.listens, "ledger_changed")

    def build(self) -> None:
        """Put what is known beside whose files are held, and what is found below."""
        self.fields: dict[str, QLineEdit] = {}
        self._tables: tuple[HolderClasses, ...] = ()
        self._offered: tuple[object, ...] = ()
        self._asked: tuple[object, ...] = ()
        self._all_columns = False
        self.known = Card(
            self.tr("What is known of the person"),
            self.tr("A value (several parted by |), a number such as 40 ± 2 or 38 to 42, a year."),
            self,
        )
        self._form = form()
        self.known.body.addLayout(self._form)
        self.more = button(self.tr("More columns"), self._show_all, "quiet")
        self.known.body.addLayout(row(self.more, None))
        self._build_held()
        beside = self.side_by_side(self.known, self.held)
        self.known.body.addStretch(1)
        self.held.body.addStretch(1)
        self.sheet.column.insertWidget(0, beside)
        # The answer stays in sight, however much is asked.
        self._above.insertLayout(0, row(self.icon, self.sentence, wide=1))
        self.reasons = column(spacing=Space.INSIDE)
        self.beliefs = AnswerView(self.session.chooser, self.translated_title(), self)
        self.beliefs.failed.connect(self.told)
        self.numbers = label("", wrap=True)
        self.rows = Card(
            self.tr("The rows that fit"),
            self.tr("For your eyes only: the likeliest first, as the table has them."),
            self,
        )
        self.fitting = AnswerView(self.session.chooser, self.tr("The rows that fit"), self)
        self.rows.put(self.fitting)
        self.add(self.reasons, self.beliefs, self.numbers, self.rows)
        self.basis.chosen.connect(self.refresh)
        self.holders.itemChanged.connect(self._ask)
        self.belief.chosen.connect(self._ask)
        self.share.value_changed.connect(self._ask)
        self._clear()

    def _build_held(self) -> None:
        """Make the card of what the attacker has: files, a belief, other holders' tables."""
        self.held = Card(self.tr("What the attacker has"), parent=self)
        self.basis = basis_choice(self)
        self.holders = QListWidget(self)
        self.holders.setAccessibleName(self.tr("Whose files the attacker has"))
        self.tick_all = TickAll(self._tick_all, self)
        self.belief = ChoiceField(parent=self, name=self.tr("Believed beforehand"))
        self.belief.setMinimumContentsLength(16)
        self.share = NumberField(
            0.0, 100.0, decimals=1, unit="%", step=5.0, show_range=False, parent=self
        )
        self.share.set_value(50.0)
        self.share.spin.setAccessibleName(self.tr("How likely it is held to be"))
        self.classes: dict[str, ChoiceField] = {}
        self._classes_form = form()
        beliefs = boxed(FlowLayout(self.belief, self.share))
        believed = form((self.tr("Believed beforehand"), beliefs))
        for part in (self.basis, self.holders, self.tick_all):
            self.held.body.addWidget(part)
        self.held.put(believed, self._classes_form)

    # ----- what can be chosen

    def refresh(self, _changed: object = None) -> None:
        """Offer columns, holders and other tables, and look again, now that somebody does."""
        document, table = self.session.document, self.session.at_hand
        ready = table is not None and bool(document.policy) and bool(self._names(document))
        self.show_work(ready)
        if not ready or table is None or not self.isVisible():
            self.session.runner.cancel(self.job)
            return
        released = [record for record in self.session.steps.releases() if record.counts]
        self.basis.setVisible(bool(released))
        offered = (document, table, self._all_columns)
        if offered != self._offered:
            self._offered = offered
            self._offer_columns(document, table)
            self._offer_holders(document)
            self._offer_beliefs(document)
            self._offer_tables(document)
        self._ask()

    def _names(self, document: Document) -> tuple[str, ...]:
        adopted = (h.name for entry in document.policy for h in rung_holders(entry))
        return tuple(dict.fromkeys([*(each.name for each in document.recipients), *adopted]))

    def _offer_columns(self, document: Document, table: Table) -> None:
        before = {name: field.text() for name, field in self.fields.items()}
        known = dict.fromkeys([*usual_knowledge(document), *public_names(document)])
        names = tuple(name for name in known if name in table.columns)
        stated = [name for name in names if before.get(name)]
        chosen = names if self._all_columns else (*names[:USUAL_FIELDS], *stated)
        self.more.setVisible(len(set(chosen)) < len(names))
        if list(self.fields) == list(dict.fromkeys(chosen)):
            return
        while self._form.rowCount():
            self._form.removeRow(0)
        self.fields = {}
        for name in dict.fromkeys(chosen):
            field = QLineEdit(before.get(name, ""), self)
            field.setPlaceholderText(self.tr("not known"))
            field.setAccessibleName(filled_in(self.tr("What is known of {column}"), column=name))
            field.setMinimumWidth(scaled(140))
            values = table.column(name).drop_duplicates().dropna()
            if len(values) <= MOST_SUGGESTED and not pd.api.types.is_numeric_dtype(values.dtype):
                texts = sorted(str(plain(value)) for value in values)
                completer = QCompleter(texts, field)
                completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
                field.setCompleter(completer)
            when_given(field, self._ask)
            self.fields[name] = field
            self._form.addRow(name, field)

    def _show_all(self) -> None:
        self._all_columns = True
        self.refresh()

    def _offer_holders(self, document: Document) -> None:
        before = {
            self.holders.item(at).text(): self.holders.item(at).checkState()
            for at in range(self.holders.count())
        }
        self.holders.blockSignals(True)
        self.holders.clear()
        for place, name in enumerate(self._names(document)):
            item = QListWidgetItem(name, self.holders)
            item.setSizeHint(QSize(0, Space.FIELD))
            item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable)
            usual = Qt.CheckState.Unchecked if place else Qt.CheckState.Checked
            item.setCheckState(before.get(name, usual))
        self.holders.blockSignals(False)
        lines = min(max(self.holders.count(), 2), 5)
        self.holders.setFixedHeight(lines * Space.FIELD + 2)
        self.tick_all.offer(self.holders.count())

    def _tick_all(self, ticked: bool) -> None:
        with QSignalBlocker(self.holders):
            for at in range(self.holders.count()):
                state = Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked
                self.holders.item(at).setCheckState(state)
        self._ask()

    def _offer_beliefs(self, document: Document) -> None:
        choices: list[tuple[Hashable, str]] = [("", self.tr("as in the table"))]
        for name in (each for entry in document.policy for each in entry.attributes):
            column_ = self.session.attribute(name)
            domain = None if column_ is None else column_.attribute.domain
            if domain is not None:
                choices += [
                    ((name, place), f"{name}: {value_name(value)}")
                    for place, value in enumerate(domain.names[:MOST_SUGGESTED])
                ]
        self.belief.set_choices(choices)

    def _offer_tables(self, document: Document) -> None:
        decided = document.generalization
        known = None if decided is None else self.session.attribute(decided.sensitive)
        if decided is None or not decided.others or known is None:
            self._show_tables(())
            return
        self.session.runner.run(
            self.tr("Reading other holders' tables"),
            partial(other_tables, document, known.attribute),
            self._show_tables,
            lambda _error: self._show_tables(()),  # Other holders says what is wrong with them
            key=TABLES_JOB,
        )

    def _show_tables(self, tables: tuple[HolderClasses, ...]) -> None:
        self._tables = tables
        while self._classes_form.rowCount():
            self._classes_form.removeRow(0)
        self.classes = {}
        for each in tables:
            shown = min(each.classes, MOST_CLASSES)
            field = ChoiceField(
                [(-1, self.tr("not used")), *((at, each.describe(at)) for at in range(shown))], self
            )
            field.setMinimumContentsLength(16)
            field.setAccessibleName(
                self.tr("The person's class in the table of {holder}").format(holder=each.holder)
            )
            field.chosen.connect(self._ask)
            self.classes[each.holder] = field
            self._classes_form.addRow(each.holder, field)

    # ----- looking

    def _knowledge(self, document: Document, table: Table) -> Knowledge:
        """Return what the fields say.

        Raises
        ------
        SfumatoError
            If a field can't be read.
        """
        facts: list[KnownFact] = []
        for name, field in self.fields.items():
            if field.text().strip():
                facts.append(fact_of(document.column(name), table.column(name), field.text()))
        items = [self.holders.item(at) for at in range(self.holders.count())]
        holders = [item.text() for item in items if item.checkState() == Qt.CheckState.Checked]
        believed = {}
        if isinstance(self.belief.value, tuple):
            name, place = self.belief.value
            believed = {str(name): {int(place): self.share.value / 100.0}}
        classes = {
            holder: int(str(field.value))
            for holder, field in self.classes.items()
            if field.value != -1
        }
        return Knowledge(tuple(facts), tuple(holders), believed, classes)

    def _ask(self, _changed: object = None) -> None:
        """Look for the person with what is known now."""
        session, document, table = self.session, self.session.document, self.session.at_hand
        if table is None or not self.isVisible() or not self._offered:
            return
        self.share.setEnabled(isinstance(self.belief.value, tuple))
        try:
            knowledge = self._knowledge(document, table)
        except SfumatoError as error:
            self._refuse(error)
            return
        releases = session.steps.releases()
        released = self.basis.isVisible() and self.basis.value == "released"
        asked = (document, table, knowledge, releases, released)
        if asked == self._asked:
            return
        self._asked = asked
        policy = released_last(document, releases) if released else document
        rows = session.all_rows(policy)
        assert rows is not None  # of the table at hand
        if not (rows.fits or knowledge.facts):
            session.runner.cancel(self.job)
            self._clear()
            self.say(self.tr("Say what is known of the person: all rows are then looked through."))
            return
        basis = ReleaseBasis.RELEASED if released else ReleaseBasis.PLANNED
        job = session.runner.run(
            self.tr("Looking for a person"),
            partial(_look, rows, knowledge, releases, basis),
            partial(self._show, asked),
            self._refuse,
            key=self.job,
        )
        job.finished.connect(partial(self._ended, job, asked))

    def _ended(self, job: Job, asked: tuple[object, ...]) -> None:
        """Let the same be asked again, where the person stopped it."""
        if job.ending is Ending.CANCELLED and asked is self._asked:
            self._asked = ()
            self._clear()
            self.say(self.tr("The search for the person was stopped."))

    def _refuse(self, error: SfumatoError) -> None:
        self.session.runner.cancel(self.job)
        self._asked = ()
        self._clear()
        self.say(*error_texts(error), "danger")

    def give_up(self) -> None:
        """Forget what was asked, too: the same may be asked again."""
        super().give_up()
        self._asked = ()

    def _clear(self) -> None:
        clear_layout(self.reasons)
        self.beliefs.show_answer(Answer(()))
        say(self.numbers, "")
        self.rows.hide()

    def _show(self, asked: tuple[object, ...], looked: _PersonLook) -> None:
        if asked is not self._asked:
            return
        self._clear()
        found = looked.found
        icon = ("info", "muted") if found.spotted is None else _VERDICTS[found.spotted]
        told, *meaning = map(typeset, looked.answer.sentences)
        self.say(told, " ".join(meaning), *icon)
        for reason in looked.reasons:
            self.reasons.addWidget(self._reason(reason))
        answer = looked.answer
        self.beliefs.show_answer(replace(answer, tables=()))
        known = (one for one in found.beliefs if isinstance(one, NumberBelief))
        ends = (self._between(one) for one in known if one.holder and not one.reason)
        say(self.numbers, "\n".join(ends))
        self.fitting.show_answer(replace(answer, figures=()))
        self.rows.setVisible(bool(answer.tables))

    def _reason(self, reason: Reason) -> QWidget:
        box = QWidget(self)
        badge = Badge(*_VERDICTS[reason.verdict], typeset(reason.sentence), look="", wrap=True)
        go = partial(self.session.place_requested.emit, reason.panel, reason.name, reason.recipient)
        words = self.tr("Go to {name}").format(name=reason.name)
        box.setLayout(row(badge, ElidedButton(words, go), wide=0))
        return box

    def _between(self, belief: NumberBelief) -> str:
        """Return between which numbers it is believed to lie; for the custodian's eyes."""
        mean, low, high = (_rounded(each) for each in belief.after)
        middle, lowest, highest = (_rounded(each) for each in belief.before)
        ends = self.tr(
            "With 90 % it lies between {low} and {high}, about {mean}; without the files,"
            " between {lowest} and {highest}, about {middle}."
        ).format(low=low, high=high, mean=mean, lowest=lowest, highest=highest, middle=middle)
        return f"{belief.attribute}: {ends}"


def _rounded(value: float) -> str:
    """Return a number as a person reads it: thousands apart, small ones with their digits."""
    return grouped(round(value)) if abs(value) >= THOUSAND else number(value)


def _look(
    rows: AllRows,
    knowledge: Knowledge,
    releases: Sequence[ReleaseRecord],
    basis: ReleaseBasis,
    context: Context,
) -> _PersonLook:
    found = find_person(rows, knowledge, releases, basis, context)
    document = rows.document
    return _PersonLook(found, answer_of(document, found), reasons_of(document, found))


PAGE = PersonPage
