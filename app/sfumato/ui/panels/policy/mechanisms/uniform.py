"""The editor of uniform retention: levels by p, by ε, by γ or by (ρ1, ρ2)."""

from __future__ import annotations

from typing import ClassVar

from sfumato.ui.panels.policy.mechanisms.base import LevelEditor, Preset
from sfumato.ui.panels.policy.wording import tr


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


EDITOR = UniformEditor
