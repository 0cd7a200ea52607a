"""What a generalized table and other holders' tables tell together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, Signal
from PySide6.QtWidgets import QWidget

from sfumato.analysis.answers import Answer
from sfumato.analysis.other_holders.class_beliefs import (
    ClassAnswer,
    class_answer,
    known_correlation,
)
from sfumato.analysis.other_holders.composition import Beside, answer_of, beside_others
from sfumato.analysis.questions.question import Topic
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.generalization.beliefs import ImaginaryTables
from sfumato.engine.generalization.others import HolderClasses
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import filled_in, typeset
from sfumato.ui.panels.audit.pages.answer import AnswerView
from sfumato.ui.panels.audit.pages.base import AuditPage
from sfumato.ui.panels.base import PanelState
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, NumberField
from sfumato.ui.widgets.layout import Card, boxed, button, column, fill, form, label, row
from sfumato.ui.widgets.messages import error_texts
from sfumato.ui.widgets.responsive import FlowLayout

JOB: Final = "audit other holders"
USUAL_L: Final = 2


CORRELATION_JOB: Final = "audit other holders correlation"
MOST_OFFERED: Final = 400
"""Classes of a table that can be chosen here; a combination from the list brings any other."""


def tr(template: str, **details: object) -> str:
    """Return a sentence about other holders' tables in the person's language, filled in."""
    return filled_in(QCoreApplication.translate("OtherHolders", template), **details)


class PersonCard(QWidget):
    """The belief about somebody whose class in each table is known.

    Parameters
    ----------
    session
        What is open.
    """

    told = Signal(object)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        title = label(tr("What the tables tell about one person"), "heading", wrap=True)
        asked = tr("Choose the class that the person is in, in each table.")
        self.body = column(title, label(asked, "muted", wrap=True), margins=(0, Space.INSIDE, 0, 0))
        self.setLayout(self.body)
        self._session = session
        self._found: Beside | None = None
        self._told: ClassAnswer | None = None
        self.classes: list[ChoiceField] = []
        self._form = form()
        self._form.setVerticalSpacing(Space.TIGHT)
        self.body.addLayout(self._form)
        self.said = label("", "muted", wrap=True)
        self.shown = AnswerView(session.chooser, title.text(), self)
        self.shown.failed.connect(self.told)
        fill(self.body, self.said, self.shown)
        shared = tr("Where it is known how many people they share")
        self.body.addWidget(label(shared, "caption", wrap=True))
        self.share = NumberField(0.1, 100.0, decimals=1, unit="%", step=5.0, show_range=True)
        self.share.set_value(50.0)
        self.share.spin.setAccessibleName(tr("Share of people in all the other classes"))
        self.of = ChoiceField(parent=self, name=tr("Table whose class the share is of"))
        self.of.setMinimumContentsLength(12)
        self.count = button(tr("Count the ways"), self._count)
        whose = boxed(row(label(tr("of the class of"), "muted"), self.of))
        self.body.addLayout(FlowLayout(self.share, whose, self.count))
        self.ways_text = label(
            tr("Every way in which these people can have the values is then equally likely."),
            "muted",
            wrap=True,
        )
        self.body.addWidget(self.ways_text)

    # ----- what is shown

    def show_tables(self, found: Beside) -> None:
        """Offer the classes of other tables."""
        self._found = found
        while self._form.rowCount():
            self._form.removeRow(0)
        self.classes = []
        for holder in found.holders:
            field = ChoiceField(_offered(holder), self)
            field.setAccessibleName(tr("Class in the table of {holder}", holder=holder.holder))
            field.setMinimumContentsLength(20)
            field.setSizeAdjustPolicy(
                ChoiceField.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
            )
            field.chosen.connect(self._show)
            self.classes.append(field)
            self._form.addRow(holder.holder, field)
        self.of.set_choices([(n, holder.holder) for n, holder in enumerate(found.holders)])
        if found.holders:
            self.choose(found.some_possible())
        else:
            self._show()

    def choose(self, classes: Sequence[int]) -> None:
        """Look at the person of a combination."""
        if self._found is None:
            return
        for holder, field, number in zip(self._found.holders, self.classes, classes, strict=True):
            if number >= MOST_OFFERED:
                field.set_choices([*_offered(holder), (number, holder.describe(number))])
            field.set_value(number)
        self._show()

    @property
    def chosen(self) -> tuple[int, ...]:
        """The class of each table."""
        return tuple(int(str(field.value)) for field in self.classes)

    def _show(self, _value: object = None) -> None:
        self._session.runner.cancel(CORRELATION_JOB)
        self._told = None
        if self._found is not None and self._found.holders:
            self._told = class_answer(self._found, self.chosen)
        self._tell(None)

    def _tell(self, known: ImaginaryTables | None) -> None:
        """Say what is believed, also where it is known how many people the classes share."""
        answer = Answer(()) if self._told is None else self._told.answer(known)
        self.said.setText(" ".join(map(typeset, answer.sentences)))
        self.shown.show_answer(answer)
        self.ways_text.setText(
            tr("Every way in which these people can have the values is then equally likely.")
        )

    # ----- a known correlation

    def _count(self) -> None:
        if self._found is None or not self._found.holders:
            return
        within = self._found.within(self.chosen)
        if within is None:
            return  # which stands above
        of = int(str(self.of.value))
        self._session.runner.run(
            tr("Counting the ways"),
            partial(
                known_correlation,
                *within,
                self.share.value / 100,
                of,
            ),
            self._tell,
            self._refuse,
            key=CORRELATION_JOB,
        )

    def _refuse(self, error: SfumatoError) -> None:
        self.ways_text.setText(" ".join(error_texts(error)))


def _offered(holder: HolderClasses) -> list[tuple[int, str]]:
    shown = min(holder.classes, MOST_OFFERED)
    return [(number, holder.describe(number)) for number in range(shown)]


class DiversityPage(AuditPage):
    """Which combinations of classes narrow a value too far, and whose table is the cause."""

    title: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Other holders"))
    topic: ClassVar[Topic] = Topic.GROUPS
    order: ClassVar[int] = 60
    nothing: ClassVar[tuple[str, str, str]] = (
        "people",
        str(QT_TRANSLATE_NOOP("Audit", "No other holder's table yet")),
        str(
            QT_TRANSLATE_NOOP(
                "Audit",
                "Where others published tables about the same people, this page shows what all of"
                " them tell together. Add them under Policy, Generalized table.",
            )
        ),
    )
    listens: ClassVar[tuple[str, ...]] = ("document_changed", "table_changed")

    def build(self) -> None:
        """Put the tables, the combinations and one person's belief below one another."""
        self.found: Beside | None = None
        self._failed = False
        self._asked: tuple[object, ...] = ()
        self._stated_l: float | None = None
        self.sheet.column.setContentsMargins(0, 0, Space.INSIDE, 0)
        self.ours = ChoiceField(parent=self, name=tr("Our table"), least=230, chosen=self.ask)
        self.l = NumberField(1, 1000, decimals=0, step=1.0, show_range=True)
        self.l.set_value(USUAL_L)
        self.l.spin.setAccessibleName(tr("Values that should remain"))
        self.l.value_changed.connect(self._state_l)
        self.controls(
            (tr("Our table"), self.ours), (tr("Values that should remain, l"), self.l), None
        )
        holders = Card(tr("What each table contributes"), parent=self)
        chooser = self.session.chooser
        self.holders = AnswerView(chooser, tr("Tables"), self)
        holders.put(self.holders)
        broken = Card(
            tr("Combinations of classes that leave too few values"),
            tr(
                "Nobody can tell in general which classes belong together, so every combination"
                " counts, even one that belongs to nobody."
            ),
            self,
        )
        self.breaches = AnswerView(chooser, tr("Combinations"), self, picks=True)
        self.breaches.picked.connect(self._choose)
        broken.put(label(tr("Choose one to see what it tells."), "muted"), self.breaches)
        self.broken = broken
        self.person = PersonCard(self.session, self)
        self.person.told.connect(self.told)
        self.cards = boxed(column(holders, broken, self.person, spacing=Space.BETWEEN), self)
        self.add(self.cards)

    # ----- the question

    def state(self) -> PanelState:
        """Return whether the tables have been compared, and keep l."""
        if not self._has_others():
            return PanelState.EMPTY
        if self._failed or (self.found is not None and not self.found.standing.holds):
            return PanelState.ATTENTION
        return PanelState.DONE if self.found is not None else PanelState.IN_PROGRESS

    def has_material(self) -> bool:
        """Return whether other holders' tables were named."""
        return self._has_others()

    def _has_others(self) -> bool:
        decided = self.session.document.generalization
        return self.session.source is not None and decided is not None and bool(decided.others)

    def refresh(self, _changed: object = None) -> None:
        """Offer what can be compared, and compare it, now that somebody looks."""
        decided = self.session.document.generalization
        if not self._has_others() or decided is None:
            self.session.runner.cancel(JOB)
            self.found, self._asked = None, ()
            self.show_work(False)
            self.state_changed.emit()
            return
        self.show_work(True)
        names = decided.quasi_identifiers
        pinned = [
            (node, ", ".join(f"{n} {at}" for n, at in zip(names, node, strict=True)))
            for node in decided.pinned
            if len(node) == len(names)
        ]
        self.ours.set_choices(
            [
                (True, tr("as it would be published")),
                *((node, tr("pinned: {levels}", levels=words)) for node, words in pinned),
                (False, tr("left out: only the others'")),
            ]
        )
        if self._stated_l is None:
            stated = [c.numbers["l"] for c in decided.criteria if c.kind == "distinct-diversity"]
            self.l.set_value(stated[0] if stated else USUAL_L)
        self.ask()

    def _state_l(self, value: float) -> None:
        self._stated_l = value
        self.ask()

    def ask(self, _choice: object = None) -> None:
        """Start comparing; a hidden page waits."""
        document, table = self.session.document, self.session.source
        if not self.isVisible() or not self._has_others() or table is None:
            return
        ours, needed = self.ours.value, int(self.l.value)
        asked = (id(table), document.generalization, document.columns, ours, needed)
        if asked == self._asked:
            return
        self._asked, self.found, self._failed = asked, None, False
        self.say(tr("Comparing the tables…"), "", "clock", "muted")
        self.cards.hide()
        wanted = ours if isinstance(ours, bool | tuple) else True
        self.session.runner.run(
            tr("Comparing published tables"),
            lambda context: beside_others(
                document, table, wanted, needed, tr("this table"), context
            ),
            partial(self._show, asked),
            partial(self._fail, asked),
            key=JOB,
        )
        self.state_changed.emit()

    # ----- the answer

    def _show(self, asked: tuple[object, ...], found: Beside) -> None:
        if asked != self._asked:
            return
        self.found = found
        token = "good" if found.standing.holds else "danger"
        answer = answer_of(found, self.session.document)
        first, *others = map(typeset, answer.sentences)
        self.say(first, " ".join(others), token)
        self.l.set_range(1, max(len(found.values), self.l.value))
        self.person.show_tables(found)
        self.holders.show_answer(replace(answer, tables=answer.tables[:1]))
        self.broken.setVisible(bool(found.breaches))
        self.breaches.show_answer(replace(answer, tables=answer.tables[1:]))
        # Those that leave fewest values come first: nobody is in classes that leave none.
        somebody = (at for at, breach in enumerate(found.breaches) if breach.remaining)
        place = next(somebody, None)
        for table in self.breaches.tables:
            if place is not None:
                table.selectRow(place)
            else:
                table.clearSelection()
                self.person.choose(found.some_possible())
        self.cards.show()
        self.state_changed.emit()

    def _fail(self, asked: tuple[object, ...], error: SfumatoError) -> None:
        if asked == self._asked:
            self._failed = True
            self.refuse(error)
            self.cards.hide()
            self.state_changed.emit()

    def _choose(self, line: int) -> None:
        if self.found is not None:
            self.person.choose(self.found.breaches[line].classes)


PAGE = DiversityPage
