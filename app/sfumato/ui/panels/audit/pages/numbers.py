"""What a coalition learns of numbers: by how many pool, and how close single guesses come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP

from sfumato.analysis.answers import Answer
from sfumato.analysis.coalitions.holdings import told_together
from sfumato.analysis.coalitions.pooled_numbers import (
    SAMPLES,
    LearnedGrowth,
    NumbersCoalition,
    PooledNumbers,
    answer_of,
    guesses_off,
    numbers_coalition,
    weigh_numbers,
)
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Floats
from sfumato.engine.disclosure.gaussian_attack import Dependence
from sfumato.engine.table.table import Attribute
from sfumato.plots.figure import builder
from sfumato.plots.pooled_numbers import (
    BayesData,
    ErrorsData,
    LearnedData,
    build_bayes_by_copies,
    build_error_histogram,
    build_learned_by_copies,
)
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.look.theme import scaled
from sfumato.ui.look.wording import spoken, typeset
from sfumato.ui.panels.audit.holders import (
    TICK,
    HoldersPage,
    tr,
)
from sfumato.ui.panels.audit.pages.answer import AnswerView
from sfumato.ui.panels.audit.pages.base import field_line
from sfumato.ui.panels.base import PanelState
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.layout import say
from sfumato.ui.widgets.messages import Message

JOB: Final = "audit numbers"
_BOTH: Final = (Dependence.LADDER, Dependence.INDEPENDENT)


@dataclass(frozen=True)
class WeighedNumbers:
    """What a coalition learns, and how it is told.

    Parameters
    ----------
    pooled
        What was found.
    answer
        The same in words.
    off
        How far off single guesses are, by what is known, see `guesses_off`.
    """

    pooled: PooledNumbers
    answer: Answer
    off: Mapping[int, Mapping[Dependence, Floats]]


class NumbersPage(HoldersPage):
    """Ticks recipients and shows how closely they can tell people's numbers together."""

    title: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Numbers"))
    order: ClassVar[int] = 2
    nothing: ClassVar[tuple[str, str, str]] = (
        "audit",
        str(QT_TRANSLATE_NOOP("Audit", "No numbers are protected by noise yet")),
        str(
            QT_TRANSLATE_NOOP(
                "Audit",
                "Once a sensitive column stays numbers and recipients have levels of trust, see"
                " here how closely any group of them can tell a person's numbers.",
            )
        ),
    )

    def build(self) -> None:
        """Put the coalition beside the growth of the error, and single guesses below."""
        self._shown: NumbersCoalition | None = None
        self._weighed: WeighedNumbers | None = None
        self.knowledge, self.attribute = (ChoiceField(parent=self) for _ in range(2))
        card = self.lay_out_holders()
        for field in (self.entry, self.knowledge, self.attribute):
            field.setMinimumWidth(scaled(160))
            field.setSizeAdjustPolicy(ChoiceField.SizeAdjustPolicy.AdjustToContents)
        self.copies, self.errors, self.learned, self.bayes = (self.new_plot() for _ in range(4))
        self.controls((self.tr("&Attribute"), self.entry), self.basis, None)
        guesses = field_line(
            (self.tr("&Guesses of"), self.attribute),
            (self.tr("by somebody who &knows"), self.knowledge),
            None,
        )
        self.add(self.open_note, self.side_by_side(card, self.copies), guesses)
        self.by_knowledge = AnswerView(self.session.chooser, self.translated_title(), self)
        self.add(self.errors, self.learned, self.bayes, self.rest, self.by_knowledge)
        self.knowledge.chosen.connect(self._draw_guesses)
        self.attribute.chosen.connect(self._draw_guesses)

    # ----- what there is

    def state(self) -> PanelState:
        """Return whether the present coalition was weighed."""
        if not self.entries():
            return PanelState.EMPTY
        return PanelState.DONE if self._weighed is not None else PanelState.IN_PROGRESS

    def has_material(self) -> bool:
        """Return whether noise protects any numbers."""
        return bool(self.entries())

    def is_weighed(self, attribute: Attribute) -> bool:
        """Return whether an attribute stays numbers."""
        return attribute.numbers is not None

    def offer(self, entry: PolicyEntry, attributes: Mapping[str, Attribute]) -> None:
        """Offer the entry's attributes, and what somebody who guesses may know of them."""
        self.attribute.set_choices(list(enumerate(entry.attributes)))
        size = len(attributes)
        self.knowledge.set_choices(list(_known(size).items()))

    # ----- what it comes to

    def weigh(self) -> None:
        """Say what the ticked recipients learn; the pictures follow from a job."""
        entries, coalition = self.entries(), self.model.coalition
        shown = coalition if entries and self.isVisible() else ()
        self.open_note.show_best(str(self.entry.value), shown)
        if not entries or not coalition:
            self._forget()
            self.say(tr(TICK))
            return
        entry, attributes = entries[str(self.entry.value)]
        asked = numbers_coalition(entry, coalition, attributes)
        if asked is None:
            self._forget()
            return
        self.say(typeset(told_together(entry.key, asked.members, asked.formed)))
        if not self.isVisible() or (asked == self._shown and self._weighed is not None):
            return
        self._shown, self._weighed = asked, None
        self.session.runner.run(
            self.tr("Weighing a coalition"),
            partial(_weigh, asked),
            partial(self._show, asked),
            self._fail,
            key=JOB,
        )
        self.state_changed.emit()

    def _forget(self) -> None:
        self.session.runner.cancel(JOB)
        self._shown = self._weighed = None
        for plot in (self.copies, self.errors, self.learned, self.bayes):
            plot.clear()
        self._tell(Answer(()))
        self.state_changed.emit()

    def _show(self, asked: NumbersCoalition, weighed: WeighedNumbers) -> None:
        if asked is not self._shown:
            return
        self._weighed = weighed
        self.copies.show_plot(builder(weighed.answer.figures[0]))
        self._draw_guesses()
        self._tell(weighed.answer)
        self.state_changed.emit()

    def _tell(self, answer: Answer) -> None:
        """Say what was found: the figures first, and below the plots what they rest on."""
        if answer.sentences:
            self.tell_learned((*answer.sentences, *answer.notes))
        else:
            say(self.rest, "")
        self.by_knowledge.show_answer(replace(answer, figures=()))

    def _draw_guesses(self, _chosen: object = None) -> None:
        """Show how close guesses come: linear ones, and those of who knows the distribution."""
        samples, place = self.knowledge.value, self.attribute.value
        if self._weighed is None or not isinstance(samples, int) or not isinstance(place, int):
            return
        pooled, off = self._weighed.pooled, self._weighed.off.get(samples, {})
        name, names = pooled.coalition.attributes[place].name, pooled.coalition.names
        knows, both = _known(len(pooled.coalition.attributes))[samples], _BOTH
        ladder, apart = (off[how][place] for how in both)
        spread = float(pooled.experiment.true[place].std())
        errors = ErrorsData(name, len(names), knows, spread, ladder, apart)
        self.errors.show_plot(partial(build_error_histogram, errors))
        ladder, apart = (pooled.learned[samples].errors[how][:, place] for how in both)
        learned = LearnedData(name, names, knows, ladder, apart)
        self.learned.show_plot(partial(build_learned_by_copies, learned))
        self.bayes.show_plot(partial(build_bayes_by_copies, bayes_data(pooled, place)))

    def _fail(self, error: SfumatoError) -> None:
        self._forget()
        self.tell(Message.of_error(error, topic="numbers"))


def _known(size: int) -> Mapping[int, str]:
    """Return what can be known of the distribution of so many attributes, in words."""
    return {
        samples: spoken(LearnedGrowth(samples * size**2, {}).knowledge) for samples in (0, *SAMPLES)
    }


def _weigh(coalition: NumbersCoalition, context: Context) -> WeighedNumbers:
    pooled = weigh_numbers(coalition, Part(context, 0.0, 0.8))
    context.report(0.9, "Guessing every record")
    off = {samples: guesses_off(pooled.experiment, samples) for samples in pooled.learned}
    return WeighedNumbers(pooled, answer_of(pooled), off)


def bayes_data(pooled: PooledNumbers, place: int) -> BayesData:
    """Return what is open to somebody who knows how an attribute is distributed, to be drawn."""
    found = pooled.bayes
    ladder, apart = (found.growth[how] for how in _BOTH)
    return BayesData(
        pooled.coalition.attributes[place].name,
        pooled.coalition.names,
        ladder.errors[:, place],
        apart.errors[:, place],
        found.linear[:, place],
        ladder.apart,
        found.records,
    )


PAGE = NumbersPage
