"""Joint retention: several categories as one attribute, whose values are their combinations.

Xiao, Tao and Chen, "Optimal Random Perturbation at Multiple Privacy Levels", VLDB 2009, section 4.
A combination is kept whole, or replaced whole by one drawn evenly from all of them, so attributes
that depend on one another have one promise. Either all combinations are kept with one probability,
or each as often as limits of values and combinations allow (the profile of Chaytor, Wang and
Brantingham, 2010, over the combinations). The level is the retention probability of the combination
that keeps most, from 0 (noise) to 1.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import DomainError, LevelError, PolicyError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence, formatted, listed
from sfumato.engine.ladders.base_mechanism import ProfileTop, release_below
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.matrices.members import odds_of_member
from sfumato.engine.matrices.privacy import (
    check_gamma,
    check_retention,
    left_over,
    retention_for_gamma,
    whole_odds,
)
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
    LOSS_TERM,
    ODDS_TERM,
    PROBABILITY,
    CategoricalMechanism,
    at_most,
    check_against_table,
    check_between_releases,
    falling_retentions,
    nothing_told,
    numbers_of,
    stated_gamma,
    unknown_statement,
)
from sfumato.engine.mechanisms.categorical import LIMITS as NOT_PROMISED
from sfumato.engine.mechanisms.frequency_source import (
    Frequencies,
    frequencies_in,
    frequency_facts,
    left_for_values,
)
from sfumato.engine.mechanisms.joint.limits import LIMITS, CombinationLimits
from sfumato.engine.mechanisms.retention_profiles import (
    Profile,
    largest_level,
    solve,
    violations,
)
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.combinations import (
    combined,
    combined_codes,
    combined_column,
    combined_domain,
    combined_fingerprint,
    combined_series,
    domains_of,
    members,
    separate_codes,
    sizes_of,
)
from sfumato.engine.table.table import Attributes

Floats = npt.NDArray[np.float64]

_HIGHEST, _LOWEST = 0.6, 0.01
"""The first and the last level that are proposed."""

_FREQUENCIES = ("frequencies", "frequencies_epsilon", "noisy_counts", "shares")
_TOLERATED = 1e-12
"""How far a stored profile may exceed its limits, by rounding."""

_TERMS = (
    LevelTerm(
        "retention",
        "Retention probability",
        "The share of records whose combination is kept on purpose (with limits: of the combination"
        " that keeps most); the others are replaced at random.",
        (LevelField("retention_probability", "p", *PROBABILITY),),
    ),
    LOSS_TERM,
    BELIEF_TERM,
    ODDS_TERM,
    LevelTerm(
        "trust_factor",
        "Trust factor",
        "Only with limits of combinations: how much of what they allow is kept. 1 meets them"
        " exactly, more exceeds them.",
        (LevelField("trust_factor", "τ", 0.0, 1000.0),),
    ),
)


class JointRetention(CategoricalMechanism):
    """Combinations of several categories, kept or replaced as a whole."""

    name = "joint"
    title = "Joint retention"
    summary = (
        "The attributes are protected as one: the combination of a record's values is kept with a"
        " retention probability; otherwise it is replaced by one drawn evenly from all of them."
    )
    order = 12
    terms = _TERMS
    completes_settings = True
    least_attributes = 2
    most_attributes = None

    def domain_of(self, attributes: Attributes) -> Domain:
        """Return the domain of the combinations.

        Raises
        ------
        PolicyError
            Unless there are several categorical attributes with two values or more each, whose
            combinations are not too many.
        """
        if len(attributes) < self.least_attributes:
            raise PolicyError(
                "{mechanism} protects several columns together; {column} stands alone.",
                "Add another column of categories, or choose uniform retention.",
                mechanism=self.title,
                column=attributes[0].name if attributes else "–",
            )
        for attribute, domain in zip(attributes, domains_of(attributes), strict=True):
            if domain.size < 2:
                raise PolicyError(
                    "The domain of column {column} has a single value, so there is nothing to hide"
                    " among.",
                    "Add the other values that could occur to its domain.",
                    column=attribute.name,
                )
        return combined_domain(attributes)

    def default_settings(self, attributes: Attributes) -> Settings:
        """Return no settings: all combinations are kept equally often."""
        self.check_attributes(attributes)
        return {}

    def complete_settings(
        self, attributes: Attributes, settings: Settings, noise: KeyedNoise
    ) -> Settings:
        """Return the settings with the optimal profile, where there are limits.

        A profile that is there already stays: releases of one ladder share it. Limits are solved
        for γ·e^(−ε0), so that profile and values together keep γ.

        Raises
        ------
        PolicyError, LevelError
            If the limits are not valid for the attributes.
        """
        self._check_names(settings)
        domain = self.domain_of(attributes)
        if not settings or "profile" in settings:
            return settings
        limits = CombinationLimits.from_dict(settings)
        whole = combined(attributes)
        chosen = _frequencies(settings).drawn(whole, noise)
        gammas = left_for_values(domain.names, limits.gammas(attributes), chosen.cost)
        profile = solve(chosen.of(whole), gammas, limits.mode)
        if not profile.retention.max() > 0:
            raise LevelError(
                "The limits leave nothing of any combination: every retention probability is 0.",
                "Loosen the tightest limits.",
            )
        kept = [float(p) for p in profile.retention]
        return {**limits.to_dict(), **chosen.to_dict(), "profile": kept}

    def resettled(self, attributes: Attributes, settings: Settings) -> Settings:
        """Return the settings for other attributes: limits whose columns are left, to be solved."""
        if not settings:
            return {}
        names = {attribute.name for attribute in attributes}
        limits = CombinationLimits.from_dict(settings).to_dict()
        kept = [row for row in limits["limits"] if names.issuperset(row["values"])]
        chosen = _frequencies(settings)
        asked = Frequencies(chosen.source, chosen.epsilon).to_dict()
        return {**limits, "limits": kept, **({"frequencies": "equal"} if chosen.shares else asked)}

    def byproduct_epsilon(self, settings: Settings) -> float:
        """Return ε0 of the frequencies that the profile was solved for; 0 without limits."""
        return _frequencies(settings).cost if settings else 0.0

    def byproducts(self, attributes: Attributes, settings: Settings) -> tuple[Byproduct, ...]:
        """Return the retention probabilities, unless the table was not asked for them."""
        cost, name = self.byproduct_epsilon(settings), _listed(attributes)
        if cost == 0.0:
            return ()
        sentence = Sentence(
            "The retention probabilities of {name} follow from counts of the table with noise"
            " (ε0 = {epsilon:g}). The figures above include what they tell.",
            name=name,
            epsilon=cost,
        )
        what = Sentence("the retention probabilities of {name}", name=name)
        return (Byproduct(what, Origin.NOISY, sentence),)

    def check_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Raise `PolicyError` where the settings are not limits with a fitting profile."""
        self._check_names(settings)
        self.profile(attributes, settings)
        if settings:
            CombinationLimits.from_dict(settings)
            _frequencies(settings)

    def _check_names(self, settings: Settings) -> None:
        for name in settings:
            if name not in (*LIMITS, *_FREQUENCIES, "profile"):
                raise PolicyError(
                    "Joint retention has no setting called {name}.", "Remove it.", name=name
                )

    def profile(self, attributes: Attributes, settings: Settings) -> Floats:
        """Return how often combinations are kept at trust factor 1, shape (m,).

        Raises
        ------
        PolicyError
            If there is none that fits the combinations.
        """
        size = self.domain_of(attributes).size
        if not settings:
            return np.ones(size)
        try:
            kept = np.array(settings.get("profile", ()), dtype=np.float64)
        except (TypeError, ValueError):
            kept = np.zeros(0)
        sound = kept.shape == (size,) and bool(((kept >= 0) & (kept <= 1)).all())
        if not sound or not kept.max() > 0:
            raise PolicyError(
                "The profile of {columns} is not a list of {size}"
                " {size:probability|probabilities}, one of them above 0: one is needed for each"
                " combination.",
                "Solve the limits again.",
                columns=_listed(attributes),
                size=size,
            )
        return kept

    def solved(self, attributes: Attributes, settings: Settings) -> Profile:
        """Return the stored profile beside the limits that it was solved for, γ·e^(−ε0)."""
        limits, cost = CombinationLimits.from_dict(settings), self.byproduct_epsilon(settings)
        gammas = np.array([left_over(float(gamma), cost) for gamma in limits.gammas(attributes)])
        return Profile(self.profile(attributes, settings), gammas, limits.mode)

    def default_statements(self, count: int) -> tuple[Statement, ...]:
        """Propose levels that fall by halves, or more slowly where there are many."""
        return falling_retentions(_HIGHEST, _LOWEST, count)

    def level(self, statement: Statement, attributes: Attributes, settings: Settings) -> float:
        """Return the highest retention probability that a statement means, rounded down.

        Raises
        ------
        LevelError
            If the statement is none of the mechanism's terms, or out of range.
        """
        kept = self.profile(attributes, settings)
        numbers = numbers_of(statement)
        if not settings and "trust_factor" in numbers:
            raise LevelError(
                "Without limits of combinations there is no trust factor.",
                "State the level in another way, such as a retention probability.",
            )
        match numbers:
            case {"retention_probability": retention, **rest} if not rest:
                return check_retention(retention)
            case {"trust_factor": factor, **rest} if not rest:
                return _level_of_factor(factor, float(kept.max()))
        gamma = stated_gamma(numbers)
        if gamma is None:
            raise unknown_statement(self, statement)
        check_gamma(gamma)
        if not settings:
            return retention_for_gamma(gamma, len(kept))
        cost = self.byproduct_epsilon(settings)
        left = left_over(gamma, cost)
        if left <= 1.0 < gamma:
            raise LevelError(
                "An odds factor of {gamma} leaves nothing for the released values: the noisy"
                " frequencies alone cost ε0 = {epsilon}.",
                "Give a larger one, or lower ε0 of the frequencies.",
                gamma=formatted(gamma, ".4g"),
                epsilon=formatted(cost, "g"),
            )
        return largest_level(kept, max(left, 1.0))

    def restate(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> Mapping[str, Statement]:
        """Return the level in each term; ρ2 for a ρ1 of `USUAL_RHO1`."""
        kept = self.profile(attributes, settings)
        terms = self.matrix_terms(
            self.matrix(level, attributes, settings), self._spent(level, settings)
        )
        stated = {"retention": {"retention_probability": level}, **terms}
        if settings:
            stated["trust_factor"] = {"trust_factor": level / float(kept.max())}
        return stated

    def ladder_identity(self, attributes: Attributes, settings: Settings) -> str:
        """Return a digest of the attributes, their domains and the profile's proportions."""
        self.domain_of(attributes)
        parts: list[object] = ["joint ladder", 1, combined_fingerprint(attributes)]
        if settings:
            kept = self.profile(attributes, settings)
            parts.append([float(share).hex() for share in kept / kept.max()])
        return ladder_digest(*parts)

    def release(self, request: ReleaseRequest, context: Context) -> Mapping[str, pd.Series]:
        """Return the released columns: a pure function of the request."""
        attributes, settings = request.attributes, request.settings
        self.domain_of(attributes)
        names = json.dumps([attribute.name for attribute in attributes])
        identity = self.ladder_identity(attributes, settings)
        key = request.keys.for_attribute(names, identity, self.name)
        sizes = sizes_of(attributes)
        codes = combined_codes([column.values for column in request.columns], sizes)  # type: ignore[misc]
        if settings:
            kept = self.profile(attributes, settings)
            top = ProfileTop(kept / kept.max())
            shown = release_below(top, request.level, codes, request.record_ids, key, context)
        else:
            shown = release_codes(
                codes, math.prod(sizes), request.level, request.record_ids, key, context
            )
        domains = domains_of(attributes)
        parts = zip(attributes, domains, separate_codes(shown, sizes), strict=True)
        return {each.name: domain.decode(own, each.name) for each, domain, own in parts}

    def matrix(self, level: float, attributes: Attributes, settings: Settings) -> RetentionMatrix:
        """Return the matrix of the combinations: diag(s·q) + (1/m)·1·(1 − s·q)ᵀ."""
        kept = self.profile(attributes, settings)
        return RetentionMatrix(kept / kept.max() * check_retention(level))

    def _spent(self, level: float, settings: Settings) -> float:
        """Return ε0 of what a release at this level tells beside its values; at 0 it has none."""
        return 0.0 if level == 0.0 else self.byproduct_epsilon(settings)

    def promise(self, level: float, attributes: Attributes, settings: Settings) -> Promise:
        """Return what a release at this level promises, computed from its matrix."""
        matrix = self.matrix(level, attributes, settings)
        names, spent = _listed(attributes), self._spent(level, settings)
        odds = np.array([whole_odds(float(up), spent) for up in matrix.worst_odds_ratios().up])
        highest = float(odds.max())
        if level == 0.0:
            sentence = nothing_told(names)
        elif math.isinf(highest):
            sentence = Sentence(
                "This release can prove a person's {names}: it promises nothing.", names=names
            )
        elif odds.min() == highest:
            sentence = Sentence(
                "Whatever anyone believed about a person's {names} and how they depend on one"
                " another, this release multiplies the odds on any combination, and on any value of"
                " one of them, by at most {gamma}.",
                names=names,
                gamma=at_most(highest),
            )
        else:
            domain = self.domain_of(attributes)
            most, least = int(odds.argmin()), int(odds.argmax())
            sentence = Sentence(
                "Whatever anyone believed about a person's {names} and how they depend on one"
                " another, this release multiplies the odds on the combination {value} by at most"
                " {odds}, and on no combination and no single value by more than {highest}"
                " ({exposed}).",
                names=names,
                value=domain.names[most],
                odds=at_most(float(odds[most])),
                highest=at_most(highest),
                exposed=domain.names[least],
            )
        facts = (
            Fact("p", "Retention probability", level, "A combination is kept this often at most."),
            *self._limit_facts(level, attributes, settings),
            *self._facts_of_columns(matrix, attributes, spent),
            *frequency_facts(spent),
            *self.matrix_facts(matrix, spent),
        )
        told = tuple(each.sentence for each in self.byproducts(attributes, settings))
        return Promise(sentence, facts, NOT_PROMISED if level == 0.0 else (*told, *NOT_PROMISED))

    def _facts_of_columns(
        self, matrix: RetentionMatrix, attributes: Attributes, spent: float
    ) -> tuple[Fact, ...]:
        """Return the largest odds factor on the values of each attribute by itself."""
        sizes = sizes_of(attributes)
        return tuple(
            Fact(
                "",
                Sentence("Odds factor on {name} by itself", name=attribute.name),
                whole_odds(float(odds_of_member(matrix, members(sizes, place)).up.max()), spent),
                "No released combination multiplies anyone's odds on one of its values by more.",
            )
            for place, attribute in enumerate(attributes)
        )

    def _limit_facts(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[Fact, ...]:
        if not settings:
            return ()
        solved = self.solved(attributes, settings)
        top = float(solved.retention.max())
        excess = violations(solved.retention / top * level, solved.gammas, solved.mode)
        return (
            Fact(
                "τ", "Trust factor", level / top, "1 meets the limits exactly; more exceeds them."
            ),
            Fact(
                "",
                "Combinations whose limit is exceeded",
                float((excess > _TOLERATED).sum()),
                "Recomputed from this release's retention probabilities.",
            ),
        )

    def published(self, level: float, attributes: Attributes, settings: Settings) -> PublishedFacts:
        """Return p, the columns with their domains, and the guide that estimates from them."""
        matrix = self.matrix(level, attributes, settings)
        gamma = whole_odds(matrix.gamma, self._spent(level, settings))
        parameters = {
            "domains": [list(domain.values) for domain in domains_of(attributes)],
            "combinations": matrix.size,
            "odds_factor": gamma if math.isfinite(gamma) else None,
        }
        how = Sentence("kept with probability {retention:.6g}", retention=level)
        if settings:
            kept = [float(p) for p in matrix.retention]
            how = Sentence(
                "kept with a probability of its own, from {low:.6g} to {high:.6g},",
                low=min(kept),
                high=max(kept),
            )
            chosen = _frequencies(settings)
            parameters |= {
                "combination_probabilities": kept,
                "frequencies": str(chosen.source),
                "frequencies_epsilon": chosen.cost,
            }
        else:
            parameters["retention_probability"] = level
        return PublishedFacts(
            parameters=parameters,
            guide=_guide(matrix),
            values={"how": how, "domain_size": formatted(matrix.size, ",")},
        )

    def check_release(self, request: ReleaseRequest, released: Released) -> tuple[Check, ...]:
        """Examine released columns against the true ones: rows, domains, retention, spread."""
        attributes = request.attributes
        domain = self.domain_of(attributes)
        matrix = self.matrix(released.level, attributes, request.settings)
        try:
            shown = pd.Series(combined_series(attributes, released.columns))
        except DomainError as error:
            return (Check("Released values", False, error.what),)
        true = combined_column(request.columns).values
        return check_against_table(domain, true, shown, matrix.retention)  # type: ignore[arg-type]

    def check_pair(
        self,
        upper: Released,
        lower: Released,
        attributes: Attributes,
        settings: Settings,
    ) -> tuple[Check, ...]:
        """Examine whether the less trusted of two releases is a garbling of the other."""
        self.check_settings(attributes, settings)
        domain = self.domain_of(attributes)
        if upper.level < lower.level:
            upper, lower = lower, upper
        try:
            above, below = (
                pd.Series(combined_series(attributes, each.columns)) for each in (upper, lower)
            )
        except DomainError as error:
            return (Check("Released values", False, error.what),)
        return check_between_releases(domain, above, upper.level, below, lower.level)


MECHANISM = JointRetention()


def _guide(matrix: RetentionMatrix) -> str:
    """Return the recipient's guide that fits what can be told apart."""
    never = int((matrix.retention == 0.0).sum())
    return "joint" if never == 0 else "joint-noise" if never == matrix.size else "joint-singular"


def _listed(attributes: Attributes) -> str:
    return listed([attribute.name for attribute in attributes])


def _frequencies(settings: Settings) -> Frequencies:
    """Return what a profile is or was solved for; every combination equally where not said."""
    return frequencies_in({"frequencies": "equal", **settings})


def _level_of_factor(factor: float, top: float) -> float:
    if not 0 <= factor * top <= 1 + _TOLERATED:
        raise LevelError(
            "The trust factor {factor} is out of range.",
            "Give a number from 0 to {highest}, at which what is kept most is always kept.",
            factor=factor,
            highest=formatted(1 / top, ".4g"),
        )
    return min(factor * top, 1.0)
