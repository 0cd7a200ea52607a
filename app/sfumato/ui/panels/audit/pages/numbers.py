"""What a coalition learns of numbers: by how many pool, and how close single guesses come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP

from sfumato.analysis.pooled_numbers import (
    SAMPLES,
    LearnedGrowth,
    NumbersCoalition,
    guesses_off,
    numbers_coalition,
    weigh_numbers,
)
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Floats
from sfumato.engine.disclosure.gaussian_attack import Dependence
from sfumato.engine.mechanisms.postprocessing import BayesExperiment, FormLeaks
from sfumato.engine.table.table import Attribute
from sfumato.plots.pooled_numbers import (
    BayesData,
    ErrorsData,
    LearnedData,
    build_bayes_by_copies,
    build_error_by_copies,
    build_error_histogram,
    build_learned_by_copies,
)
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.look.theme import scaled
from sfumato.ui.look.wording import spoken, typeset
from sfumato.ui.panels.audit.holders import (
    HoldersPage,
    bayes_sentence,
    coalition_sentence,
    forms_text,
    numbers_sentence,
)
from sfumato.ui.panels.audit.pages.base import field_line
from sfumato.ui.panels.base import PanelState
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.layout import label
from sfumato.ui.widgets.messages import Message

JOB: Final = "audit numbers"


@dataclass(frozen=True)
class WeighedNumbers:
    """What a coalition learns, as it is drawn.

    Parameters
    ----------
    expected
        The error by the number of copies, see `linear_errors`.
    errors
        For each knowledge, by its samples per squared attribute (0 for perfect knowledge), and
        each attribute's place, how far off single guesses are.
    learned
        What they leave open by the number of copies, by the same.
    bayes
        For each attribute, what is open to somebody who knows how the numbers are distributed.
    forms
        What rounding and bounds give away; None where there are none.
    in_table
        How closely the most trusted member alone tells 90 of 100 of the table's numbers.
    """

    expected: Mapping[Dependence, Floats]
    errors: Mapping[tuple[int, int], ErrorsData]
    learned: Mapping[tuple[int, int], LearnedData]
    bayes: tuple[BayesData, ...]
    forms: FormLeaks | None
    in_table: str


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
        self.agreement = label("", "muted", wrap=True)
        self.forms_heading = label(self.tr("What rounding and bounds give away"), "heading")
        self.forms = label("", wrap=True)
        self.controls((self.tr("&Attribute"), self.entry), self.basis, None)
        guesses = field_line(
            (self.tr("&Guesses of"), self.attribute),
            (self.tr("by somebody who &knows"), self.knowledge),
            None,
        )
        self.add(self.open_note, self.side_by_side(card, self.copies), guesses)
        self.add(
            self.errors, self.learned, self.bayes, self.agreement, self.forms_heading, self.forms
        )
        self._tell_forms(None)
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
            self.say(coalition_sentence("", ()))
            return
        entry, attributes = entries[str(self.entry.value)]
        asked = numbers_coalition(entry, coalition, attributes)
        if asked is None:
            self._forget()
            return
        try:
            self.say(numbers_sentence(asked))
        except SfumatoError as error:
            self._fail(error)
            return
        if not self.isVisible() or (asked == self._shown and self._weighed is not None):
            return
        self._shown, self._weighed = asked, None
        self.session.runner.run(
            self.tr("Weighing a coalition"),
            partial(_weigh, asked, _known(len(attributes))),
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
        self.agreement.setText("")
        self._tell_forms(None)
        self.state_changed.emit()

    def _show(self, asked: NumbersCoalition, weighed: WeighedNumbers) -> None:
        if asked is not self._shown:
            return
        self._weighed = weighed
        self.copies.show_plot(partial(build_error_by_copies, asked, weighed.expected))
        self._draw_guesses()
        self._tell_forms(weighed.forms)
        self.state_changed.emit()

    def _tell_forms(self, leaks: FormLeaks | None) -> None:
        """Say what rounding and bounds give away, where there are any."""
        self.forms.setText(forms_text(leaks))
        for part in (self.forms_heading, self.forms):
            part.setVisible(leaks is not None)

    def _draw_guesses(self, _chosen: object = None) -> None:
        """Show how close guesses come: linear ones, and those of who knows the distribution."""
        samples, place = self.knowledge.value, self.attribute.value
        if self._weighed is None or not isinstance(samples, int) or not isinstance(place, int):
            return
        data = self._weighed.errors.get((samples, place))
        if data is not None:
            self.errors.show_plot(partial(build_error_histogram, data))
            growth = self._weighed.learned[samples, place]
            self.learned.show_plot(partial(build_learned_by_copies, growth))
        if place < len(self._weighed.bayes):
            bayes = self._weighed.bayes[place]
            self.bayes.show_plot(partial(build_bayes_by_copies, bayes))
            formed = self._weighed.forms is not None
            told = bayes_sentence(bayes, formed=formed)
            self.agreement.setText(f"{told} {typeset(self._weighed.in_table)}".strip())

    def _fail(self, error: SfumatoError) -> None:
        self._forget()
        self.tell(Message.of_error(error, topic="numbers"))


def _known(size: int) -> Mapping[int, str]:
    """Return what can be known of the distribution of so many attributes, in words."""
    return {
        samples: spoken(LearnedGrowth(samples * size**2, {}).knowledge) for samples in (0, *SAMPLES)
    }


def _weigh(
    coalition: NumbersCoalition, words: Mapping[int, str], context: Context
) -> WeighedNumbers:
    """Weigh a coalition; `words` say what attackers know: all, and what `SAMPLES` tell."""
    pooled = weigh_numbers(coalition, Part(context, 0.0, 0.8))
    errors: dict[tuple[int, int], ErrorsData] = {}
    learned: dict[tuple[int, int], LearnedData] = {}
    for samples, growth in pooled.learned.items():
        context.report(0.9, "Guessing every record")
        off, knows = guesses_off(pooled.experiment, samples), words[samples]
        for place, attribute in enumerate(coalition.attributes):
            errors[samples, place] = ErrorsData(
                attribute.name,
                len(coalition.members),
                knows,
                float(pooled.experiment.true[place].std()),
                off[Dependence.LADDER][place],
                off[Dependence.INDEPENDENT][place],
            )
            learned[samples, place] = LearnedData(
                attribute.name,
                coalition.names,
                knows,
                growth.errors[Dependence.LADDER][:, place],
                growth.errors[Dependence.INDEPENDENT][:, place],
            )
    bayes = _bayes(coalition, pooled.bayes)
    return WeighedNumbers(pooled.expected, errors, learned, bayes, pooled.forms, pooled.in_table)


def _bayes(coalition: NumbersCoalition, found: BayesExperiment) -> tuple[BayesData, ...]:
    ladder, apart = (found.growth[how] for how in (Dependence.LADDER, Dependence.INDEPENDENT))
    return tuple(
        BayesData(
            attribute.name,
            coalition.names,
            ladder.errors[:, place],
            apart.errors[:, place],
            found.linear[:, place],
            ladder.apart,
            found.records,
        )
        for place, attribute in enumerate(coalition.attributes)
    )


PAGE = NumbersPage
