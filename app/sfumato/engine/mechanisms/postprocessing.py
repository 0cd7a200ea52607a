"""What a mechanism offers whose released numbers can be rounded and bounded."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.progress import Context
from sfumato.engine.mechanisms.base import Mechanism, Settings
from sfumato.engine.mechanisms.postprocessing_leakage import FormLeaks
from sfumato.engine.table.table import Attribute

Floats = npt.NDArray[np.float64]


class Forming(Mechanism):
    """A mechanism whose released numbers can be rounded and bounded: then they are no ladder."""

    @abstractmethod
    def forms(self, attributes: Sequence[Attribute], settings: Settings) -> bool:
        """Return whether any released numbers are rounded or bounded."""

    @abstractmethod
    def rounding_variances(self, attributes: Sequence[Attribute], settings: Settings) -> Floats:
        """Return what rounding adds to each attribute's variance beside the noise, shape (N,)."""

    @abstractmethod
    def form_leaks(
        self,
        levels: Sequence[float],
        attributes: Sequence[Attribute],
        settings: Settings,
        context: Context,
    ) -> FormLeaks | None:
        """Measure what the looks of released numbers tell somebody who pools releases.

        Parameters
        ----------
        levels
            The levels of what is pooled, at least one.
        attributes
            The entry's attributes with their numbers.
        settings
            The mechanism's settings.
        context
            Progress and cancelling.

        Returns
        -------
        FormLeaks or None
            None where numbers are released as the ladder has them: then pooling tells nothing.
        """


def is_formed(mechanism: Mechanism, attributes: Sequence[Attribute], settings: Settings) -> bool:
    """Return whether released numbers are not as the ladder has them."""
    return isinstance(mechanism, Forming) and mechanism.forms(attributes, settings)


def added_covariance(
    mechanism: Mechanism, level: float, attributes: Sequence[Attribute], settings: Settings
) -> Floats | None:
    """Return the covariance of all that is added to numbers: the noise, and what rounding adds.

    Who estimates from releases takes it off. None where no noise is added.
    """
    noise = mechanism.noise_covariance(level, attributes, settings)
    if noise is None or not isinstance(mechanism, Forming):
        return noise
    return noise + np.diag(mechanism.rounding_variances(attributes, settings))


def form_leaks_of(
    mechanism: Mechanism,
    levels: Sequence[float],
    attributes: Sequence[Attribute],
    settings: Settings,
    context: Context,
) -> FormLeaks | None:
    """Return what `Forming.form_leaks` measures; None for mechanisms that form nothing."""
    if not isinstance(mechanism, Forming):
        return None
    return mechanism.form_leaks(levels, attributes, settings, context)
