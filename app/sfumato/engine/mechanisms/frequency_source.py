"""Where the frequencies come from that per-value limits or a published distribution follow from.

The retention probabilities or the distribution are published. Made from the exact counts, they tell
whoever knows all records but one about that one. So the counts get keyed noise first, at a privacy
loss ε0 that the promise counts, or they are not asked at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

import numpy as np

from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats
from sfumato.engine.core.wording import Sentence, formatted
from sfumato.engine.matrices.privacy import left_over
from sfumato.engine.mechanisms.base import PromiseFigure
from sfumato.engine.mechanisms.setting_specs import (
    ChoiceSpec,
    ListSpec,
    SettingSource,
    epsilon_spec,
    measured_unit_spec,
)
from sfumato.engine.randomness.noisy_statistics import (
    SENSITIVITY_OF_COUNTS,
    SMALLEST_EPSILON,
    KeyedNoise,
    check_epsilon,
    shares_of,
)
from sfumato.engine.table.table import (
    MEASURED_UNIT,
    Attribute,
    MeasuredUnit,
    measured_rows,
)

USUAL_EPSILON: Final = 0.1
"""The most that a new policy spends on the frequencies."""
_LEAST_EPSILON: Final = 0.01
_USUAL_ERROR: Final = 0.01
"""The standard error of a share that is good enough for a profile."""


class FrequencySource(StrEnum):
    """Where frequencies come from."""

    NOISY = "noisy"
    """Counts of the table with noise."""
    EQUAL = "equal"
    """Every value counts the same; the table is not asked."""
    STATED = "stated"
    """The custodian states shares that are known without the table."""
    EXACT = "exact"
    """The exact counts: settings of versions that knew nothing else, never chosen anew."""


class _SharesSpec(ListSpec):
    """Shares, one of which is above 0."""

    @property
    def expected(self) -> Sentence:
        """What a value is."""
        return Sentence("a list of numbers from 0 on, one of them above 0")

    def holds(self, value: object) -> bool:
        """Return whether a value is such a list."""
        return super().holds(value) and isinstance(value, list | tuple) and any(value)


_FROM_COUNTS: Final = ("frequencies", "frequencies_epsilon")
SOURCE: Final = ChoiceSpec(
    name="frequencies",
    title="Where frequencies come from",
    gloss="where the frequencies of values come from",
    titles={
        FrequencySource.NOISY: "Noisy counts",
        FrequencySource.EQUAL: "All values equal",
        FrequencySource.STATED: Sentence("Stated"),
    },
)
EPSILON: Final = epsilon_spec(
    name="frequencies_epsilon",
    title="ε0 of the noisy counts",
    gloss="how much noisy counts may disclose of one record, as a privacy loss",
    hint="How much the noisy counts may disclose of one record. It multiplies anyone's odds by at"
    " most e^ε0 and is included in every figure; a smaller ε0 means more noise.",
)
SHARES: Final = _SharesSpec(
    name="shares",
    title="Shares in the order of the domain",
    gloss="a stated share for each value, in the order of the domain, of any sum",
    numbers=True,
)
COUNTS: Final = ListSpec(
    name="noisy_counts",
    title="Noisy counts",
    gloss="the counts with noise that were drawn, one for each value",
    source=SettingSource.MADE,
    follows=_FROM_COUNTS,
    numbers=True,
    negative=True,
)
FREQUENCIES: Final = (SOURCE, EPSILON, SHARES, COUNTS, measured_unit_spec(_FROM_COUNTS))
"""The settings that `Frequencies.to_dict` writes."""


@dataclass(frozen=True)
class Frequencies:
    """Where frequencies come from, and what was drawn or stated.

    Parameters
    ----------
    source
        Where they come from.
    epsilon
        ε0 of noisy counts.
    counts
        The noisy counts, once they are drawn, shape (m,).
    shares
        Stated shares, shape (m,).
    unit
        Whose rows were counted; None where each by itself.
    """

    source: FrequencySource
    epsilon: float = USUAL_EPSILON
    counts: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()
    unit: MeasuredUnit | None = None

    @property
    def cost(self) -> float:
        """ε0: by what they multiply anyone's odds at most, as a logarithm."""
        if self.source is FrequencySource.EXACT:
            return math.inf
        rows = 1 if self.unit is None else self.unit.rows
        return self.epsilon * rows if self.source is FrequencySource.NOISY else 0.0

    def drawn(self, attribute: Attribute, noise: KeyedNoise) -> Frequencies:
        """Return them with counts drawn, where they are noisy; those that fit stay."""
        [measured], unit = measured_rows((attribute,))
        counts, domain = measured.counts, measured.domain
        if self.source is not FrequencySource.NOISY or counts is None or domain is None:
            return self
        if len(self.counts) == len(counts):
            return self
        what = f"counts of {attribute.name} over {domain.fingerprint}"
        return replace(self, counts=noise.counts(what, counts, self.epsilon), unit=unit)

    def of(self, attribute: Attribute) -> Floats:
        """Return the shares that limits are solved for, shape (m,).

        Raises
        ------
        PolicyError
            If there are more or fewer of them than the domain has values.
        """
        if self.source is FrequencySource.EXACT:
            return attribute.frequencies
        size = 0 if attribute.domain is None else attribute.domain.size
        if self.source is FrequencySource.EQUAL:
            return np.full(size, 1.0 / size)
        given = self.counts if self.source is FrequencySource.NOISY else self.shares
        if len(given) != size:
            raise PolicyError(
                "The frequencies of {column} are {given} {given:number|numbers} for {size}"
                " {size:value|values}.",
                "Give one share for each value of the domain, or have the counts drawn again.",
                column=attribute.name,
                given=len(given),
                size=size,
            )
        if self.source is FrequencySource.NOISY:
            return shares_of(self.counts)
        shares = np.array(self.shares)
        return shares / shares.sum()

    def to_dict(self) -> dict[str, Any]:
        """Return them as settings."""
        if self.source is FrequencySource.EXACT:
            return {}
        plain: dict[str, Any] = {"frequencies": str(self.source)}
        if self.source is FrequencySource.NOISY:
            plain["frequencies_epsilon"] = self.epsilon
            if self.counts:
                plain["noisy_counts"] = list(self.counts)
            if self.unit is not None:
                plain[MEASURED_UNIT] = self.unit.to_setting()
        if self.source is FrequencySource.STATED:
            plain["shares"] = list(self.shares)
        return plain


