"""The settings of noise on numbers: where its size comes from, and what numbers look like."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from PySide6.QtWidgets import QVBoxLayout, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.mechanisms.gaussian.levels import Uncertainty
from sfumato.engine.mechanisms.gaussian.mechanism import MECHANISM
from sfumato.engine.mechanisms.gaussian.settings import DECIDED, Noise
from sfumato.engine.mechanisms.postprocessing_leakage import FormLeaks
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attribute
from sfumato.plots.figure import percent
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.mechanisms.gaussian.forms import (
    FormGrid,
    Forms,
    any_form,
    explanation,
    forms_in,
    heading,
    with_forms,
)
from sfumato.ui.panels.policy.mechanisms.gaussian.leak import LeakCard
from sfumato.ui.panels.policy.mechanisms.gaussian.measured import MeasureChoice
from sfumato.ui.panels.policy.mechanisms.settings import SettingsEditor
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.shell.messages import error_texts
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import Segments
from sfumato.ui.widgets.layout import Card, Rule, label

JOB: Final = "measure rounding"
MEASURING: Final = "measure noise"


class GaussianSettingsEditor(SettingsEditor):
    """States the settings; rounding is measured before it is in force."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._attributes: tuple[Attribute, ...] = ()
        self._settings: Settings = {}
        self._draft: Forms | None = None
        self.noise = Segments(
            [
                (Noise.PROPORTIONAL, tr("Varies as they do")),
                (Noise.SEPARATE, tr("Each its own")),
            ],
            self,
        )
        self.noise.setAccessibleName(tr("How the noise of several attributes hangs together"))
        self.noise.chosen.connect(self._set_noise)
        self._noise_words = label("", "muted", wrap=True)
        self.forms = FormGrid(self)
        self.forms.changed.connect(self._try_forms)
        self.leak = LeakCard(self)
        self.leak.accepted.connect(self._accept)
        self.leak.discarded.connect(self._discard)
        self.measured = MeasureChoice(self)
        self.measured.measured.connect(self._measure)
        self.measured.spreads_stated.connect(self._state_spreads)
        self._lay_out()

    def _lay_out(self) -> None:
        card = Card(tr("Noise"), parent=self)
        self._together = QWidget(card)
        lines = QVBoxLayout(self._together)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(Space.INSIDE)
        lines.addWidget(self.noise)
        lines.addWidget(self._noise_words)
        lines.addWidget(Rule())
        for widget in (
            self.measured,
            Rule(),
            self._together,
            heading(),
            self.forms,
            label(explanation(), "muted", wrap=True),
            self.leak,
        ):
            card.body.addWidget(widget)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(card)

    # ----- what is shown

    def show_settings(self, attributes: Sequence[Attribute], settings: Settings) -> None:
        """Show an entry's settings; what is being weighed stays while they are the same."""
        names = [attribute.name for attribute in attributes]
        same = names == [attribute.name for attribute in self._attributes]
        if not same or settings != self._settings:
            self.session.runner.cancel(JOB)
            self._draft = None
            self.leak.clear()
        self._attributes, self._settings = tuple(attributes), settings
        self._together.setVisible(len(attributes) > 1)
        self.measured.show_settings(attributes, settings)
        self.noise.set_value(self._noise())
        self._noise_words.setText(self._consequence_of_noise())
        shown = forms_in(settings) if self._draft is None else self._draft
        self.forms.show_forms(attributes, shown, self._spreads())

    def _spreads(self) -> list[float]:
        """Return the spreads that the noise is made from; 1 where the settings are not sound."""
        try:
            spreads = MECHANISM.read(self._attributes, self._settings).spreads.tolist()
        except SfumatoError:
            return [1.0] * len(self._attributes)
        return [float(spread) for spread in spreads]

    def leave(self) -> None:
        """Stop measuring."""
        self.session.runner.cancel(JOB)

    def _noise(self) -> Noise:
        stated = self._settings.get("noise", Noise.PROPORTIONAL.value)
        return Noise(stated) if stated in list(Noise) else Noise.PROPORTIONAL

    def _consequence_of_noise(self) -> str:
        """Return what the choice means, computed at as much noise as there is data."""
        if len(self._attributes) < 2:
            return ""
        try:
            left = {
                noise: Uncertainty(
                    MECHANISM.read(self._attributes, {**self._settings, "noise": noise.value})
                ).normalized_error(1.0)
                for noise in Noise
            }
        except SfumatoError as error:
            return error_texts(error)[0]
        if self._noise() is Noise.PROPORTIONAL:
            return tr(
                "One attribute does not help to clear the noise from another. At σ² = 1 the best"
                " estimate leaves {own} of the variance open; with noise of its own for each, it"
                " would be {other}.",
                own=percent(left[Noise.PROPORTIONAL]),
                other=percent(left[Noise.SEPARATE]),
            )
        return tr(
            "Attributes that depend on each other help to clear the noise: at σ² = 1 the best"
            " estimate leaves only {own} of the variance open, instead of {other}.",
            own=percent(left[Noise.SEPARATE]),
            other=percent(left[Noise.PROPORTIONAL]),
        )

    # ----- what the person does

    def _set_noise(self, noise: object) -> None:
        self._state({**self._settings, "noise": Noise(str(noise)).value})

    def _measure(self, epsilon: float) -> None:
        """Measure the size of the noise in the table again."""
        self._complete({"measured_epsilon": epsilon})

    def _state_spreads(self, spreads: object) -> None:
        """Take the spreads that the person knows without the table."""
        self._complete({"spreads": spreads})

    def _complete(self, wanted: dict[str, Any]) -> None:
        kept = {name: value for name, value in self._settings.items() if name not in DECIDED}
        self.session.runner.run(
            tr("Measuring the size of the noise"),
            partial(_completed, self._attributes, {**kept, **wanted}, self.session.noise),
            self._state,
            lambda error: self.measured.say_problem(" ".join(error_texts(error))),
            key=MEASURING,
        )

    def _try_forms(self, forms: object) -> None:
        """Weigh other rounding and bounds; without any there is nothing to weigh."""
        wanted: Forms = forms if isinstance(forms, dict) else {}
        self.session.runner.cancel(JOB)
        if wanted == forms_in(self._settings):
            self._discard()
            return
        self._draft = wanted
        settings = with_forms(self._settings, wanted)
        try:
            MECHANISM.check_settings(self._attributes, settings)
        except SfumatoError as error:
            self.leak.show_problem(" ".join(error_texts(error)))
            return
        if not any_form(wanted):
            self._accept()
            return
        self.leak.show_measuring()
        self.session.runner.run(
            tr("Measuring what rounding gives away"),
            partial(MECHANISM.form_leaks, self._levels(), self._attributes, settings),
            partial(self._show_leak, wanted),
            lambda error: self.leak.show_problem(" ".join(error_texts(error))),
            key=JOB,
        )

    def _levels(self) -> list[float]:
        """Return the levels that recipients have, or those that would be proposed."""
        key = " + ".join(attribute.name for attribute in self._attributes)
        recipients = self.session.document.recipients
        stated = [r.statements[key] for r in recipients if key in r.statements]
        levels = []
        for statement in stated or MECHANISM.default_statements(3):
            try:
                levels.append(MECHANISM.level(statement, self._attributes, self._settings))
            except SfumatoError:
                continue  # the policy says what is wrong with this recipient's level
        return levels or [1.0]

    def _show_leak(self, forms: Forms, leaks: FormLeaks | None) -> None:
        if forms == self._draft and leaks is not None:
            self.leak.show_leaks(leaks)

    def _accept(self) -> None:
        if self._draft is not None:
            settings = with_forms(self._settings, self._draft)
            self._draft = None
            self.leak.clear()
            self._state(settings)

    def _discard(self) -> None:
        self.session.runner.cancel(JOB)
        self._draft = None
        self.leak.clear()
        self.forms.show_forms(self._attributes, forms_in(self._settings), self._spreads())

    def _state(self, settings: dict[str, Any]) -> None:
        self.settings_stated.emit(settings)
        self.finished.emit()


def _completed(
    attributes: Sequence[Attribute], stated: Settings, noise: KeyedNoise, context: Context
) -> dict[str, Any]:
    context.report(0.1, "Measuring the size of the noise")
    return dict(MECHANISM.complete_settings(attributes, stated, noise))
