"""The editor of noise on numbers: levels, where the noise comes from, rounding and bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np
from PySide6.QtCore import QT_TRANSLATE_NOOP, Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QWidget

from sfumato.analysis.coalitions.pooled_numbers import form_leak_sentences
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.gaussian_attack import Dependence, expected_errors
from sfumato.engine.mechanisms.base import Settings, Statement
from sfumato.engine.mechanisms.gaussian.mechanism import MECHANISM
from sfumato.engine.mechanisms.gaussian.promise import Uncertainty, measured_sentence
from sfumato.engine.mechanisms.gaussian.settings import (
    FORM_SETTINGS,
    FORMS,
    MEASURED,
    MEASURED_EPSILON,
    NOISE,
    SPREADS,
    CovarianceSource,
    NoiseDependence,
    usual_epsilon,
)
from sfumato.engine.mechanisms.postprocessing import FormLeaks
from sfumato.engine.table.covariance import estimate_moments
from sfumato.plots.axes import amount, percent
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import plus_minus, spoken, typeset
from sfumato.ui.panels.policy.mechanisms import effects
from sfumato.ui.panels.policy.mechanisms.base import (
    Attributes,
    LevelEditor,
    OfUnit,
    Reach,
    SettingsEditor,
)
from sfumato.ui.panels.policy.mechanisms.controls import FieldGrid, SourceChoice, segments, states
from sfumato.ui.panels.policy.wording import NORMAL_95, mean_known, some_rows, tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import NumberField
from sfumato.ui.widgets.layout import (
    Card,
    ElidedLabel,
    Hairline,
    boxed,
    button,
    clear_layout,
    column,
    label,
    row,
)
from sfumato.ui.widgets.messages import error_texts, error_words

DIGITS: Final = 3
"""A rung that is dragged stops at so many significant digits of σ²."""
MOST_NAMED: Final = 3


JOB: Final = "measure rounding"
MEASURING: Final = "measure noise"
FIELD: Final = 120


_NOT_STATED = 1e-9
"""Stands in a field that nothing was entered in, which is shown empty."""


FORM_FIELD: Final = 88
Forms = Mapping[str, Mapping[str, float]]
"""For each of `FORM_SETTINGS`, the attributes it applies to and the number."""


def forms_in(settings: Settings) -> dict[str, dict[str, float]]:
    """Return the rounding and the bounds of settings, without empty parts."""
    return {part: dict(settings[part]) for part in FORM_SETTINGS if settings.get(part)}


def with_forms(settings: Settings, forms: Forms) -> dict[str, object]:
    """Return settings with other rounding and bounds."""
    kept = {name: value for name, value in settings.items() if name not in FORM_SETTINGS}
    return {**kept, **{part: dict(forms[part]) for part in FORM_SETTINGS if forms.get(part)}}


@dataclass(frozen=True)
class _Cell:
    use: QCheckBox
    field: NumberField


class FormGrid(QWidget):
    """Shows what released numbers may look like, and tells what the person wants instead."""

    changed = Signal(object)
    """The rounding and the bounds that the person wants: `Forms`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._spreads: dict[str, float] = {}
        self._forms: dict[str, dict[str, float]] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(Space.BETWEEN)
        self._grid.setVerticalSpacing(Space.INSIDE)
        self.cells: dict[tuple[str, str], _Cell] = {}

    def show_forms(self, spreads: Mapping[str, float], forms: Forms) -> None:
        """Show rounding and bounds of attributes with these spreads, without telling anyone."""
        if list(spreads) != list(self._spreads):
            self._rebuild(list(spreads))
        self._spreads = dict(spreads)
        self._forms = {part: dict(numbers) for part, numbers in forms.items()}
        for (name, part), cell in self.cells.items():
            number = forms.get(part, {}).get(name)
            cell.use.setChecked(number is not None)
            cell.field.setEnabled(number is not None)
            cell.field.set_value(proposed(part, spreads[name]) if number is None else number)

    def _rebuild(self, names: Sequence[str]) -> None:
        clear_layout(self._grid)
        self.cells = {}
        titles = {spec.name: spoken(spec.title) for spec in FORMS}
        for place, part in enumerate(FORM_SETTINGS):
            self._grid.setColumnStretch(place, 1)
            self._grid.addWidget(label(titles[part], "small", wrap=True), 0, place)
            for line, name in enumerate(names, start=1):
                cell = self._cell(name, part)
                for widget in (cell.use, cell.field.spin):
                    widget.setAccessibleName(f"{name}: {titles[part]}")
                box = boxed(row(cell.use, cell.field, None, spacing=Space.TIGHT))
                self._grid.addWidget(box, 2 * line, place)
        for line, name in enumerate(names, start=1):
            self._grid.addWidget(ElidedLabel(name, "strong"), 2 * line - 1, 0, 1, len(titles))

    def _cell(self, name: str, part: str) -> _Cell:
        least = 1e-6 if part == "rounding" else -1e15
        cell = _Cell(QCheckBox(), NumberField(least, 1e15, decimals=6, show_range=False))
        cell.field.spin.setFixedWidth(scaled(FORM_FIELD))
        cell.use.clicked.connect(lambda wanted: self._switch(name, part, wanted))
        cell.field.value_changed.connect(partial(self._set, name, part))
        self.cells[name, part] = cell
        return cell

    def _switch(self, name: str, part: str, wanted: bool) -> None:
        self._set(name, part, proposed(part, self._spreads[name]) if wanted else None)

    def _set(self, name: str, part: str, number: float | None) -> None:
        forms = {each: dict(numbers) for each, numbers in self._forms.items()}
        if number is None:
            forms.get(part, {}).pop(name, None)
        else:
            forms.setdefault(part, {})[name] = number
        kept = {each: numbers for each, numbers in forms.items() if numbers}
        self.show_forms(self._spreads, kept)
        self.changed.emit(kept)


