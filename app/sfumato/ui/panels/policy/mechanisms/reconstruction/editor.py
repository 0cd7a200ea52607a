"""The editor of reconstruction privacy: what is asked of every group, and recipients below it."""

from __future__ import annotations

from typing import ClassVar

from sfumato.engine.mechanisms.reconstruction.mechanism import MECHANISM
from sfumato.ui.panels.policy.mechanisms.base import LevelEditor, Reach
from sfumato.ui.panels.policy.mechanisms.reconstruction.outcome import usefulness_of
from sfumato.ui.panels.policy.mechanisms.reconstruction.settings import ReconstructionSettings
from sfumato.ui.panels.policy.wording import suspicion, tr


class ReconstructionEditor(LevelEditor):
    """States a recipient's retention probability, at most that of the most trusted release."""

    mechanism: ClassVar[str] = "reconstruction"
    settings_editor = ReconstructionSettings

    def reach_now(self) -> Reach:
        """Let the slider end at the most trusted release."""
        return {"retention_probability": (0.0, self._top())}

    def level_at(self, trust: float) -> float:
        """Return the level for a place on the ladder; the top is as high as it goes."""
        return min(super().level_at(trust), self._top())

    def meaning_of(self, level: float) -> tuple[str, str]:
        """Return what a level means to a person in the table, and to the recipient."""
        matrix = MECHANISM.matrix(self._top(), self._attributes, self._settings)
        return (
            tr(
                "{suspicion} A row of a resampled group says nothing about its own person.",
                suspicion=suspicion(matrix),
            ),
            usefulness_of(level, self._attributes, self._settings, wait=False),
        )

    def _top(self) -> float:
        return MECHANISM.limits(self._attributes, self._settings).retention


EDITOR = ReconstructionEditor
