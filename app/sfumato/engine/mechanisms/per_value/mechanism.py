"""Per-value limits: as much of each value is kept as its own privacy limit allows.

Chaytor, Wang and Brantingham, "Fine-Grain Perturbation for Privacy Preserving Data Publishing",
2010, put on a ladder: the optimal profile p is the top, and a recipient's trust factor τ scales
the whole of it. The level is s = τ·max p, the retention probability of the value that keeps
most, from 0 (noise) to 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence, formatted
from sfumato.engine.ladders.base_mechanism import ProfileTop, release_below
from sfumato.engine.matrices.privacy import check_retention, left_over, whole_odds
from sfumato.engine.matrices.retention_matrix import RetentionMatrix
from sfumato.engine.mechanisms.base import (
    Byproduct,
    Check,
    Fact,
    LevelField,
    LevelTerm,
    Origin,
    Promise,
    PublishedFacts,
    Released,
    ReleaseRequest,
    Settings,
    Statement,
    ladder_digest,
)
from sfumato.engine.mechanisms.categorical import (
    BELIEF_TERM,
    LIMITS,
    LOSS_TERM,
    ODDS_TERM,
    CategoricalMechanism,
    at_most,
    check_against_table,
    codes_of,
    domain_parameters,
    nothing_told,
    numbers_of,
    stated_gamma,
    unknown_statement,
)
from sfumato.engine.mechanisms.frequency_source import (
    frequencies_in,
    frequency_facts,
    left_for_values,
    records_of,
    usual_frequencies,
)
from sfumato.engine.mechanisms.per_value.limits import PrivacyLimits
from sfumato.engine.mechanisms.retention_profiles import Profile, largest_level, solve, violations
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attributes

Floats = npt.NDArray[np.float64]

USUAL_THETA = 3.0
"""The tolerance that a new policy starts with."""

_TOLERATED = 1e-12
"""How far a stored profile may exceed its limits, by rounding."""

_TERMS = (
    LevelTerm(
        "trust_factor",
        "Trust factor",
        "How much of the profile is kept: 1 meets the limits exactly, less keeps less of every"
        " value, more exceeds them.",
        (LevelField("trust_factor", "τ", 0.0, 1000.0),),
    ),
    LevelTerm(
        "retention",
        "Highest retention probability",
        "The retention probability of the value that keeps most.",
        (LevelField("retention_probability", "max p", 0.0, 1.0),),
    ),
    ODDS_TERM,
    LOSS_TERM,
    BELIEF_TERM,
)


class PerValueLimits(CategoricalMechanism):
    """A retention probability for each value, the best within the limits of all values."""

    name = "finegrain"
    title = "Per-value limits"
    summary = (
        "Each value has a limit of its own and is kept as often as that allows; otherwise it is"
        " replaced by one drawn evenly from the whole domain."
    )
    order = 20
    terms = _TERMS
    completes_settings = True

    def default_settings(self, attributes: Attributes) -> Settings:
        """Return strict limits by the tolerance rule, for noisy counts of the table."""
        self.check_attributes(attributes)
        chosen = usual_frequencies(records_of(attributes[0]))
        return {**PrivacyLimits(theta=USUAL_THETA).to_dict(), **chosen.to_dict()}

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
            If the limits are not valid for the attribute.
        """
        if "profile" in settings:
            return settings
        domain = self.domain_of(attributes)
        limits = PrivacyLimits.from_dict(settings)
        chosen = frequencies_in(settings, records_of(attributes[0])).drawn(attributes[0], noise)
        shares = chosen.of(attributes[0])
        gammas = left_for_values(domain.names, limits.gammas(domain, shares), chosen.cost)
        profile = solve(shares, gammas, limits.mode)
        if not profile.retention.max() > 0:
            raise LevelError(
                "The limits leave nothing of any value: every retention probability is 0.",
                "Loosen the tightest limits.",
            )
        kept = [float(p) for p in profile.retention]
        return {**limits.to_dict(), **chosen.to_dict(), "profile": kept}

    def byproduct_epsilon(self, settings: Settings) -> float:
        """Return ε0 of the frequencies that the profile was solved for."""
        return frequencies_in(settings).cost

    def byproducts(self, attributes: Attributes, settings: Settings) -> tuple[Byproduct, ...]:
        """Return the retention probabilities, unless the table was not asked for them."""
        cost, name = self.byproduct_epsilon(settings), attributes[0].name
        if cost == 0.0:
            return ()
        what = Sentence("the retention probabilities of {name}", name=name)
        if math.isinf(cost):
            return (Byproduct(what, Origin.EXACT, _exact_sentence(name)),)
        sentence = Sentence(
            "The retention probabilities of {name} follow from counts of the table with noise"
            " (ε0 = {epsilon:g}). The figures above include what they tell.",
            name=name,
            epsilon=cost,
        )
        return (Byproduct(what, Origin.NOISY, sentence),)

    def check_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Raise `PolicyError` where the settings are not limits with a fitting profile."""
        self.profile(attributes, settings)
        frequencies_in(settings).of(attributes[0])

    def profile(self, attributes: Attributes, settings: Settings) -> Floats:
        """Return the profile p, shape (m,), that meets the limits at trust factor 1.

        Raises
        ------
        PolicyError
            If there is none, or it does not fit the domain.
        """
        domain = self.domain_of(attributes)
        try:
            kept = np.array(settings.get("profile", ()), dtype=np.float64)
        except (TypeError, ValueError):
            kept = np.zeros(0)
        if kept.shape != (domain.size,):
            raise PolicyError(
                "The profile of {column} has {given} {given:probability|probabilities} for {size}"
                " {size:value|values}.",
                "Solve the limits again.",
                column=attributes[0].name,
                given=kept.size,
                size=domain.size,
            )
        if not ((kept >= 0) & (kept <= 1)).all() or not kept.max() > 0:
            raise PolicyError(
                "The profile of {column} is not a list of probabilities above 0.",
                "Solve the limits again.",
                column=attributes[0].name,
            )
        return kept

    def solved(self, attributes: Attributes, settings: Settings) -> Profile:
        """Return the stored profile beside the limits that it was solved for, γ·e^(−ε0)."""
        domain = self.domain_of(attributes)
        limits = PrivacyLimits.from_dict(settings)
        chosen = frequencies_in(settings)
        gammas = limits.gammas(domain, chosen.of(attributes[0]))
        if math.isfinite(chosen.cost):
            gammas = np.array([left_over(float(gamma), chosen.cost) for gamma in gammas])
        return Profile(self.profile(attributes, settings), gammas, limits.mode)

    def default_statements(self, count: int) -> tuple[Statement, ...]:
        """Propose trust factors that fall by halves from 1."""
        return tuple({"trust_factor": float(f"{0.5**place:.3g}")} for place in range(count))

    def level(self, statement: Statement, attributes: Attributes, settings: Settings) -> float:
        """Return the highest retention probability that a statement means, rounded down.

        Raises
        ------
        LevelError
            If the statement is none of the mechanism's terms, or out of range.
        """
        kept = self.profile(attributes, settings)
        numbers = numbers_of(statement)
        match numbers:
            case {"trust_factor": factor, **rest} if not rest:
                return self._level_of_factor(factor, kept)
            case {"retention_probability": retention, **rest} if not rest:
                return check_retention(retention)
        gamma = stated_gamma(numbers)
        if gamma is None:
            raise unknown_statement(self, statement)
        return largest_level(kept, self._left_of(gamma, settings))

    def _left_of(self, gamma: float, settings: Settings) -> float:
        """Return what of a bound on the odds is left for the released values."""
        cost = self.byproduct_epsilon(settings)
        if math.isinf(cost):
            return gamma  # the promise says that it is not kept
        left = left_over(gamma, cost)
        if left <= 1.0 < gamma:
            raise LevelError(
                "An odds factor of {gamma:.4g} leaves nothing for the released values: the noisy"
                " frequencies alone cost ε0 = {epsilon:g}.",
                "Give a larger one, or lower ε0 of the frequencies.",
                gamma=gamma,
                epsilon=cost,
            )
        return max(left, 1.0)

    @staticmethod
    def _level_of_factor(factor: float, kept: Floats) -> float:
        top = float(kept.max())
        if not 0 <= factor * top <= 1 + _TOLERATED:
            raise LevelError(
                "The trust factor {factor} is out of range.",
                "Give a number from 0 to {highest:.4g}, at which the value that keeps most is"
                " always kept.",
                factor=factor,
                highest=1 / top,
            )
        return min(factor * top, 1.0)

    def restate(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> Mapping[str, Statement]:
        """Return the level in each term, ρ2 for a ρ1 of 0.1."""
        kept = self.profile(attributes, settings)
        spent = self._spent(level, settings)
        terms = self.matrix_terms(self.matrix(level, attributes, settings), spent)
        return {
            "trust_factor": {"trust_factor": level / float(kept.max())},
            "retention": {"retention_probability": level},
            **terms,
        }

    def ladder_identity(self, attributes: Attributes, settings: Settings) -> str:
        """Return a digest of the attribute's name, its domain and the profile's proportions."""
        domain = self.domain_of(attributes)
        kept = self.profile(attributes, settings)
        shape = [float(share).hex() for share in kept / kept.max()]
        return ladder_digest("fine-grain ladder", 1, attributes[0].name, domain.fingerprint, shape)

    def release(self, request: ReleaseRequest, context: Context) -> Mapping[str, pd.Series]:
        """Return the released column: a pure function of the request."""
        domain = self.domain_of(request.attributes)
        name = request.attributes[0].name
        kept = self.profile(request.attributes, request.settings)
        key = request.keys.for_attribute(name, domain.fingerprint, self.name)
        top = ProfileTop(kept / kept.max())
        codes = release_below(
            top, request.level, codes_of(request), request.record_ids, key, context
        )
        return {name: domain.decode(codes, name)}

    def matrix(self, level: float, attributes: Attributes, settings: Settings) -> RetentionMatrix:
        """Return the fine-grain matrix of a level: diag(s·q) + (1/m)·1·(1 − s·q)ᵀ."""
        kept = self.profile(attributes, settings)
        return RetentionMatrix(kept / kept.max() * check_retention(level))

    def _spent(self, level: float, settings: Settings) -> float:
        """Return ε0 of what a release at this level tells beside its values; at 0 it has none."""
        return 0.0 if level == 0.0 else self.byproduct_epsilon(settings)

    def promise(self, level: float, attributes: Attributes, settings: Settings) -> Promise:
        """Return what a release at this level promises, computed from its matrix."""
        matrix = self.matrix(level, attributes, settings)
        attribute = attributes[0]
        domain = self.domain_of(attributes)
        name = attribute.name
        spent = self._spent(level, settings)
        odds = np.array([whole_odds(float(up), spent) for up in matrix.worst_odds_ratios().up])
        most, least = int(odds.argmin()), int(odds.argmax())
        if level == 0.0:
            sentence = nothing_told(name)
        elif math.isinf(spent):
            sentence = _exact_sentence(name)
        elif math.isinf(float(odds.max())):
            sentence = Sentence(
                "This release can prove that somebody's {name} is {value}: it promises "
                "nothing for that value.",
                name=name,
                value=domain.names[least],
            )
        else:
            sentence = Sentence(
                "Whatever anyone believed about a person's {name}, this release multiplies "
                "the odds on {value} by at most {odds}, and on no value by more than "
                "{highest} ({exposed}).",
                name=name,
                value=domain.names[most],
                odds=at_most(float(odds[most])),
                highest=at_most(float(odds[least])),
                exposed=domain.names[least],
            )
        facts = (
            *self._limit_facts(level, attributes, settings),
            *frequency_facts(spent),
            *self.matrix_facts(matrix, spent),
        )
        told = tuple(each.sentence for each in self.byproducts(attributes, settings))
        return Promise(sentence, facts, LIMITS if level == 0.0 else (*told, *LIMITS))

    def _limit_facts(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[Fact, ...]:
        solved = self.solved(attributes, settings)
        scaled = solved.retention / solved.retention.max() * level
        excess = violations(scaled, solved.gammas, solved.mode)
        return (
            Fact(
                "τ",
                "Trust factor",
                level / float(solved.retention.max()),
                "1 meets the limits exactly; more exceeds them.",
            ),
            Fact(
                "",
                "Values whose limit is exceeded",
                float((excess > _TOLERATED).sum()),
                "Recomputed from this release's retention probabilities.",
            ),
        )

    def published(self, level: float, attributes: Attributes, settings: Settings) -> PublishedFacts:
        """Return the retention probabilities and the domain, with the guide to estimate."""
        domain = self.domain_of(attributes)
        matrix = self.matrix(level, attributes, settings)
        gamma = whole_odds(matrix.gamma, self._spent(level, settings))
        chosen = frequencies_in(settings)
        return PublishedFacts(
            parameters={
                "retention_probabilities": [float(p) for p in matrix.retention],
                **domain_parameters(domain, gamma),
                "frequencies": str(chosen.source),
                "frequencies_epsilon": chosen.cost if math.isfinite(chosen.cost) else None,
            },
            guide="finegrain" if int((matrix.retention == 0.0).sum()) < 2 else "finegrain-singular",
            values={
                "lowest_retention": formatted(matrix.retention.min(), ".6g"),
                "highest_retention": formatted(matrix.retention.max(), ".6g"),
                "domain_size": formatted(domain.size, ","),
            },
        )

    def check_release(self, request: ReleaseRequest, released: Released) -> tuple[Check, ...]:
        """Examine a released column against the true one: rows, domain, retention, spread."""
        domain = self.domain_of(request.attributes)
        column = released.columns[request.attributes[0].name]
        matrix = self.matrix(released.level, request.attributes, request.settings)
        return check_against_table(domain, codes_of(request), column, matrix.retention)


MECHANISM = PerValueLimits()


def _exact_sentence(name: str) -> Sentence:
    return Sentence(
        "The retention probabilities of {name} were solved for the exact counts of the table and"
        " are published with every release: anyone who knows all other records can tell a"
        " person's {name} from them. Solve the limits again, with noisy counts.",
        name=name,
    )
