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

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.values import is_number
from sfumato.engine.mechanisms.adoption import ADOPTED
from sfumato.engine.mechanisms.base import Settings, check_known
from sfumato.engine.mechanisms.gaussian.noisy_covariance import measure_covariance, usual_epsilon
from sfumato.engine.randomness.noisy_statistics import KeyedNoise, check_epsilon
from sfumato.engine.table.covariance import factor_of
from sfumato.engine.table.table import Attributes

Floats = npt.NDArray[np.float64]

_FINEST_STEP: Final = 2.0**-20
"""The finest rounding, in spreads of the column. Finer differences than that are noise."""

FORM_SETTINGS: Final = ("rounding", "lowest", "highest")
"""The settings that say what released numbers of single attributes may look like."""

_MEASURED: Final = ("measured", "measured_epsilon", "spreads")
DECIDED: Final = ("covariance", *_MEASURED, "publish_covariance", "mean")
"""The settings of the size of the noise, which are made anew together."""

_OLD: Final = ("publish_covariance", "mean")
"""Settings of earlier versions, which are not looked at any more: recipients need the covariance
of the noise to use what they get, and nobody needs the means."""

_KNOWN: Final = frozenset({"noise", "covariance", *FORM_SETTINGS, *_MEASURED, *_OLD, ADOPTED})


class Measured(StrEnum):
    """Where the covariance comes from that noise is made from."""

    NOISY = "noisy"
    """From the table, with noise whose ε0 the promise counts."""
    STATED = "stated"
    """From the custodian, who knows it without the table."""
    EXACT = "exact"
    """From the table as it is: settings of versions that knew nothing else, never made anew."""


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
        return np.rint(numbers * parts) / parts
    return np.rint(numbers / step) * step


@dataclass(frozen=True)
class GaussianSettings:
    """The settings, checked.

    Parameters
    ----------
    covariance
        K, shape (N, N); kept, so that next month's table does not move the ladder.
    measured
        Where it comes from.
    epsilon
        ε0: by what it multiplies anyone's odds on a person's numbers at most, as a logarithm.
    noise
        How the noise of several attributes hangs together.
    forms
        What released numbers may look like, one for each attribute.
    """

    covariance: Floats
    measured: Measured
    epsilon: float
    noise: Noise
    forms: tuple[NumberForm, ...]

    @property
    def size(self) -> int:
        """The number of attributes, N."""
        return len(self.forms)

    @property
    def spreads(self) -> Floats:
        """The standard deviations of the noise at σ² = 1, shape (N,)."""
        return np.sqrt(np.diagonal(self.covariance))

    @cached_property
    def noise_covariance(self) -> Floats:
        """The covariance of the noise at σ² = 1, shape (N, N)."""
        if self.noise is Noise.SEPARATE:
            return np.diag(np.diagonal(self.covariance))
        return self.covariance

    @cached_property
    def factor(self) -> Floats:
        """L with L·Lᵀ the covariance of the noise at σ² = 1, shape (N, N)."""
        return factor_of(self.noise_covariance)


def chosen(settings: Settings) -> dict[str, Any]:
    """Return settings with all choices made but those that the table decides."""
    kept = {name: value for name, value in settings.items() if name not in _OLD}
    return {"noise": Noise.PROPORTIONAL.value, **kept}


def completed(attributes: Attributes, settings: Settings, noise: KeyedNoise) -> dict[str, Any]:
    """Return settings with all choices made and a covariance; one that is there already stays.

    Stated spreads become a covariance of attributes that do not depend on one another.
    Otherwise it is measured with noise, with as much ε0 as the settings say or is usual.

    Raises
    ------
    PolicyError, LevelError
        If the settings are not valid, or the covariance can't be measured.
    """
    if "covariance" in settings:
        settings_of(attributes, settings)
        return dict(settings)
    made = chosen(settings)
    if "spreads" in made:
        made["covariance"] = np.diag(np.square(_stated_spreads(attributes, made))).tolist()
        made["measured"] = Measured.STATED.value
        del made["spreads"]
    else:
        epsilon = made.get("measured_epsilon")
        if epsilon is None:
            known = attributes[0].numbers
            epsilon = usual_epsilon(0 if known is None else len(known), len(attributes))
        found = measure_covariance(attributes, epsilon, noise)
        made["covariance"] = found.covariance.tolist()
        made |= {"measured": Measured.NOISY.value, "measured_epsilon": found.epsilon}
    settings_of(attributes, made)
    return made


