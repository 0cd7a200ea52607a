"""What a mechanism offers that takes earlier releases, made elsewhere, onto its ladder."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.engine.core.progress import Context
from sfumato.engine.mechanisms.base import Adopted, Check, Mechanism, Settings
from sfumato.engine.table.table import EncodedColumn


@dataclass(frozen=True)
class LevelFound:
    """The level that an earlier release seems to have.

    Parameters
    ----------
    level
        The best estimate, in the mechanism's own unit.
    low, high
        A 95 % interval.
    proposal
        The roundest level within the interval.
    usable
        Whether the release is neither the original nor unrelated to the table.
    finding
        What was counted, in plain words.
    """

    level: float
    low: float
    high: float
    proposal: float
    usable: bool
    finding: str


class Adopting(Mechanism):
    """A mechanism that examines earlier releases, and fits further levels between them.

    Each examination is given the policy entry's columns and settings.
    """

    adopts = True

    @abstractmethod
    def check_adopted_level(self, level: float) -> None:
        """Raise `LevelError` where an earlier release can't have had this level."""

    @abstractmethod
    def find_level(
        self, columns: Sequence[EncodedColumn], settings: Settings, release: Adopted
    ) -> LevelFound:
        """Estimate the level of a release, whatever level it states."""

    @abstractmethod
    def check_adopted(
        self, columns: Sequence[EncodedColumn], settings: Settings, release: Adopted
    ) -> tuple[Check, ...]:
        """Test whether a release is what this mechanism makes at its level."""

    @abstractmethod
    def check_adopted_pair(
        self,
        columns: Sequence[EncodedColumn],
        settings: Settings,
        upper: Adopted,
        lower: Adopted,
    ) -> tuple[Check, ...]:
        """Test whether the less trusted of two releases is a garbling of the other."""

    @abstractmethod
    def describe_damage(
        self,
        columns: Sequence[EncodedColumn],
        settings: Settings,
        releases: Sequence[Adopted],
        context: Context,
    ) -> tuple[str, ...]:
        """Say what the holders of releases that form no ladder already know together."""
