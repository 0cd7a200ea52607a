"""How a mechanism comes by its settings: proposed, measured, and no dearer than need be."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms.setting_specs import Configured
from sfumato.engine.table.table import Attributes, measured_rows

if TYPE_CHECKING:
    from sfumato.engine.randomness.noisy_statistics import KeyedNoise


class Settled(Configured, ABC):
    """What has settings, some of which the table decides when protection begins."""

    @abstractmethod
    def default_settings(self, attributes: Attributes) -> Mapping[str, Any]:
        """Return what a new policy chooses; `first_settings` completes it from the table."""

    def first_settings(
        self, attributes: Attributes, noise: KeyedNoise, bears: float = math.inf
    ) -> Mapping[str, Any]:
        """Return the settings a new policy starts with, complete, see `settled`.

        Raises
        ------
        PolicyError, LevelError
            If the mechanism can't serve the attributes.
        """
        return self.settled(attributes, self.default_settings(attributes), noise, bears)

    def settled(
        self,
        attributes: Attributes,
        settings: Mapping[str, Any],
        noise: KeyedNoise,
        bears: float,
        stated: Iterable[str] = (),
    ) -> Mapping[str, Any]:
        """Return complete settings, where so much is promised to everybody.

        What is measured of all rows of a unit takes half of the ε that is `bears` at most, if that
        is enough to measure it: the rest is left for released values.

        Parameters
        ----------
        attributes, settings, noise
            As `complete_settings` is given them.
        bears
            The least ε that anyone is promised; infinite where nobody is promised any.
        stated
            The settings that somebody has chosen, which stay.

        Raises
        ------
        PolicyError, LevelError
            If the settings can't be met for these attributes.
        """
        if 0.0 < bears < math.inf:
            _, unit = measured_rows(attributes)
            capped = self.within(attributes, settings, bears / (2.0 * (unit.rows if unit else 1)))
            chosen = {name: settings[name] for name in stated if name in settings}
            with suppress(SfumatoError):
                return self.complete_settings(attributes, {**capped, **chosen}, noise)
        return self.complete_settings(attributes, settings, noise)

    def within(
        self, attributes: Attributes, settings: Mapping[str, Any], most: float
    ) -> Mapping[str, Any]:
        """Return settings whose ε0 for each row is no more than `most`."""
        return settings

    def complete_settings(
        self, attributes: Attributes, settings: Mapping[str, Any], noise: KeyedNoise
    ) -> Mapping[str, Any]:
        """Return the settings with what the table itself decides, once and for all.

        Called where settings are stated, for instance in a rules file, and never again: what it
        adds belongs to the ladder. What recipients can see of it, directly or in what follows from
        it, is made with `noise`, kept, and counted by `byproduct_epsilon`.

        Raises
        ------
        PolicyError, LevelError
            If the settings can't be met for these attributes.
        """
        return settings