def records_of(attribute: Attribute) -> int:
    """Return how many records an attribute's counts are of; 0 where they are not known."""
    return 0 if attribute.counts is None else int(attribute.counts.sum())


def frequency_facts(spent: float) -> tuple[PromiseFigure, ...]:
    """Return the figure of ε0 for a promise that counts it; none where nothing is spent."""
    if spent == 0.0:
        return ()
    title = "Privacy loss of the frequencies"
    return (PromiseFigure("ε0", title, spent, "Counted in the odds factors and in ε."),)


def left_for_values(names: Sequence[str], gammas: Floats, cost: float) -> Floats:
    """Return γ·e^(−ε0), shape (m,); refuse where that leaves nothing of a value.

    Raises
    ------
    LevelError
        Naming the value with the tightest limit, and how much ε0 may be.
    """
    left = np.array([left_over(float(gamma), cost) for gamma in gammas])
    if cost > 0.0 and (left <= 1.0).any():
        tightest = int(gammas.argmin())
        raise LevelError(
            "The limit of {value} (γ = {gamma}) leaves nothing for its released values: the noisy"
            " frequencies alone cost ε0 = {epsilon}.",
            "Lower ε0 of the frequencies below {most}, loosen the limit, or let all values count"
            " the same.",
            value=names[tightest],
            gamma=formatted(gammas[tightest], ".4g"),
            epsilon=formatted(cost, "g"),
            most=formatted(math.log(float(gammas[tightest])), ".2g"),
        )
    return left


def left_for_levels(gamma: float, cost: float) -> float:
    """Return what of a bound on the odds is left for released values, γ·e^(−ε0), at least 1.

    Raises
    ------
    LevelError
        If nothing is.
    """
    left = left_over(gamma, cost)
    if left <= 1.0 < gamma:
        raise LevelError(
            "An odds factor of {gamma} leaves nothing for the released values: the noisy"
            " frequencies alone cost ε0 = {epsilon}.",
            "Give a larger one, or lower ε0 of the frequencies.",
            gamma=formatted(gamma, ".4g"),
            epsilon=formatted(cost, "g"),
        )
    return max(left, 1.0)


def usual_frequencies(records: int) -> Frequencies:
    """Return noisy counts with as little ε0 as leaves a share a standard error of 1 %.

    At least 0.01 and at most 0.1: few records have to do with less exact shares.
    """
    spread = math.sqrt(2.0) * SENSITIVITY_OF_COUNTS
    wanted = spread / (_USUAL_ERROR * max(records, 1))
    epsilon = min(USUAL_EPSILON, max(_LEAST_EPSILON, math.ceil(wanted * 100) / 100))
    return Frequencies(FrequencySource.NOISY, epsilon)


def within(settings: Mapping[str, Any], chosen: Frequencies, most: float) -> dict[str, Any]:
    """Return settings that draw noisy counts at no larger ε0 than that, rounded down."""
    if chosen.source is not FrequencySource.NOISY or chosen.counts or chosen.epsilon <= most:
        return dict(settings)
    least = max(math.floor(most * 1000) / 1000, SMALLEST_EPSILON)
    return {**settings, SOURCE.name: chosen.source.value, EPSILON.name: least}


def frequencies_in(settings: Mapping[str, Any], records: int = 0) -> Frequencies:
    """Read where frequencies come from.

    Settings that hold a profile and say nothing were made by a version that used the exact
    counts. Settings that hold neither get what is usual for a number of records.

    Raises
    ------
    PolicyError, LevelError
        If the settings are not valid.
    """
    stated = settings.get("frequencies")
    if stated is None:
        exact = "profile" in settings
        return Frequencies(FrequencySource.EXACT) if exact else usual_frequencies(records)
    source = SOURCE.stated(settings)
    epsilon = usual_frequencies(records).epsilon
    if source is FrequencySource.NOISY:
        epsilon = check_epsilon(settings.get("frequencies_epsilon", epsilon))
    counts, shares = settings.get("noisy_counts", ()), settings.get("shares", ())
    if source is not FrequencySource.NOISY or not _are_whole(counts):
        counts = ()  # drawn anew, or refused where they are missing
    if source is FrequencySource.STATED:
        SHARES.check(shares)
    kept = tuple(float(s) for s in shares) if source is FrequencySource.STATED else ()
    unit = MeasuredUnit.in_settings(settings) if counts else None
    return Frequencies(source, epsilon, tuple(counts), kept, unit)


def _are_whole(counts: object) -> bool:
    return isinstance(counts, list | tuple) and set(map(type, counts)) <= {int}
