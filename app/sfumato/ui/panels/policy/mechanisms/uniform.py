"""The editor of uniform retention: levels by p, by ε, by γ or by (ρ1, ρ2)."""

from __future__ import annotations

from typing import ClassVar

from sfumato.ui.panels.policy.mechanisms.base import LevelEditor


class UniformEditor(LevelEditor):
    """States the level of a uniform ladder."""

    mechanism: ClassVar[str] = "uniform"


EDITOR = UniformEditor
