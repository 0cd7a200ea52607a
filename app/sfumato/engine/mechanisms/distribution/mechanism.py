"""Retention with replacements from a published distribution, on a ladder.

A value is kept with probability p and otherwise replaced by a draw from a distribution π that
recipients are told. All levels of one π form a ladder. Where π is how often the values occur, their
released shares are right without any correction, at every level: an invariant post-randomisation
(Gouweleeuw, Kooiman, Willenborg and de Wolf, "Post randomisation for statistical disclosure
control", Journal of Official Statistics 14, 1998). The rarest value of π bounds the promise,
γ = 1 + p/((1 − p)·min π), so an even distribution is mixed in.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import DomainError, LevelError, PolicyError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import is_number
from sfumato.engine.core.wording import Sentence, formatted
from sfumato.engine.ladders.distribution import CELLS, cells_of, release_from_cells
from sfumato.engine.matrices.distribution_matrix import DistributionMatrix
from sfumato.engine.matrices.matrix import DENSE_LIMIT
from sfumato.engine.matrices.privacy import (
    check_gamma,
    check_retention,
    left_over,
    retention_for_rarest,
    whole_odds,
)
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
    PROBABILITY,
    CategoricalMechanism,
    at_most,
    check_against_matrix,
    check_between_releases,
    codes_of,
    domain_parameters,
    falling_retentions,
    nothing_told,
    numbers_of,
    stated_gamma,
    unknown_statement,
)
from sfumato.engine.mechanisms.frequency_source import (
    frequencies_in,
    frequency_facts,
    records_of,
    usual_frequencies,
)
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attributes

USUAL_EVEN_SHARE: Final = 0.1
"""The share of an even distribution that a new policy mixes in."""

_HIGHEST, _LOWEST = 0.6, 0.01
"""The first and the last level that are proposed."""

_SETTINGS = ("frequencies", "frequencies_epsilon", "noisy_counts", "shares", "even_share")

_TERMS = (
    LevelTerm(
        "retention",
        "Retention probability",
        "The share of values that are kept on purpose; the others are replaced at random.",
        (LevelField("retention_probability", "p", *PROBABILITY),),
    ),
    LOSS_TERM,
    BELIEF_TERM,
    ODDS_TERM,
)


class PublishedDistribution(CategoricalMechanism):
    """Replacement by draws from a distribution that recipients are told."""

    name = "distribution"
    title = "Published distribution"
    summary = (
        "Each value is kept with a retention probability; otherwise it is replaced by one drawn"
        " from a distribution that is published with the release."
    )
    order = 15
    terms = _TERMS
    completes_settings = True

    def domain_of(self, attributes: Attributes) -> Domain:
        """Return the attribute's domain; raises `PolicyError` where it is too large, too."""
        domain = super().domain_of(attributes)
        if domain.size > DENSE_LIMIT:
            raise PolicyError(
                "The domain of column {column} has {size:,} {size:value|values}; a published"
                " distribution takes {most:,} at most.",
                "Choose uniform retention, or group the values.",
                column=attributes[0].name,
                size=domain.size,
                most=DENSE_LIMIT,
            )
        return domain

    def default_settings(self, attributes: Attributes) -> Settings:
        """Return noisy counts of the table with a tenth of an even distribution."""
        self.check_attributes(attributes)
        chosen = usual_frequencies(records_of(attributes[0]))
        return {**chosen.to_dict(), "even_share": USUAL_EVEN_SHARE}

    def complete_settings(
        self, attributes: Attributes, settings: Settings, noise: KeyedNoise
    ) -> Settings:
        """Return the settings with the noisy counts drawn; those that are there already stay.

        Raises
        ------
        PolicyError
            If the settings are not valid for the attribute.
        """
        chosen = frequencies_in(settings, records_of(attributes[0])).drawn(attributes[0], noise)
        complete = {**settings, **chosen.to_dict(), "even_share": even_share_in(settings)}
        self.check_settings(attributes, complete)
        return complete

    def byproduct_epsilon(self, settings: Settings) -> float:
        """Return ε0 of the counts that the distribution follows from."""
        return frequencies_in(settings).cost

    def byproducts(self, attributes: Attributes, settings: Settings) -> tuple[Byproduct, ...]:
        """Return the distribution, unless the table was not asked for it."""
        cost, name = self.byproduct_epsilon(settings), attributes[0].name
        if cost == 0.0:
            return ()
        sentence = Sentence(
            "The distribution that replaced values of {name} are drawn from follows from counts of"
            " the table with noise (ε0 = {epsilon:g}). The figures above include what it tells.",
            name=name,
            epsilon=cost,
        )
        what = Sentence("the distribution of replaced values of {name}", name=name)
        return (Byproduct(what, Origin.NOISY, sentence),)

    def check_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Raise `PolicyError` where a setting is unknown or gives no distribution."""
        for name in settings:
            if name not in _SETTINGS:
                raise PolicyError(
                    "A published distribution has no setting called {name}.",
                    "Remove it.",
                    name=name,
                )
        self.cells(attributes, settings)

    def cells(self, attributes: Attributes, settings: Settings) -> tuple[int, ...]:
        """Return the distribution π in units of 1/`CELLS`, m whole numbers of at least 1.

        Raises
        ------
        PolicyError
            If the settings give none for the domain.
        """
        self.domain_of(attributes)
        shares = frequencies_in(settings).of(attributes[0])
        return _cells(tuple(shares.tolist()), even_share_in(settings))

    def default_statements(self, count: int) -> tuple[Statement, ...]:
        """Propose levels that fall by halves, or more slowly where there are many."""
        return falling_retentions(_HIGHEST, _LOWEST, count)

    def level(self, statement: Statement, attributes: Attributes, settings: Settings) -> float:
        """Return the retention probability that a statement means, rounded down.

        Raises
        ------
        LevelError
            If the statement is none of the mechanism's terms, out of range, or leaves nothing for
            the released values beside ε0.
        """
        least = min(self.cells(attributes, settings)) / CELLS
        numbers = numbers_of(statement)
        match numbers:
            case {"retention_probability": retention, **rest} if not rest:
                return check_retention(retention)
        gamma = stated_gamma(numbers)
        if gamma is None:
            raise unknown_statement(self, statement)
        check_gamma(gamma)
        cost = self.byproduct_epsilon(settings)
        left = left_over(gamma, cost)
        if left <= 1.0 < gamma:
            raise LevelError(
                "An odds factor of {gamma:.4g} leaves nothing for the released values: the"
                " published distribution alone costs ε0 = {epsilon:g}.",
                "Give a larger one, or lower ε0 of the frequencies.",
                gamma=gamma,
                epsilon=cost,
            )
        return retention_for_rarest(max(left, 1.0), least)

    def restate(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> Mapping[str, Statement]:
        """Return the level in each term; ρ2 for a ρ1 of `USUAL_RHO1`."""
        matrix = self.matrix(level, attributes, settings)
        terms = self.matrix_terms(matrix, self.byproduct_epsilon(settings))
        return {"retention": {"retention_probability": level}, **terms}

    def ladder_identity(self, attributes: Attributes, settings: Settings) -> str:
        """Return a digest of the attribute's name, its domain and the distribution."""
        cells = self.cells(attributes, settings)
        fingerprint = self.domain_of(attributes).fingerprint
        return ladder_digest("distribution ladder", 1, attributes[0].name, fingerprint, cells)

    def release(self, request: ReleaseRequest, context: Context) -> Mapping[str, pd.Series]:
        """Return the released column: a pure function of the request."""
        domain = self.domain_of(request.attributes)
        name = request.attributes[0].name
        cells = self.cells(request.attributes, request.settings)
        # Another distribution is another ladder, and draws with another key.
        purpose = json.dumps([self.name, cells])
        key = request.keys.for_attribute(name, domain.fingerprint, purpose)
        codes = release_from_cells(
            codes_of(request), cells, request.level, request.record_ids, key, context
        )
        return {name: domain.decode(codes, name)}

    def matrix(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> DistributionMatrix:
        """Return the matrix of a level: p·I + (1 − p)·π·1ᵀ."""
        return DistributionMatrix(level, np.array(self.cells(attributes, settings)) / CELLS)

    def odds_factor(self, level: float, attributes: Attributes, settings: Settings) -> float:
        """Return γ of the released values together with the distribution, at level 0 too."""
        spent = self.byproduct_epsilon(settings)
        return whole_odds(self.matrix(level, attributes, settings).gamma, spent)

    def promise(self, level: float, attributes: Attributes, settings: Settings) -> Promise:
        """Return what a release at this level promises, computed from its matrix and ε0."""
        matrix = self.matrix(level, attributes, settings)
        name, spent = attributes[0].name, self.byproduct_epsilon(settings)
        gamma = whole_odds(matrix.gamma, spent)
        if math.isinf(gamma):
            sentence = Sentence(
                "This release shows everyone's true {name}: it promises nothing.", name=name
            )
        elif gamma == 1.0:
            sentence = nothing_told(name)
        elif level == 0.0:
            sentence = Sentence(
                "All released values are random. The distribution that they are drawn from"
                " multiplies the odds on a person's {name} by at most {gamma}.",
                name=name,
                gamma=at_most(gamma),
            )
        else:
            rarest = int(matrix.distribution.argmin())
            sentence = Sentence(
                "Whatever anyone believed about a person's {name}, this release multiplies the"
                " odds by at most {gamma}, most of all those on {value}.",
                name=name,
                gamma=at_most(gamma),
                value=self.domain_of(attributes).names[rarest],
            )
        facts = (
            Fact("p", "Retention probability", level, "A value is kept on purpose this often."),
            Fact(
                "min π",
                "Rarest replacement",
                float(matrix.distribution.min()),
                "The rarer a replacement, the more its value stands out where it is released.",
            ),
            *frequency_facts(spent),
            *self.matrix_facts(matrix, spent),
        )
        told = tuple(each.sentence for each in self.byproducts(attributes, settings))
        return Promise(sentence, facts, (*told, *LIMITS))

    def published(self, level: float, attributes: Attributes, settings: Settings) -> PublishedFacts:
        """Return p, π and the domain, with the guide that estimates from them."""
        domain = self.domain_of(attributes)
        matrix = self.matrix(level, attributes, settings)
        chosen = frequencies_in(settings)
        return PublishedFacts(
            parameters={
                "retention_probability": level,
                "replacement_distribution": [float(each) for each in matrix.distribution],
                **domain_parameters(domain, self.odds_factor(level, attributes, settings)),
                "frequencies": str(chosen.source),
                "frequencies_epsilon": chosen.cost,
            },
            guide="distribution" if level > 0.0 else "distribution-noise",
            values={
                "retention": formatted(level, ".6g"),
                "domain_size": formatted(domain.size, ","),
            },
        )

    def check_release(self, request: ReleaseRequest, released: Released) -> tuple[Check, ...]:
        """Examine a released column against the true one: rows, domain, spread."""
        domain = self.domain_of(request.attributes)
        matrix = self.matrix(released.level, request.attributes, request.settings)
        column = released.columns[request.attributes[0].name]
        return check_against_matrix(domain, codes_of(request), column, matrix)

    def check_pair(
        self,
        upper: Released,
        lower: Released,
        attributes: Attributes,
        settings: Settings,
    ) -> tuple[Check, ...]:
        """Examine whether the less trusted of two releases is a garbling of the other.

        It keeps what the other shows with probability p_lower/p_upper, and else draws from π.
        """
        domain, name = self.domain_of(attributes), attributes[0].name
        if upper.level < lower.level:
            upper, lower = lower, upper
        above, below = upper.columns[name], lower.columns[name]
        try:
            codes = domain.encode(above)
        except DomainError as error:
            return (Check("Values of the more trusted release", False, error.what),)
        if upper.level == lower.level:
            return check_between_releases(domain, above, upper.level, below, lower.level)
        channel = self.matrix(lower.level / upper.level, attributes, settings)
        return check_against_matrix(domain, codes, below, channel)


MECHANISM = PublishedDistribution()


def even_share_in(settings: Mapping[str, Any]) -> float:
    """Return the share of an even distribution that settings mix in.

    Raises
    ------
    PolicyError
        Unless it is a number from 0 to 1.
    """
    share = settings.get("even_share", USUAL_EVEN_SHARE)
    if not is_number(share) or not 0.0 <= share <= 1.0:
        raise PolicyError(
            "The setting even_share is not a number from 0 to 1.",
            "Give the share of an even distribution to mix in, such as 0.1.",
        )
    return float(share)


@lru_cache(maxsize=64)
def _cells(shares: tuple[float, ...], even: float) -> tuple[int, ...]:
    return cells_of(shares, even)
