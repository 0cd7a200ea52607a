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
from dataclasses import field
from typing import Any, Final

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Codes, Floats
from sfumato.engine.core.wording import Sentence, as_sentence, formatted, listed
from sfumato.engine.ladders.alias_sampling import release_below
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.matrices.privacy import retention_for_gamma, whole_odds
from sfumato.engine.matrices.retention_matrix import RetentionMatrix, odds_of_member
from sfumato.engine.mechanisms.base import (
    LevelField,
    LevelTerm,
    PromiseFigure,
    PublishedFacts,
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
    refuse_single,
)
from sfumato.engine.mechanisms.frequency_source import Frequencies, frequencies_in
from sfumato.engine.mechanisms.promise_words import at_most, nothing_told
from sfumato.engine.mechanisms.retention_profiles import (
    MODE,
    RHOS,
    ProfileMechanism,
    gamma_of_limits,
    objective_in,
    profile_settings,
)
from sfumato.engine.mechanisms.retention_solver import BreachMode
from sfumato.engine.mechanisms.setting_specs import ColumnsSpec, TableSpec
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.combinations import (
    combined,
    combined_codes,
    combined_domain,
    combined_fingerprint,
    combined_series,
    domains_of,
    members,
    separate_codes,
    sizes_of,
)
from sfumato.engine.table.table import Attribute, Attributes

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


Pair = tuple[float, float]
"""ρ1 and ρ2: a belief of at most ρ1 must not rise above ρ2."""

USUAL_OTHERS: Final[Pair] = (0.1, 0.5)
"""What combinations without limits of their own begin with."""

OTHERS: Final = TableSpec(
    name="others",
    title="Limit all other combinations",
    gloss="the limit of combinations that no other limit is for; empty for none",
    keys=RHOS,
    many=False,
    may_be_empty=True,
)
STATED: Final = TableSpec(
    name="limits",
    title="Limits of values and of combinations",
    gloss="limits of all combinations that have some values: a belief of at most rho1 must not"
    " rise above rho2",
    usual=(),
    keys=(
        ColumnsSpec(
            name="values", title="Values", gloss="the values, by their columns", texts=True
        ),
        *RHOS,
    ),
)


@dataclass(frozen=True)
class JointLimit:
    """One statement about all combinations that have some values: of one column, or of several.

    Parameters
    ----------
    values
        The values' names, by their columns; at least one.
    rho1, rho2
        The limits, 0 < ρ1 < ρ2 < 1.
    """

    values: Mapping[str, str]
    rho1: float
    rho2: float


@dataclass(frozen=True)
class CombinationLimits:
    """All that a custodian has said about how far values and combinations may be revealed.

    A limit of one value of a column holds for each combination with that value, and so for the
    value itself, whatever is believed of the other columns.

    Parameters
    ----------
    mode
        Which breaches are ruled out.
    others
        The limit of combinations that none of the stated limits is for; None for no limit.
    stated
        Limits of values and of combinations. Where several are for one combination, the tightest
        one counts.
    """

    mode: BreachMode = BreachMode.STRICT
    others: Pair | None = USUAL_OTHERS
    stated: tuple[JointLimit, ...] = field(default=())

    def gammas(self, attributes: Attributes) -> Floats:
        """Return each combination's bound γ, shape (m,), infinite where it has none.

        Raises
        ------
        LevelError
            If a limit is out of range, saying of what it is.
        PolicyError
            If a limit is for a column or a value that the attributes do not have.
        """
        sizes = sizes_of(attributes)
        columns = {attribute.name: place for place, attribute in enumerate(attributes)}
        positions = [
            {name: place for place, name in enumerate(domain.names)}
            for domain in domains_of(attributes)
        ]
        gammas = np.full(sizes, np.inf)
        own = np.zeros(sizes, dtype=np.bool_)
        for limit in self.stated:
            chosen: list[int | slice] = [slice(None)] * len(sizes)
            for column, value in limit.values.items():
                place = columns.get(column)
                if place is None:
                    raise PolicyError(
                        "The limits name a column, {column}, that is not protected here.",
                        "Remove the limit, or protect the column together with the others.",
                        column=column,
                    )
                found = positions[place].get(value)
                if found is None:
                    raise PolicyError(
                        "The limits name a value, {value}, that the domain of {column} does not"
                        " have.",
                        "Remove the limit, or add the value to the domain.",
                        value=value,
                        column=column,
                    )
                chosen[place] = found
            at = tuple(chosen)
            gammas[at] = np.minimum(gammas[at], _gamma((limit.rho1, limit.rho2), limit.values))
            own[at] = True
        if self.others is not None:
            gammas[~own] = _gamma(self.others, {})
        return gammas.ravel()

    def to_dict(self) -> dict[str, Any]:
        """Return the limits as plain values."""
        plain: dict[str, Any] = {"mode": str(self.mode)}
        plain["others"] = (
            {} if self.others is None else {"rho1": self.others[0], "rho2": self.others[1]}
        )
        plain["limits"] = [
            {"values": dict(limit.values), "rho1": limit.rho1, "rho2": limit.rho2}
            for limit in self.stated
        ]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> CombinationLimits:
        """Return the limits that plain values state.

        Raises
        ------
        PolicyError
            If they are not limits.
        """
        mode, rows = MODE.stated(plain), STATED.stated(plain)
        others = OTHERS.stated(plain)
        pair: Pair | None = USUAL_OTHERS
        if others is not None:
            pair = _pair(others) if others else None
        return cls(mode, pair, tuple(JointLimit(_values(row), *_pair(row)) for row in rows))