def proposed(part: str, spread: float) -> float:
    """Return a number to begin with, from the published size of the noise and never from rows.

    Whether all numbers are whole, or none is negative, can hang on a single record.
    """
    scale = 10.0 ** math.floor(math.log10(spread)) if spread > 0 else 1.0
    if part == "rounding":
        return max(scale / 10.0, 1e-6)
    return 0.0 if part == "lowest" else min(10.0 * scale, 1e15)


class MeasureChoice(SourceChoice):
    """Shows where the covariance of the noise comes from, and tells what is wanted instead."""

    spreads_stated = Signal(object)
    """The spreads that the person states, by attribute."""

    def __init__(self, parent: QWidget | None = None) -> None:
        form = FieldGrid(elided=True)
        super().__init__(
            tr("Size of the noise"),
            MEASURED,
            MEASURED_EPSILON,
            stated=boxed(form),
            again=tr("Measure again"),
            parent=parent,
        )
        states(self.stated_with, SPREADS)
        self._form = form
        self.fields: dict[str, NumberField] = {}
        self.source.chosen.connect(self._choose)

    def show_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Show where an entry's covariance comes from."""
        names = tuple(attribute.name for attribute in attributes)
        if names != tuple(self.fields):
            self._rebuild(names)
        try:
            read = MECHANISM.read(attributes, settings)
        except SfumatoError:
            self.arrange(CovarianceSource.NOISY)
            return
        noisy = read.measured is not CovarianceSource.STATED
        known = noisy and math.isfinite(read.epsilon)
        numbers = attributes[0].numbers
        usual = usual_epsilon(0 if numbers is None else len(numbers), len(attributes))
        self.epsilon.set_value(read.epsilon if known else usual)
        for name, spread in zip(names, read.spreads.tolist(), strict=True):
            # What was measured is not offered as if it were known without the table.
            self.fields[name].set_value(_NOT_STATED if noisy else float(f"{spread:.6g}"))
        words = typeset(measured_sentence(names, read))
        unasked = tr("The table is not used, so the size of the noise discloses nothing about it.")
        self.say(
            f"{words or unasked} {some_rows(attributes[0])}".strip(),
            "danger" if read.measured is CovarianceSource.EXACT else "muted",
        )
        self.arrange(CovarianceSource.NOISY if noisy else CovarianceSource.STATED)

    def _rebuild(self, names: tuple[str, ...]) -> None:
        self._form.clear()
        self.fields = {}
        for name in names:
            field = NumberField(_NOT_STATED, 1e15, decimals=9, show_range=False, width=FIELD)
            field.spin.setSpecialValueText(" ")
            field.value_changed.connect(self._state)
            self._form.add_field(tr("Spread of {name}", name=name), field)
            self.fields[name] = field

    def _choose(self, source: object) -> None:
        self.arrange(CovarianceSource(str(source)))
        if source == CovarianceSource.NOISY:
            self.measured.emit(self.epsilon.value)
            return
        words = tr(
            "Enter spreads that are known without this table, for instance from published"
            " statistics: all of them count from the last one on. Each column's noise is then"
            " drawn independently."
        )
        self.say(words)

    def _state(self, _value: float) -> None:
        spreads = {name: field.value for name, field in self.fields.items()}
        if min(spreads.values()) > _NOT_STATED:
            self.spreads_stated.emit(spreads)


