"""The editor of noise on numbers: levels by σ², by the error left, or by a width in units."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar, Final

import numpy as np

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms.base import Settings, Statement
from sfumato.engine.mechanisms.gaussian.mechanism import MECHANISM
from sfumato.engine.mechanisms.gaussian.promise import Uncertainty
from sfumato.formats.language import grouped
from sfumato.plots.axes import amount, percent
from sfumato.ui.look.wording import typeset
from sfumato.ui.panels.policy.mechanisms.base import Attributes, LevelEditor, Preset, Reach
from sfumato.ui.panels.policy.mechanisms.gaussian.settings import GaussianSettingsEditor
from sfumato.ui.panels.policy.wording import NORMAL_95, tr

DIGITS: Final = 3
"""A rung that is dragged stops at so many significant digits of σ²."""
MOST_NAMED: Final = 3


class GaussianEditor(LevelEditor):
    """States the level of noise on numbers.

    The presets leave a share of the numbers' own variance open, so they mean the same for
    ages and for incomes.
    """

    mechanism: ClassVar[str] = "gaussian"
    settings_editor = GaussianSettingsEditor
    reach: ClassVar[Reach] = {"sigma_squared": (0.01, 100.0), "normalized_error": (0.01, 0.99)}
    # Twice as much noise is as far from one as half as much.
    logarithmic: ClassVar[frozenset[str]] = frozenset({"sigma_squared"})

    @classmethod
    def presets(cls) -> tuple[Preset, ...]:
        """Return three levels in plain words, most trusted first."""
        return (
            Preset(tr("Trusted partner"), {"normalized_error": 0.2}),
            Preset(tr("Contract recipient"), {"normalized_error": 0.5}),
            Preset(tr("Public"), {"normalized_error": 0.8}),
        )

    def reach_now(self) -> Reach:
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
        self.terms.cards["half_width"].show_sentence(words)

    def level_at(self, trust: float) -> float:
        """Return the σ² at which a rung stops that is dragged to a place on the ladder."""
        share = min(max(trust, 1e-5), 1.0 - 1e-5)
        return _rounded(1.0 / share - 1.0)

    def statement_at(self, trust: float, like: Statement) -> Statement | None:
        """Return the statement for a place on the ladder, in the term that `like` uses."""
        statement = super().statement_at(trust, like)
        if statement is None:
            return None
        return {name: _rounded(value) for name, value in statement.items()}

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
            "From {rows} {rows:record|records}, the mean can be estimated to within {means}"
            " (95\u202f%).",
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


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


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
