"""The editor of any matrix: recipients by a trust factor, the matrix in a grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms.base import Statement
from sfumato.ui.look.wording import term_of
from sfumato.ui.panels.policy.mechanisms.base import LevelEditor
from sfumato.ui.panels.policy.mechanisms.cards import Preset
from sfumato.ui.panels.policy.mechanisms.matrix.settings import MatrixSettings
from sfumato.ui.panels.policy.mechanisms.settings import SettingsEditor
from sfumato.ui.panels.policy.wording import tr

DECIMALS = 3
"""A rung that is dragged stops at thousandths of the trust factor."""


class MatrixEditor(LevelEditor):
    """States how often a recipient sees what the matrix shows."""

    mechanism: ClassVar[str] = "matrix"

    @classmethod
    def presets(cls) -> tuple[Preset, ...]:
        """Return three levels in plain words, most trusted first."""
        return (
            Preset(tr("The matrix itself"), {"trust_factor": 1.0}),
            Preset(tr("Half of it"), {"trust_factor": 0.5}),
            Preset(tr("A quarter of it"), {"trust_factor": 0.25}),
        )

    @classmethod
    def settings_editor(cls) -> type[SettingsEditor] | None:
        """Return the grid of chances."""
        return MatrixSettings

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


EDITOR = MatrixEditor