class GaussianSettingsEditor(SettingsEditor):
    """States the settings; rounding is measured before it is in force."""

    engine = MECHANISM

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.measured = MeasureChoice(self)
        self.noise = segments(
            NOISE, self, lambda noise: self.state({**self._in_force, NOISE.name: noise.value})
        )
        self.noise_words = label("", "muted", wrap=True)
        self.together = boxed(column(self.noise, self.noise_words, Hairline()))
        self.forms = FormGrid(self)
        states(self.forms, *FORMS)
        self.accept = button(tr("Use it"), self._accept)
        self.problem.offer(self.accept, self.take_back)
        why = tr(
            "Noise turns whole numbers into fractions and may make small ones negative. Rounding"
            " and bounds avoid this, but several rounded or bounded releases together reveal a"
            " little more than one."
        )
        card = Card(tr("Noise"), parent=self)
        card.put(
            self.measured,
            Hairline(),
            self.together,
            label(tr("Let released numbers be"), "caption"),
            self.forms,
            label(why, "muted", wrap=True),
            self.problem,
        )
        self.setLayout(column(card))
        self.measured.measured.connect(lambda epsilon: self._find({"measured_epsilon": epsilon}))
        self.measured.spreads_stated.connect(lambda spreads: self._find({"spreads": spreads}))
        self.forms.changed.connect(self._try_forms)

    # ----- what is shown

    def show_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Show an entry's settings; what is being weighed stays while they are the same."""
        before = self._names, self._in_force
        forms = self.come_to(attributes, settings)
        same = before == (self._names, settings)
        if not same:
            self.session.runner.cancel(JOB)
            self.problem.clear()
        self.together.setVisible(len(attributes) > 1)
        self.measured.show_settings(attributes, settings)
        self.noise.set_value(self._noise())
        self.noise_words.setText(self._consequence_of_noise())
        self._show_forms(forms_in(settings) if forms is None else forms)
        if forms is not None and not same:
            self._try_forms(forms)

    def show_in_force(self) -> None:
        """Show rounding and bounds in force in the place of what was weighed."""
        self.session.runner.cancel(JOB)
        self._show_forms(forms_in(self._in_force))

    def leave(self) -> None:
        """Stop measuring; what is weighed is weighed anew when its entry comes into sight again."""
        self.session.runner.cancel(JOB)
        self.session.runner.cancel(MEASURING)
        self._attributes = ()

    def _show_forms(self, forms: Forms) -> None:
        """Show rounding and bounds beside the spreads of the noise, 1 where it is not sound."""
        names = [attribute.name for attribute in self._attributes]
        try:
            spreads = MECHANISM.read(self._attributes, self._in_force).spreads.tolist()
        except SfumatoError:
            spreads = [1.0] * len(names)
        self.forms.show_forms(dict(zip(names, spreads, strict=True)), forms)

    def _noise(self) -> NoiseDependence:
        stated = self._in_force.get("noise", NoiseDependence.PROPORTIONAL.value)
        return (
            NoiseDependence(stated)
            if stated in list(NoiseDependence)
            else NoiseDependence.PROPORTIONAL
        )

    def _consequence_of_noise(self) -> str:
        """Return what the choice means, computed at as much noise as there is data."""
        if len(self._attributes) < 2:
            return ""
        try:
            left = {
                noise: Uncertainty(
                    MECHANISM.read(self._attributes, {**self._in_force, "noise": noise.value})
                ).normalized_error(1.0)
                for noise in NoiseDependence
            }
        except SfumatoError as error:
            return error_texts(error)[0]
        if self._noise() is NoiseDependence.PROPORTIONAL:
            return tr(
                "One attribute does not help to clear the noise from another. At σ² = 1 the best"
                " estimate leaves {own} of the variance open; with noise of its own for each, it"
                " would be {other}.",
                own=percent(left[NoiseDependence.PROPORTIONAL]),
                other=percent(left[NoiseDependence.SEPARATE]),
            )
        return tr(
            "Attributes that depend on each other help to clear the noise: at σ² = 1 the best"
            " estimate leaves only {own} of the variance open, instead of {other}.",
            own=percent(left[NoiseDependence.SEPARATE]),
            other=percent(left[NoiseDependence.PROPORTIONAL]),
        )

    # ----- what the person does

    def _find(self, wanted: Mapping[str, Any]) -> None:
        """Work out the size of the noise, by measuring or from what is stated, in a job."""
        kept = MECHANISM.without_measured(self._in_force)
        self.complete_later(
            tr("Measuring the size of the noise"),
            Sentence("Measuring the size of the noise"),
            {**kept, **wanted},
            refuse=lambda error: self.measured.say(error_words(error), "danger"),
            key=MEASURING,
        )

    def _try_forms(self, forms: Forms) -> None:
        """Weigh other rounding and bounds; without any there is nothing to weigh."""
        self.session.runner.cancel(JOB)
        if forms == forms_in(self._in_force):
            self._take_back()
            return
        self.hold(forms)
        settings = with_forms(self._in_force, forms)
        if not self.holds(settings):
            return
        if not any(forms.values()):
            self._accept()
            return
        self._weigh("clock", tr("Measuring what this gives away…"))
        title = tr("Measuring what rounding gives away")
        work = partial(MECHANISM.form_leaks, self._levels(), self._attributes, settings)
        self.session.runner.run(title, work, partial(self._show_leak, forms), self.refuse, key=JOB)

    def _levels(self) -> list[float]:
        """Return the levels of the rows that recipients get, or of those that would be proposed."""
        names = [attribute.name for attribute in self._attributes]
        key, document = " + ".join(names), self.session.document
        recipients, unit = document.recipients, document.unit
        rows = 1 if unit is None else unit.sharing(names)
        stated = [r.statements[key] for r in recipients if key in r.statements]
        levels = []
        for statement in stated or MECHANISM.default_statements(3):
            try:
                level = MECHANISM.level(statement, self._attributes, self._in_force)
                levels.append(
                    MECHANISM.shared(level, rows, self._attributes, self._in_force)
                    if rows > 1
                    else level
                )
            except SfumatoError:
                continue  # the policy says what is wrong with this recipient's level
        return levels or [1.0]

    def _weigh(self, icon: str, text: str) -> None:
        """Say what is known of the change; it is accepted only when its leak has been measured."""
        self.problem.say(icon, text, self.accept, self.take_back)
        self.accept.setEnabled(icon == "caution")

    def refuse(self, error: SfumatoError) -> None:
        """Say why rounding or bounds can't be in force."""
        self._weigh("danger", error_words(error))

    def _show_leak(self, forms: Forms, leaks: FormLeaks | None) -> None:
        """Say what was measured: by linear estimates, and by the strongest attack there is."""
        if forms == self.held and leaks is not None:
            told = "\n".join(typeset(sentence) for sentence in form_leak_sentences(leaks))
            self._weigh("caution", told)

    def _accept(self) -> None:
        if self.held is not None:
            settings = with_forms(self._in_force, self.held)
            self.session.runner.cancel(JOB)
            self.hold(None)
            self.problem.clear()
            self.state(settings)


