"""Mechanisms whose settings hold limits of values, and the profile of retention solved for them.

The profile p is solved for the limits once, and is the top of a ladder. The level is the retention
probability of the value that keeps most; divided by max p, it is the trust factor.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Final, Protocol

import numpy as np

from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.values import Floats
from sfumato.engine.core.wording import Sentence, formatted, listed
from sfumato.engine.ladders.alias_sampling import ProfileTop
from sfumato.engine.matrices.privacy import check_retention, gamma_for_rho, left_over, whole_odds
from sfumato.engine.matrices.retention_matrix import RetentionMatrix
from sfumato.engine.mechanisms.base import Byproduct, Origin, PromiseFigure, Settings, Statement
from sfumato.engine.mechanisms.categorical import CategoricalMechanism, numbers_of
from sfumato.engine.mechanisms.count_solver import solve_for
from sfumato.engine.mechanisms.frequency_source import (
    FREQUENCIES,
    Frequencies,
    left_for_levels,
    left_for_values,
    records_of,
    within,
)
from sfumato.engine.mechanisms.retention_solver import BreachMode, Objective, Profile, violations
from sfumato.engine.mechanisms.setting_specs import (
    ChoiceSpec,
    ListSpec,
    NumberSpec,
    SettingSource,
    SettingSpec,
)
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attribute, Attributes

_TOLERATED = 1e-12
"""How far a stored profile may exceed its limits, by rounding."""


def largest_level(kept: Floats, gamma: float) -> float:
    """Return the largest level whose matrix moves no odds by more than γ, by bisection.

    The worst odds ratio grows with the level, and is computed from the matrix's entries.
    """
    proportions = kept / kept.max()
    low, high = 0.0, 1.0
    if RetentionMatrix(proportions).gamma <= gamma:
        return high
    while np.nextafter(low, 1.0) < high and high - low > 1e-15 * high:
        middle = (low + high) / 2
        if RetentionMatrix(proportions * middle).gamma <= gamma:
            low = middle
        else:
            high = middle
    return low


def profile_settings(*limits: SettingSpec) -> tuple[SettingSpec, ...]:
    """Return the settings of a mechanism whose profile is solved for these limits."""
    asked = (*limits, MODE, *FREQUENCIES, OBJECTIVE)
    profile = ListSpec(
        name="profile",
        title="Retention probabilities",
        gloss="the retention probabilities that were solved for, one for each value or combination",
        source=SettingSource.MADE,
        follows=tuple(spec.name for spec in asked if spec.source is SettingSource.CHOSEN),
        numbers=True,
    )
    return (*asked, profile)


MODE: Final = ChoiceSpec(
    name="mode",
    title="What the limits rule out",
    gloss="whether limits hold for what becomes less likely, too (strict), or only for what"
    " becomes more likely (published)",
    usual=BreachMode.STRICT,
    titles={BreachMode.STRICT: Sentence("Strict"), BreachMode.PUBLISHED: "As published"},
)
OBJECTIVE: Final = ChoiceSpec(
    name="objective",
    title="What the file is for",
    gloss="whether shares are estimated with the least error (counts), or most values are kept"
    " (values)",
    usual=Objective.COUNTS,
    titles={Objective.COUNTS: "For counting", Objective.VALUES: "Most values kept"},
)
RHOS: Final = tuple(
    NumberSpec(
        name=name,
        title=title,
        gloss=gloss,
        least=0.0,
        most=1.0,
        above=True,
        below=True,
        symbol=symbol,
        decimals=4,
        step=0.05,
    )
    for name, title, gloss, symbol in (
        ("rho1", "At most ρ1 probable before", "how probable it may have been before", "ρ1"),
        ("rho2", "At most ρ2 probable after", "how probable it may be afterwards", "ρ2"),
    )
)
"""A limit: what was believed with at most ρ1 must not be believed with more than ρ2."""


def objective_in(settings: Settings) -> Objective:
    """Return what a profile is or is to be best at: counts where nothing is said.

    Settings that hold a profile and say nothing were made by a version that knew one objective.

    Raises
    ------
    PolicyError
        If it is none.
    """
    usual = Objective.VALUES if "profile" in settings else Objective.COUNTS
    return OBJECTIVE.stated({OBJECTIVE.name: usual, **settings})


class StatedLimits(Protocol):
    """What a custodian has said about how far values may be revealed."""

    @property
    def mode(self) -> BreachMode:
        """Which breaches are ruled out."""

    def to_dict(self) -> dict[str, Any]:
        """Return the limits as plain values."""


class ProfileMechanism(CategoricalMechanism):
    """A mechanism whose settings hold limits, and the profile that was solved for them."""

    completes_settings = True

    @abstractmethod
    def limits(self, settings: Settings) -> StatedLimits:
        """Return the limits that settings state; raises `PolicyError` where they are none."""

    @abstractmethod
    def gammas(self, attributes: Attributes, settings: Settings, shares: Floats) -> Floats:
        """Return the bounds γ of limits, shape (m,), for frequencies of that shape."""

    @abstractmethod
    def frequencies(self, settings: Settings, records: int = 0) -> Frequencies:
        """Return what the profile is or was solved for."""

    def whole(self, attributes: Attributes) -> Attribute:
        """Return the one attribute whose values are kept or replaced."""
        return attributes[0]

    def within(self, attributes: Attributes, settings: Settings, most: float) -> Settings:
        """Return settings whose noisy counts have no larger ε0."""
        return within(settings, self.frequencies(settings, records_of(attributes[0])), most)

    def complete_settings(
        self, attributes: Attributes, settings: Settings, noise: KeyedNoise
    ) -> Settings:
        """Return the settings with the optimal profile for the frequencies that were chosen.

        A profile that is there already stays: releases of one ladder share it, and next
        month's frequencies must not change it. Noisy counts that were drawn stay as well.
        Limits are solved for γ·e^(−ε0), so that profile and values together keep γ.

        Raises
        ------
        PolicyError, LevelError
            If the limits are not valid for the attributes.
        """
        if "profile" in settings:
            return settings
        names, limits = self.domain_of(attributes).names, self.limits(settings)
        whole = self.whole(attributes)
        chosen = self.frequencies(settings, records_of(whole)).drawn(whole, noise)
        shares = chosen.of(whole)
        gammas = left_for_values(names, self.gammas(attributes, settings, shares), chosen.cost)
        objective = objective_in(settings)
        profile = solve_for(objective, shares, gammas, limits.mode)
        if not profile.retention.max() > 0:
            raise LevelError(
                "The limits leave nothing of any value: every retention probability is 0.",
                "Loosen the tightest limits.",
            )
        kept = [float(p) for p in profile.retention]
        stated = {**limits.to_dict(), **chosen.to_dict(), "objective": str(objective)}
        return {**stated, "profile": kept}

    def without_measured(self, settings: Settings) -> dict[str, Any]:
        """Return the settings without counts and profile; what it was best at stays."""
        kept = super().without_measured(settings)
        return {**kept, "objective": str(objective_in(settings))} if settings else kept

    def byproduct_epsilon(self, settings: Settings) -> float:
        """Return ε0 of the frequencies that the profile was solved for."""
        return self.frequencies(settings).cost

    def byproducts(self, attributes: Attributes, settings: Settings) -> tuple[Byproduct, ...]:
        """Return the retention probabilities, unless the table was not asked for them."""
        cost = self.byproduct_epsilon(settings)
        if cost == 0.0:
            return ()
        name = listed([attribute.name for attribute in attributes])
        what = Sentence("the retention probabilities of {name}", name=name)
        if math.isinf(cost):
            return (Byproduct(what, Origin.EXACT, exact_sentence(name)),)
        sentence = Sentence(
            "The retention probabilities of {name} follow from counts of the table with noise"
            " (ε0 = {epsilon:g}). The figures above include what they tell.",
            name=name,
            epsilon=cost,
        )
        return (Byproduct(what, Origin.NOISY, sentence),)

    def profile(self, attributes: Attributes, settings: Settings) -> Floats:
        """Return the profile p, shape (m,), that meets the limits at trust factor 1.

        Raises
        ------
        PolicyError
            If there is none, or it does not fit the domain.
        """
        size = self.domain_of(attributes).size
        try:
            kept = np.array(settings.get("profile", ()), dtype=np.float64)
        except (TypeError, ValueError):
            kept = np.zeros(0)
        sound = kept.shape == (size,) and bool(((kept >= 0) & (kept <= 1)).all())
        if not sound or not kept.max() > 0:
            raise PolicyError(
                "The profile of {columns} is not a list of {size}"
                " {size:probability|probabilities}, one for each value and one of them above 0.",
                "Solve the limits again.",
                columns=listed([attribute.name for attribute in attributes]),
                size=size,
            )
        return kept

    def solved(self, attributes: Attributes, settings: Settings) -> Profile:
        """Return the stored profile beside the limits that it was solved for, γ·e^(−ε0)."""
        chosen = self.frequencies(settings)
        gammas = self.gammas(attributes, settings, chosen.of(self.whole(attributes)))
        if math.isfinite(chosen.cost):
            gammas = np.array([left_over(float(gamma), chosen.cost) for gamma in gammas])
        return Profile(self.profile(attributes, settings), gammas, self.limits(settings).mode)

    def level(self, statement: Statement, attributes: Attributes, settings: Settings) -> float:
        """Return the highest retention probability that a statement means, rounded down.

        Raises
        ------
        LevelError
            If the statement is none of the mechanism's terms, or out of range.
        """
        numbers = numbers_of(statement)
        if numbers.keys() != {"trust_factor"}:
            return super().level(statement, attributes, settings)
        factor = float(numbers["trust_factor"])
        top = float(self.profile(attributes, settings).max())
        if not 0 <= factor * top <= 1 + _TOLERATED:
            raise LevelError(
                "The trust factor {factor} is out of range.",
                "Give a number from 0 to {highest}, at which what is kept most is always kept.",
                factor=factor,
                highest=formatted(1 / top, ".4g"),
            )
        return min(factor * top, 1.0)

    def most_within_limits(self, attributes: Attributes, settings: Settings) -> float:
        """Return the level of trust factor 1, which meets the limits exactly."""
        return float(self.profile(attributes, settings).max())

    def level_within(self, gamma: float, attributes: Attributes, settings: Settings) -> float:
        """Return the highest level that keeps γ; raises `LevelError` where ε0 leaves nothing."""
        cost = self.byproduct_epsilon(settings)
        # Exact counts are counted nowhere: the promise says that it is not kept.
        left = gamma if math.isinf(cost) else left_for_levels(gamma, cost)
        return largest_level(self.profile(attributes, settings), left)

    def spent(self, level: float, settings: Settings) -> float:
        """Return ε0 of what a release at this level tells beside its values; at 0 it has none."""
        return 0.0 if level == 0.0 else self.byproduct_epsilon(settings)

    def restate(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> Mapping[str, Statement]:
        """Return the level in each term; ρ2 for a ρ1 of `USUAL_RHO1`."""
        factor = level / float(self.profile(attributes, settings).max())
        restated = super().restate(level, attributes, settings)
        return {**restated, "trust_factor": {"trust_factor": factor}}

    def matrix(self, level: float, attributes: Attributes, settings: Settings) -> RetentionMatrix:
        """Return the fine-grain matrix of a level: diag(s·q) + (1/m)·1·(1 − s·q)ᵀ."""
        kept = self.profile(attributes, settings)
        return RetentionMatrix(kept / kept.max() * check_retention(level))

    def top(self, attributes: Attributes, settings: Settings) -> ProfileTop:
        """Return the best release of the ladder: what is kept most is always kept."""
        kept = self.profile(attributes, settings)
        return ProfileTop(kept / kept.max())

    def ladder_parts(self, attributes: Attributes, settings: Settings) -> tuple[object, ...]:
        """Return the proportions between the retention probabilities."""
        kept = self.profile(attributes, settings)
        return ([float(share).hex() for share in kept / kept.max()],)

    def odds_upward(self, level: float, attributes: Attributes, settings: Settings) -> Floats:
        """Return by how much all that a release tells raises the odds on each value, shape (m,)."""
        ratios, spent = (
            self.matrix(level, attributes, settings).worst_odds_ratios(),
            self.spent(level, settings),
        )
        return np.array([whole_odds(float(up), spent) for up in ratios.up])

    def limit_facts(
        self, level: float, attributes: Attributes, settings: Settings, exceeded: str
    ) -> tuple[PromiseFigure, ...]:
        """Return the trust factor, and how many limits a level exceeds, under a title."""
        solved = self.solved(attributes, settings)
        top = float(solved.retention.max())
        excess = violations(solved.retention / top * level, solved.gammas, solved.mode)
        return (
            PromiseFigure(
                "τ", "Trust factor", level / top, "1 meets the limits exactly; more exceeds them."
            ),
            PromiseFigure(
                "",
                exceeded,
                float((excess > _TOLERATED).sum()),
                "Recomputed from this release's retention probabilities.",
            ),
        )


def exact_sentence(name: str) -> Sentence:
    """Return what is promised where the profile was solved for exact counts: nothing."""
    return Sentence(
        "The retention probabilities of {name} were solved for the exact counts of the table and"
        " are published with every release: anyone who knows all other records can tell a"
        " person's {name} from them. Solve the limits again, with noisy counts.",
        name=name,
    )


def gamma_of_limits(value: str, rho1: float, rho2: float) -> float:
    """Return the γ of what is stated for a value.

    Raises
    ------
    LevelError
        If the limits don't fit together; the value is named.
    """
    try:
        return gamma_for_rho(rho1, rho2)
    except LevelError as error:
        raise LevelError(
            "The limits of {value} don't fit together: ρ1 = {rho1}, ρ2 = {rho2}.",
            error.remedy_template,
            value=value,
            rho1=rho1,
            rho2=rho2,
        ) from None
