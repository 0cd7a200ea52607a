"""The editor of noise on numbers: levels by σ², by the error left, or by a width in units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Final

import numpy as np

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms.base import Settings, Statement
from sfumato.engine.mechanisms.gaussian.levels import Uncertainty
from sfumato.engine.mechanisms.gaussian.mechanism import MECHANISM
from sfumato.plots.figure import percent
from sfumato.ui.look.wording import grouped, term_of, typeset
from sfumato.ui.panels.policy.mechanisms.base import Attributes, LevelEditor
from sfumato.ui.panels.policy.mechanisms.cards import Preset
from sfumato.ui.panels.policy.mechanisms.gaussian.settings import GaussianSettingsEditor
from sfumato.ui.panels.policy.mechanisms.gaussian.wording import listed, units
from sfumato.ui.panels.policy.mechanisms.settings import SettingsEditor
from sfumato.ui.panels.policy.wording import NORMAL_95, tr

DIGITS: Final = 3
"""A rung that is dragged stops at so many significant digits of σ²."""


class GaussianEditor(LevelEditor):
    """States the level of noise on numbers.

    The presets leave a share of the numbers' own variance open, so they mean the same for
    ages and for incomes.
    """

    mechanism: ClassVar[str] = "gaussian"

    @classmethod
    def presets(cls) -> tuple[Preset, ...]:
        """Return three levels in plain words, most trusted first."""
        return (
            Preset(tr("Trusted partner"), {"normalized_error": 0.2}),
            Preset(tr("Contract recipient"), {"normalized_error": 0.5}),
            Preset(tr("Public"), {"normalized_error": 0.8}),
        )

    @classmethod
    def settings_editor(cls) -> type[SettingsEditor] | None:
        """Return how the noise hangs together, rounding, bounds and what is published."""
        return GaussianSettingsEditor

    def slider_reach(self) -> Mapping[str, tuple[float, float]]:
        """Return the part of each range that differs in practice."""
        return {"sigma_squared": (0.01, 100.0), "normalized_error": (0.01, 0.99)}

    def logarithmic_fields(self) -> frozenset[str]:
        """Return the field of σ²: twice as much noise is as far from half as much."""
        return frozenset({"sigma_squared"})

    def reach_now(self) -> Mapping[str, tuple[float, float]]:
        """Return the widths that noise can lead to: less than without a release."""
        try:
            settings = MECHANISM.read(self._attributes, self._settings)
        except SfumatoError:
            return {}
        most = float(Uncertainty(settings).half_widths_without()[0])
        return {"half_width": (most / 100, most * 0.99)}

    def show_level(self, statement: Statement, attributes: Attributes, settings: Settings) -> None:
        """Show a level; of several attributes, say whose unit the width is in."""
        super().show_level(statement, attributes, settings)
        words = tr("Uncertainty if normal")
        if len(attributes) > 1:
            words = tr("Uncertainty of {name} if normal", name=attributes[0].name)
        self._terms.tile("half_width").show_sentence(words)

    def statement_at(self, trust: float, like: Statement) -> Statement | None:
        """Return the statement for a place on the ladder, in the term that `like` uses."""
        share = min(max(trust, 1e-5), 1.0 - 1e-5)
        level = float(f"{1.0 / share - 1.0:.{DIGITS}g}")
        term = term_of(self._engine, like)
        if term is None or "sigma_squared" in like:
            return {"sigma_squared": level}
        try:
            restated = self._engine.restate(level, self._attributes, self._settings)
        except SfumatoError:
            return None
        stated = restated[term.name]
        return {name: float(f"{value:.{DIGITS}g}") for name, value in stated.items()}

    def meaning_of(self, level: float) -> tuple[str, str]:
        """Return how unsure a guess stays, and how well means can be estimated."""
        settings = MECHANISM.read(self._attributes, self._settings)
        noise = MECHANISM.noise_covariance(level, self._attributes, self._settings)
        added = np.sqrt(np.diagonal(noise))
        names = [attribute.name for attribute in self._attributes]
        typical = listed(
            tr("{name} by {units}", name=name, units=units(float(size)))
            for name, size in zip(names, added, strict=True)
        )
        recovered = 1.0 - Uncertainty(settings).normalized_error(level)
        moved = tr(
            "Noise moves {typical}, typically. The best linear estimate recovers {share} of how"
            " people differ.",
            typical=typical,
            share=percent(recovered),
        )
        here = typeset(MECHANISM.in_table(level, self._attributes, self._settings))
        return f"{moved} {here}".strip(), self._usefulness(names, added)

    def _usefulness(self, names: list[str], added: np.ndarray) -> str:
        numbers = self._attributes[0].numbers
        if numbers is None:
            return ""
        rows = int(np.isfinite(numbers).sum())
        errors = NORMAL_95 * added / math.sqrt(max(rows, 1))
        means = listed(
            tr("{name} ±{units}", name=name, units=units(float(error)))
            for name, error in zip(names, errors, strict=True)
        )
        return tr(
            "From {rows} records, the mean can be estimated to within {means} (95\u202f%).",
            rows=grouped(rows),
            means=means,
        )

    def consequence_of(self, level: float) -> str:
        """Return how large the noise is, in each attribute's unit."""
        noise = MECHANISM.noise_covariance(level, self._attributes, self._settings)
        parts = listed(
            f"{attribute.name} ±{units(float(spread))}"
            for attribute, spread in zip(self._attributes, np.sqrt(np.diagonal(noise)), strict=True)
        )
        return tr("Moves {parts}, typically.", parts=parts)


EDITOR = GaussianEditor