class GaussianEditor(LevelEditor):
    """States the level of noise on numbers.

    The presets leave a share of the variance open that the noise is sized by, so they mean about
    the same for ages and for incomes.
    """

    _measured_of: Attributes | None = None
    _covariance: Floats | None = None

    mechanism: ClassVar[str] = "gaussian"
    plain_name = QT_TRANSLATE_NOOP("Policy", "Add noise")
    effect = effects.bell
    settings_editor = GaussianSettingsEditor
    reach: ClassVar[Reach] = {"sigma_squared": (0.01, 100.0), "normalized_error": (0.01, 0.99)}
    # Twice as much noise is as far from one as half as much.
    logarithmic: ClassVar[frozenset[str]] = frozenset({"sigma_squared"})

    def reach_now(self) -> Reach:
        """Return the widths that noise can lead to: less than without a release."""
        try:
            settings = MECHANISM.read(self._attributes, self._settings)
        except SfumatoError:
            return {}
        most = float(Uncertainty(settings).half_widths_without()[0])
        return {"half_width": (most / 100, most * 0.99)}

    def show_level(
        self,
        statement: Statement,
        attributes: Attributes,
        settings: Settings,
        of_unit: OfUnit | None = None,
    ) -> None:
        """Show a level; of several attributes, say whose unit the width is in."""
        super().show_level(statement, attributes, settings, of_unit)
        words = tr("Uncertainty if normal")
        if len(attributes) > 1:
            words = tr("Uncertainty of {name} if normal", name=attributes[0].name)
        self.terms.cards["half_width"].show_sentence(words)

    def level_at(self, trust: float) -> float:
        """Return the σ² at which a rung stops that is dragged to a place on the ladder."""
        share = min(max(trust, 1e-5), 1.0 - 1e-5)
        return self.rounded(1.0 / share - 1.0)

    def rounded(self, value: float) -> float:
        """Return a number with a few significant digits."""
        return float(f"{value:.{DIGITS}g}")

    def meaning_of(self, level: float) -> tuple[str, str]:
        """Return how unsure a guess stays, and how well means can be estimated."""
        level = self.of_each_row(level)
        noise = MECHANISM.noise_covariance(level, self._attributes, self._settings)
        added = np.sqrt(np.diagonal(noise))
        names = [attribute.name for attribute in self._attributes]
        typical = listed(
            tr("{name} by {units}", name=name, units=units(float(size)))
            for name, size in zip(names, added, strict=True)
        )
        moved = tr("Noise moves {typical}, typically.", typical=typical)
        recovered = self._recovered(noise)
        if recovered is not None:
            moved += " " + tr(
                "In this table, the best linear estimate recovers {share} of how people differ.",
                share=percent(recovered),
            )
        here = typeset(MECHANISM.in_table(level, self._attributes, self._settings))
        return f"{moved} {here}".strip(), self._usefulness(names, added)

    def _recovered(self, noise: Floats) -> float | None:
        """Return the share of the variance that an estimate recovers at best; None if unknown.

        The published covariance would not do: it can be far smaller than the table's own.
        """
        if any(attribute.numbers is None for attribute in self._attributes):
            return None
        if self._measured_of is not self._attributes:
            self._measured_of = self._attributes
            try:
                self._covariance = estimate_moments(self._attributes).covariance
            except SfumatoError:
                self._covariance = None
        if self._covariance is None:
            return None
        found = expected_errors((1.0,), Dependence.LADDER, self._covariance, noise)
        return 1.0 - float(found.normalized.min())

    def _usefulness(self, names: list[str], added: np.ndarray) -> str:
        if self._attributes[0].numbers is None:
            return ""
        rows = self._attributes[0].present
        errors = NORMAL_95 * added / math.sqrt(max(rows, 1))
        means = listed(
            f"{name} {plus_minus(units(float(error)))}"
            for name, error in zip(names, errors, strict=True)
        )
        return mean_known(self._attributes[0], means)

    def consequence_of(self, level: float) -> str:
        """Return how large the noise is, in each attribute's unit."""
        each = self.of_each_row(level)
        noise = MECHANISM.noise_covariance(each, self._attributes, self._settings)
        parts = listed(
            f"{attribute.name} {plus_minus(units(float(spread)))}"
            for attribute, spread in zip(self._attributes, np.sqrt(np.diagonal(noise)), strict=True)
        )
        return tr("Moves {parts}, typically.", parts=parts)


def units(value: float) -> str:
    """Return a number of units with two or three digits that count."""
    return amount(value, 3 if abs(value) >= 10 else 2)


def listed(parts: Iterable[str]) -> str:
    """Return phrases as a list in a sentence; after a few, the rest is cut short."""
    all_parts = list(parts)
    if len(all_parts) > MOST_NAMED:
        return tr("{some} and so on", some=", ".join(all_parts[:MOST_NAMED]))
    *others, last = all_parts
    return tr("{others} and {last}", others=", ".join(others), last=last) if others else last


EDITOR = GaussianEditor
