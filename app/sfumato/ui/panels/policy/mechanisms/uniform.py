"""The editor of uniform retention: levels by p, by ε, by γ or by (ρ1, ρ2)."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import QT_TRANSLATE_NOOP

from sfumato.ui.panels.policy.mechanisms import effects
from sfumato.ui.panels.policy.mechanisms.base import LevelEditor


class UniformEditor(LevelEditor):
    """States the level of a uniform ladder."""

    mechanism: ClassVar[str] = "uniform"
    plain_name = QT_TRANSLATE_NOOP("Policy", "Replace at random")
    effect = effects.any_value


EDITOR = UniformEditor
