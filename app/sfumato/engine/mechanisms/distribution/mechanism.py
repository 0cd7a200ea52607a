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

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import is_number
from sfumato.engine.core.wording import Sentence, formatted
from sfumato.engine.ladders.distribution import CELLS, cells_of, release_from_cells
from sfumato.engine.matrices.distribution_matrix import DistributionMatrix
from sfumato.engine.matrices.matrix import DENSE_LIMIT
from sfumato.engine.matrices.privacy import (
    retention_for_rarest,
    whole_odds,
)
from sfumato.engine.mechanisms.base import (
    Byproduct,
    Fact,
    Origin,
    Promise,
    PublishedFacts,
    ReleaseRequest,
    Settings,
    ladder_digest,
)
from sfumato.engine.mechanisms.categorical import (
    LIMITS,
    CategoricalMechanism,
    at_most,
    codes_of,
    domain_parameters,
    nothing_told,
)
from sfumato.engine.mechanisms.frequency_source import (
    frequencies_in,
    frequency_facts,
    left_for_levels,
    records_of,
    usual_frequencies,
)
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attributes

USUAL_EVEN_SHARE: Final = 0.1
"""The share of an even distribution that a new policy mixes in."""

_SETTINGS = ("frequencies", "frequencies_epsilon", "noisy_counts", "shares", "even_share")


class PublishedDistribution(CategoricalMechanism):
    """Replacement by draws from a distribution that recipients are told."""

    name = "distribution"
    title = "Published distribution"
    summary = (
        "Each value is kept with a retention probability; otherwise it is replaced by one drawn"
        " from a distribution that is published with the release."
    )
    order = 15
    completes_settings = True
    most_values = DENSE_LIMIT

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

    def level_within(self, gamma: float, attributes: Attributes, settings: Settings) -> float:
        """Return the retention probability for γ; raises `LevelError` where ε0 leaves nothing."""
        least = min(self.cells(attributes, settings)) / CELLS
        return retention_for_rarest(left_for_levels(gamma, self.byproduct_epsilon(settings)), least)

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

    def garbling(
        self, upper: float, lower: float, attributes: Attributes, settings: Settings
    ) -> DistributionMatrix:
        """Return what keeps a released value with probability p_lower/p_upper, or draws from π."""
        return self.matrix(lower / upper, attributes, settings)


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