def _stated_spreads(attributes: Attributes, settings: Settings) -> list[float]:
    names = [attribute.name for attribute in attributes]
    given = _numbers_in(settings, "spreads", names)
    lacking = [name for name in names if not given.get(name, 0.0) > 0.0]
    if lacking:
        raise PolicyError(
            "No spread above 0 is stated for {columns}.",
            "State one for each column of the entry, or none, so that they are measured.",
            columns=", ".join(lacking),
        )
    return [given[name] for name in names]


def origin_of(settings: Settings) -> tuple[Measured, float]:
    """Return where a covariance comes from, and its ε0; without a word it is an old exact one."""
    try:
        measured = Measured(settings.get("measured", Measured.EXACT))
    except ValueError:
        raise PolicyError(
            "The setting measured is neither noisy nor stated.", "Choose one of the two."
        ) from None
    if measured is Measured.STATED:
        return measured, 0.0
    if measured is Measured.EXACT:
        return measured, math.inf
    return measured, check_epsilon(settings.get("measured_epsilon", math.nan))


def settings_of(attributes: Attributes, settings: Settings) -> GaussianSettings:
    """Read settings, which may come from a file.

    Raises
    ------
    PolicyError
        If one is unknown, missing or not valid for these attributes.
    """
    check_known("Gaussian noise", settings, _KNOWN)
    try:
        noise = Noise(settings.get("noise", Noise.PROPORTIONAL))
    except ValueError:
        raise PolicyError(
            "The setting noise is neither proportional nor separate.", "Choose one of the two."
        ) from None
    covariance = _covariance(attributes, settings)
    spreads = np.sqrt(np.diagonal(covariance))
    forms = _forms(attributes, settings, spreads)
    return GaussianSettings(covariance, *origin_of(settings), noise, forms)


def _covariance(attributes: Attributes, settings: Settings) -> Floats:
    names = ", ".join(attribute.name for attribute in attributes)
    size = len(attributes)
    try:
        covariance = np.array(settings.get("covariance", ()), dtype=np.float64)
    except (TypeError, ValueError):
        covariance = np.zeros(0)
    sound = (
        covariance.shape == (size, size)
        and bool(np.isfinite(covariance).all())
        and bool((np.diagonal(covariance) > 0).all())
    )
    if sound:
        spreads = np.sqrt(np.diagonal(covariance))
        correlation = covariance / spreads / spreads[:, np.newaxis]
        sound = bool(np.abs(correlation - correlation.T).max() <= 1e-9)
        sound = sound and float(np.linalg.eigvalsh(correlation)[0]) >= -1e-9
    if not sound:
        raise PolicyError(
            "The settings hold no covariance that fits {columns}.",
            "Measure it in the table again, or state it.",
            columns=names,
        )
    return covariance


def _forms(attributes: Attributes, settings: Settings, spreads: Floats) -> tuple[NumberForm, ...]:
    known = [attribute.name for attribute in attributes]
    given = {name: _numbers_in(settings, name, known) for name in FORM_SETTINGS}
    forms = []
    for name, spread in zip(known, spreads.tolist(), strict=True):
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
        if not is_number(number) or not math.isfinite(number):
            raise PolicyError(
                "The setting {part} of column {column} is not a number.",
                "Give a number, or leave it out.",
                part=part,
                column=name,
            )
    return {name: float(number) for name, number in given.items()}