def _values(row: Mapping[str, Any]) -> dict[str, str]:
    return {str(column): str(value) for column, value in row["values"].items()}


def _pair(row: Mapping[str, Any]) -> Pair:
    return float(row["rho1"]), float(row["rho2"])


def _gamma(pair: Pair, values: Mapping[str, str]) -> float:
    return gamma_of_limits(" · ".join(values.values()) or "all other combinations", *pair)


class JointRetention(ProfileMechanism):
    """Combinations of several categories, kept or replaced as a whole."""

    name = "joint"
    title = "Joint retention"
    summary = (
        "The attributes are protected as one: the combination of a record's values is kept with a"
        " retention probability; otherwise it is replaced by one drawn evenly from all of them."
    )
    order = 12
    terms = _TERMS
    settings = profile_settings(OTHERS, STATED)
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
                "{mechanism} protects several columns together; {column} is a single one.",
                "Add another column of categories, or choose uniform retention.",
                mechanism=as_sentence(self.title),
                column=attributes[0].name if attributes else "–",
            )
        for attribute, domain in zip(attributes, domains_of(attributes), strict=True):
            refuse_single(domain, attribute.name)
        return combined_domain(attributes)

    def default_settings(self, attributes: Attributes) -> Settings:
        """Return no settings: all combinations are kept equally often."""
        self.check_attributes(attributes)
        return {}

    def complete_settings(
        self, attributes: Attributes, settings: Settings, noise: KeyedNoise
    ) -> Settings:
        """Return the settings with the optimal profile, where there are limits."""
        self.check_stated(settings)
        self.check_attributes(attributes)
        return super().complete_settings(attributes, settings, noise) if settings else settings

    def limits(self, settings: Settings) -> CombinationLimits:
        """Return the limits that settings state; raises `PolicyError` where they are none."""
        return CombinationLimits.from_dict(settings)

    def gammas(self, attributes: Attributes, settings: Settings, shares: Floats) -> Floats:
        """Return each combination's bound γ, shape (m,)."""
        return self.limits(settings).gammas(attributes)

    def frequencies(self, settings: Settings, records: int = 0) -> Frequencies:
        """Return what the profile is solved for; every combination equally where not said."""
        return frequencies_in({"frequencies": "equal", **settings})

    def whole(self, attributes: Attributes) -> Attribute:
        """Return the attribute whose values are the combinations."""
        return combined(attributes)

    def resettled(self, attributes: Attributes, settings: Settings) -> Settings:
        """Return the settings for other attributes: limits whose columns are left, to be solved."""
        if not settings:
            return {}
        names = {attribute.name for attribute in attributes}
        limits = self.limits(settings).to_dict()
        kept = [row for row in limits["limits"] if names.issuperset(row["values"])]
        chosen = self.frequencies(settings)
        asked = Frequencies(chosen.source, chosen.epsilon).to_dict()
        asked = {"frequencies": "equal"} if chosen.shares else asked
        return {**limits, "limits": kept, **asked, "objective": str(objective_in(settings))}

    def check_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Raise `PolicyError` where the settings are not limits with a fitting profile."""
        self.check_stated(settings)
        self.profile(attributes, settings)
        if settings:
            self.limits(settings)
            self.frequencies(settings)

    def profile(self, attributes: Attributes, settings: Settings) -> Floats:
        """Return how often combinations are kept at trust factor 1, shape (m,).

        Raises
        ------
        PolicyError
            If there is none that fits the combinations.
        """
        if not settings:
            return np.ones(self.domain_of(attributes).size)
        return super().profile(attributes, settings)

    def level(self, statement: Statement, attributes: Attributes, settings: Settings) -> float:
        """Return the highest retention probability that a statement means, rounded down.

        Raises
        ------
        LevelError
            If the statement is none of the mechanism's terms, or out of range.
        """
        if not settings and "trust_factor" in statement:
            raise LevelError(
                "Without limits of combinations there is no trust factor.",
                "State the level in another way, such as a retention probability.",
            )
        return super().level(statement, attributes, settings)

    def level_within(self, gamma: float, attributes: Attributes, settings: Settings) -> float:
        """Return the highest level that keeps γ; raises `LevelError` where ε0 leaves nothing."""
        if settings:
            return super().level_within(gamma, attributes, settings)
        return retention_for_gamma(gamma, self.domain_of(attributes).size)

    def restate(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> Mapping[str, Statement]:
        """Return the level in each term; as a trust factor where there are limits."""
        restated = super().restate(level, attributes, settings)
        return {n: each for n, each in restated.items() if settings or n != "trust_factor"}

    def ladder_identity(self, attributes: Attributes, settings: Settings) -> str:
        """Return a digest of the attributes, their domains and the limits, if there are any."""
        self.domain_of(attributes)
        parts = self.ladder_parts(attributes, settings) if settings else ()
        return ladder_digest("joint ladder", 1, combined_fingerprint(attributes), *parts)

    def release(self, request: ReleaseRequest, context: Context) -> Mapping[str, pd.Series]:
        """Return the released columns: a pure function of the request."""
        attributes = request.attributes
        shown = separate_codes(self.released_codes(request, context), sizes_of(attributes))
        parts = zip(attributes, domains_of(attributes), shown, strict=True)
        return {each.name: domain.decode(own, each.name) for each, domain, own in parts}

    def released_codes(self, request: ReleaseRequest, context: Context) -> Codes:
        """Return the codes of the released combinations, shape (n,)."""
        attributes, settings = request.attributes, request.settings
        identity = self.ladder_identity(attributes, settings)
        names = json.dumps([attribute.name for attribute in attributes])
        key = request.keys.for_attribute(names, identity, self.name)
        codes, ids = self.true_codes(request), request.record_ids
        if settings:
            top = self.top(attributes, settings)
            return release_below(top, request.level, codes, ids, key, context)
        size = math.prod(sizes_of(attributes))
        return release_codes(codes, size, request.level, ids, key, context)

    def true_codes(self, request: ReleaseRequest) -> Codes:
        """Return the codes of the true combinations, shape (n,)."""
        codes = [column.values for column in request.columns]
        return combined_codes(codes, sizes_of(request.attributes))  # type: ignore[arg-type]

    def series_of(self, columns: Mapping[str, pd.Series], attributes: Attributes) -> pd.Series:
        """Return the combinations that released columns show."""
        return pd.Series(combined_series(attributes, columns))

    def promised(self, level: float, attributes: Attributes, settings: Settings) -> Sentence:
        """Say by how much a release multiplies the odds on combinations and on single values."""
        names = listed([each.name for each in attributes])
        odds = self.odds_upward(level, attributes, settings)
        highest = float(odds.max())
        if level == 0.0:
            return nothing_told(names)
        if math.isinf(highest):
            return Sentence(
                "This release can prove a person's {names}: it promises nothing.", names=names
            )
        if odds.min() == highest:
            return Sentence(
                "Whatever anyone believed about a person's {names} and how they depend on one"
                " another, this release multiplies the odds on any combination, and on any value of"
                " one of them, by at most {gamma}.",
                names=names,
                gamma=at_most(highest),
            )
        domain = self.domain_of(attributes)
        most, least = int(odds.argmin()), int(odds.argmax())
        return Sentence(
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

    def own_facts(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[PromiseFigure, ...]:
        """Return the retention probability, limits that are exceeded, and each column's odds."""
        exceeded: tuple[PromiseFigure, ...] = ()
        if settings:
            title = "Combinations whose limit is exceeded"
            exceeded = self.limit_facts(level, attributes, settings, title)
        explanation = "A combination is kept this often at most."
        return (
            PromiseFigure("p", "Retention probability", level, explanation),
            *exceeded,
            *self._facts_of_columns(level, attributes, settings),
        )

    def _facts_of_columns(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[PromiseFigure, ...]:
        """Return the largest odds factor on the values of each attribute by itself."""
        matrix, spent = self.matrix(level, attributes, settings), self.spent(level, settings)
        sizes = sizes_of(attributes)
        return tuple(
            PromiseFigure(
                "",
                Sentence("Odds factor on {name} by itself", name=attribute.name),
                whole_odds(float(odds_of_member(matrix, members(sizes, place)).up.max()), spent),
                "No released combination multiplies anyone's odds on one of its values by more.",
            )
            for place, attribute in enumerate(attributes)
        )

    def published(self, level: float, attributes: Attributes, settings: Settings) -> PublishedFacts:
        """Return p, the columns with their domains, and the guide that estimates from them."""
        matrix = self.matrix(level, attributes, settings)
        gamma = self.odds_factor(level, attributes, settings)
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
            chosen = self.frequencies(settings)
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


MECHANISM = JointRetention()


def _guide(matrix: RetentionMatrix) -> str:
    """Return the recipient's guide that fits what can be told apart."""
    never = matrix.retention == 0.0
    if never.all():
        return "joint-noise"
    return "joint-singular" if never.any() or matrix.is_singular else "joint"
