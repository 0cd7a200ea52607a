"""The editor of uniform retention: levels by p, by ε, by γ or by (ρ1, ρ2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms.base import Statement
from sfumato.ui.look.wording import term_of
from sfumato.ui.panels.policy.mechanisms.base import LevelEditor
from sfumato.ui.panels.policy.mechanisms.cards import Preset
from sfumato.ui.panels.policy.wording import tr

DECIMALS = 3
"""A rung that is dragged stops at thousandths of the retention probability."""


class UniformEditor(LevelEditor):
    """States the level of a uniform ladder.

    The presets bound how far a belief of 10 % can rise, so they mean the same for two values
    and for two thousand.
    """

    mechanism: ClassVar[str] = "uniform"

    @classmethod
    def presets(cls) -> tuple[Preset, ...]:
        """Return three levels in plain words, most trusted first."""
        return (
            Preset(tr("Trusted partner"), {"rho1": 0.1, "rho2": 0.75}),
            Preset(tr("Contract recipient"), {"rho1": 0.1, "rho2": 0.5}),
            Preset(tr("Public"), {"rho1": 0.1, "rho2": 0.25}),
        )

    def slider_reach(self) -> Mapping[str, tuple[float, float]]:
        """Return the part of ε and γ that differs in practice."""
        return {"epsilon": (0.001, 8.0), "gamma": (1.001, 1000.0)}

    def statement_at(self, trust: float, like: Statement) -> Statement | None:
        """Return the statement for a place on the ladder, in the term that `like` uses."""
        level = round(trust, DECIMALS) if trust >= 10.0**-DECIMALS else trust
        term = term_of(self._engine, like)
        try:
            restated = self._engine.restate(level, self._attributes, self._settings)
        except SfumatoError:
            return None
        wanted = term.name if term is not None else ""
        return restated.get(wanted) or restated[self._engine.terms[0].name]


EDITOR = UniformEditor
