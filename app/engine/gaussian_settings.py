"""What a custodian has set for Gaussian noise, beside the levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from app.engine.adopted_settings import ADOPTED
from app.engine.covariance import Moments, estimate_moments, factor_of
from app.engine.errors import PolicyError
from app.engine.mechanisms.base import Settings
from app.engine.table import Attribute

Floats = npt.NDArray[np.float64]

_FINEST_STEP: Final = 2.0**-20
"""The finest rounding, in spreads of the column. Finer differences than that are noise."""

FORM_SETTINGS: Final = ("rounding", "lowest", "highest")
"""The settings that say what released numbers of single attributes may look like."""

_KNOWN: Final = frozenset(
    {"noise", "publish_covariance", *FORM_SETTINGS, "mean", "covariance", ADOPTED}
)


class Noise(StrEnum):
    """How the noise of several attributes hangs together."""

    PROPORTIONAL = "proportional"
    """As the attributes do: covariance σ²·K_X. Nobody can filter it out."""
    SEPARATE = "separate"
    """Not at all: each attribute has noise of its own, σ² times its variance."""


@dataclass(frozen=True)
class NumberForm:
    """What released numbers of one attribute may look like.

    Parameters
    ----------
    step
        They are multiples of it; None for no rounding.
    lowest, highest
        Smaller and larger ones become these; None for no bound.
    """

    step: float | None = None
    lowest: float | None = None
    highest: float | None = None

    @property
    def changes(self) -> bool:
        """Whether any number is changed."""
        return not (self.step is None and self.lowest is None and self.highest is None)

    def apply(self, numbers: Floats) -> Floats:
        """Return numbers rounded and clipped, NaN where missing."""
        if self.step is not None:
            numbers = rounded(numbers, self.step)
        if self.lowest is not None or self.highest is not None:
            numbers = np.clip(numbers, self.lowest, self.highest)
        # Adding 0 turns -0 into 0, which files would show as another number.
        return numbers + 0.0


def rounded(numbers: Floats, step: float) -> Floats:
    """Return multiples of a step, those of 0.1 and the like as near as floats come to them."""
    parts = round(1.0 / step)
    if parts > 1 and math.isclose(parts * step, 1.0, rel_tol=1e-12):
        fine: Floats = np.rint(numbers * parts) / parts
        return fine
    coarse: Floats = np.rint(numbers / step) * step
    return coarse


@dataclass(frozen=True)
class GaussianSettings:
    """The settings, checked.

    Parameters
    ----------
    moments
        μ_X and K_X, estimated once and stored: next month's table must not move the ladder.
    noise
        How the noise of several attributes hangs together.
    forms
        What released numbers may look like, one for each attribute.
    publish_covariance
        Whether recipients are told μ_X and K_X.
    """

    moments: Moments
    noise: Noise
    forms: tuple[NumberForm, ...]
    publish_covariance: bool

    @property
    def size(self) -> int:
        """The number of attributes, N."""
        return len(self.forms)

    @cached_property
    def noise_covariance(self) -> Floats:
        """The covariance of the noise at σ² = 1, shape (N, N)."""
        covariance = self.moments.covariance
        if self.noise is Noise.SEPARATE:
            return np.diag(np.diagonal(covariance))
        return covariance

    @cached_property
    def factor(self) -> Floats:
        """L with L·Lᵀ the covariance of the noise at σ² = 1, shape (N, N)."""
        return factor_of(self.noise_covariance)


def completed(attributes: Sequence[Attribute], settings: Settings) -> dict[str, Any]:
    """Return settings with all choices made and with the moments of the table.

    Moments that are there already stay.

    Raises
    ------
    PolicyError
        If the settings are not valid, or the moments can't be estimated.
    """
    chosen = {"noise": Noise.PROPORTIONAL.value, "publish_covariance": True, **settings}
    if "mean" not in chosen or "covariance" not in chosen:
        moments = estimate_moments(attributes)
        chosen["mean"] = moments.mean.tolist()
        chosen["covariance"] = moments.covariance.tolist()
    settings_of(attributes, chosen)
    return chosen


def settings_of(attributes: Sequence[Attribute], settings: Settings) -> GaussianSettings:
    """Read settings, which may come from a file.

    Raises
    ------
    PolicyError
        If one is unknown, missing or not valid for these attributes.
    """
    for name in settings:
        if name not in _KNOWN:
            raise PolicyError(
                "Gaussian noise has no setting called {name}.",
                "Remove it. Known are: {known}.",
                name=name,
                known=", ".join(sorted(_KNOWN)),
            )
    try:
        noise = Noise(settings.get("noise", Noise.PROPORTIONAL))
    except ValueError:
        raise PolicyError(
            "The setting noise is neither proportional nor separate.", "Choose one of the two."
        ) from None
    publish = settings.get("publish_covariance", True)
    if not isinstance(publish, bool):
        raise PolicyError("The setting publish_covariance is neither true nor false.", "Choose.")
    moments = _moments(attributes, settings)
    return GaussianSettings(moments, noise, _forms(attributes, settings, moments), publish)


def offered_form(numbers: Floats) -> NumberForm:
    """Return a form that a column's own numbers suggest; nothing where they suggest none.

    Whole numbers suggest rounding to whole numbers, and numbers that are never negative the
    bound 0. The largest and the smallest number are somebody's, and never suggested.
    """
    present = numbers[~np.isnan(numbers)]
    if not len(present):
        return NumberForm()
    whole = bool((present == np.rint(present)).all()) and bool(np.abs(present).max() < 2**53)
    return NumberForm(1.0 if whole else None, 0.0 if bool(present.min() >= 0.0) else None)


def _moments(attributes: Sequence[Attribute], settings: Settings) -> Moments:
    names = ", ".join(attribute.name for attribute in attributes)
    size = len(attributes)
    try:
        mean = np.array(settings.get("mean", ()), dtype=np.float64)
        covariance = np.array(settings.get("covariance", ()), dtype=np.float64)
    except (TypeError, ValueError):
        mean = covariance = np.zeros(0)
    sound = (
        mean.shape == (size,)
        and covariance.shape == (size, size)
        and bool(np.isfinite(mean).all() and np.isfinite(covariance).all())
        and bool((np.diagonal(covariance) > 0).all())
    )
    if sound:
        spreads = np.sqrt(np.diagonal(covariance))
        correlation = covariance / spreads / spreads[:, np.newaxis]
        sound = bool(np.abs(correlation - correlation.T).max() <= 1e-9)
        sound = sound and float(np.linalg.eigvalsh(correlation)[0]) >= -1e-9
    if not sound:
        raise PolicyError(
            "The settings hold no mean and covariance that fit {columns}.",
            "Take them from the table again.",
            columns=names,
        )
    return Moments(mean, covariance)


def _forms(
    attributes: Sequence[Attribute], settings: Settings, moments: Moments
) -> tuple[NumberForm, ...]:
    known = [attribute.name for attribute in attributes]
    given = {name: _numbers_in(settings, name, known) for name in FORM_SETTINGS}
    forms = []
    for name, spread in zip(known, moments.spreads, strict=True):
        step, low, high = (given[part].get(name) for part in FORM_SETTINGS)
        if step is not None and not step >= _FINEST_STEP * spread:
            raise PolicyError(
                "Column {column} can't be rounded to multiples of {step}.",
                "Give a step above 0 that is not tiny beside the column's spread, or none.",
                column=name,
                step=step,
            )
        if low is not None and high is not None and not low < high:
            raise PolicyError(
                "The lowest number of column {column} is not below the highest.",
                "Exchange them, or leave one out.",
                column=name,
            )
        forms.append(NumberForm(step, low, high))
    return tuple(forms)


def _numbers_in(settings: Settings, part: str, known: Sequence[str]) -> Mapping[str, float]:
    """Return a setting that gives columns numbers."""
    given = settings.get(part, {})
    if not isinstance(given, Mapping):
        raise PolicyError(
            "The setting {part} does not give numbers to columns.",
            "Write it as a table: {part} = {{ column = 1 }}.",
            part=part,
        )
    for name, number in given.items():
        if name not in known:
            raise PolicyError(
                "The setting {part} names {column}, which the entry does not cover.",
                "Name one of: {known}.",
                part=part,
                column=name,
                known=", ".join(known),
            )
        real = isinstance(number, int | float) and not isinstance(number, bool)
        if not real or not math.isfinite(number):
            raise PolicyError(
                "The setting {part} of column {column} is not a number.",
                "Give a number, or leave it out.",
                part=part,
                column=name,
            )
    return {name: float(number) for name, number in given.items()}
