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

from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence, formatted
from sfumato.engine.ladders.base_mechanism import ProfileTop, release_below
from sfumato.engine.matrices.privacy import whole_odds
from sfumato.engine.mechanisms.base import (
    LevelField,
    LevelTerm,
    Promise,
    PublishedFacts,
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
    at_most,
    codes_of,
    domain_parameters,
    falling_factors,
    nothing_told,
)
from sfumato.engine.mechanisms.frequency_source import (
    Frequencies,
    frequencies_in,
    frequency_facts,
    records_of,
    usual_frequencies,
)
from sfumato.engine.mechanisms.per_value.limits import PrivacyLimits
from sfumato.engine.mechanisms.profile_mechanism import ProfileMechanism, exact_sentence
from sfumato.engine.table.table import Attributes

Floats = npt.NDArray[np.float64]

USUAL_THETA = 3.0
"""The tolerance that a new policy starts with."""

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


class PerValueLimits(ProfileMechanism):
    """A retention probability for each value, the best within the limits of all values."""

    name = "finegrain"
    title = "Per-value limits"
    summary = (
        "Each value has a limit of its own and is kept as often as that allows; otherwise it is"
        " replaced by one drawn evenly from the whole domain."
    )
    order = 20
    terms = _TERMS

    def default_settings(self, attributes: Attributes) -> Settings:
        """Return strict limits by the tolerance rule, for noisy counts of the table."""
        self.check_attributes(attributes)
        chosen = usual_frequencies(records_of(attributes[0]))
        return {**PrivacyLimits(theta=USUAL_THETA).to_dict(), **chosen.to_dict()}

    def limits(self, settings: Settings) -> PrivacyLimits:
        """Return the limits that settings state; raises `PolicyError` where they are none."""
        return PrivacyLimits.from_dict(settings)

    def gammas(self, attributes: Attributes, settings: Settings, shares: Floats) -> Floats:
        """Return each value's bound γ, shape (m,), by its own limit or by the tolerance rule."""
        return self.limits(settings).gammas(self.domain_of(attributes), shares)

    def frequencies(self, settings: Settings, records: int = 0) -> Frequencies:
        """Return what the profile is or was solved for."""
        return frequencies_in(settings, records)

    def check_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Raise `PolicyError` where the settings are not limits with a fitting profile."""
        self.profile(attributes, settings)
        frequencies_in(settings).of(attributes[0])

    def default_statements(self, count: int) -> tuple[Statement, ...]:
        """Propose trust factors that fall by halves from 1."""
        return falling_factors(count)

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

    def promise(self, level: float, attributes: Attributes, settings: Settings) -> Promise:
        """Return what a release at this level promises, computed from its matrix."""
        matrix = self.matrix(level, attributes, settings)
        attribute = attributes[0]
        domain = self.domain_of(attributes)
        name = attribute.name
        spent = self.spent(level, settings)
        odds = np.array([whole_odds(float(up), spent) for up in matrix.worst_odds_ratios().up])
        most, least = int(odds.argmin()), int(odds.argmax())
        if level == 0.0:
            sentence = nothing_told(name)
        elif math.isinf(spent):
            sentence = exact_sentence(name)
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
            *self.limit_facts(level, attributes, settings, "Values whose limit is exceeded"),
            *frequency_facts(spent),
            *self.matrix_facts(matrix, spent),
        )
        told = tuple(each.sentence for each in self.byproducts(attributes, settings))
        return Promise(sentence, facts, LIMITS if level == 0.0 else (*told, *LIMITS))

    def published(self, level: float, attributes: Attributes, settings: Settings) -> PublishedFacts:
        """Return the retention probabilities and the domain, with the guide to estimate."""
        domain = self.domain_of(attributes)
        matrix = self.matrix(level, attributes, settings)
        gamma = whole_odds(matrix.gamma, self.spent(level, settings))
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


MECHANISM = PerValueLimits()
