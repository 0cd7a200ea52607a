"""The uniform ladder: keep a value with probability p, otherwise replace it by any value.

Xiao, Tao and Chen, "Optimal Random Perturbation at Multiple Privacy Levels", VLDB 2009. The
level is the retention probability p: 1 is the original, 0 is noise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Codes, Domain
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence, formatted
from sfumato.engine.ladders.adopted_ladder import KnownRung, release_between
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.matrices.privacy import (
    check_retention,
)
from sfumato.engine.matrices.retention_matrix import RetentionMatrix, uniform_matrix
from sfumato.engine.mechanisms.adoption import (
    adopted_identity,
    check_adopted_rows,
    check_adopted_settings,
    release_by_coverage,
    rungs_in,
    without_adopted,
)
from sfumato.engine.mechanisms.base import (
    Fact,
    Promise,
    PublishedFacts,
    ReleaseRequest,
    Settings,
    check_known,
    ladder_digest,
)
from sfumato.engine.mechanisms.categorical import (
    LIMITS,
    CategoricalMechanism,
    all_told,
    at_most,
    codes_of,
    domain_parameters,
    nothing_told,
)
from sfumato.engine.mechanisms.uniform.adoption import UniformAdopting
from sfumato.engine.randomness.keys import AttributeKey
from sfumato.engine.table.table import Attributes


class UniformLadder(CategoricalMechanism, UniformAdopting):
    """Uniform replacement at any retention probability, all levels on one ladder."""

    name = "uniform"
    title = "Uniform retention"
    summary = (
        "Each value is kept with a retention probability; otherwise it is replaced by one drawn"
        " evenly from the whole domain."
    )
    order = 10

    def recommendation(self, attributes: Attributes) -> str:
        """Recommend it where nothing is known of the values but which there are."""
        return Sentence(
            "{count:,} {count:value|values}, and one number says how far a recipient is trusted"
            " with all of them.",
            count=self.domain_of(attributes).size,
        )

    def default_settings(self, attributes: Attributes) -> Settings:
        """Return no settings: the level says everything."""
        self.check_attributes(attributes)
        return {}

    def check_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Raise `PolicyError` or `LevelError` where a setting is unknown or not valid.

        The only setting there is tells of adopted releases.
        """
        self.check_attributes(attributes)
        check_known(self.title, without_adopted(settings))
        check_adopted_settings(settings)
        for rung in rungs_in(settings):
            self.check_adopted_level(rung["level"])

    def ladder_identity(self, attributes: Attributes, settings: Settings) -> str:
        """Return a digest of the attribute's name and domain, and of adopted rungs.

        All levels share the ladder.
        """
        domain = self._domain(attributes, settings)
        parts: list[object] = ["uniform ladder", 1, attributes[0].name, domain.fingerprint]
        if adopted := adopted_identity(settings):
            parts.append(adopted)
        return ladder_digest(*parts)

    def release(self, request: ReleaseRequest, context: Context) -> Mapping[str, pd.Series]:
        """Return the released column: a pure function of the request.

        Where earlier releases were adopted, it is fitted between them.
        """
        domain = self._domain(request.attributes, request.settings)
        name = request.attributes[0].name
        check_adopted_rows(request.settings, request.adopted)
        if request.adopted:
            ladder = self.ladder_identity(request.attributes, request.settings)
            between = partial(self._between, domain, ladder)
            return {name: domain.decode(release_by_coverage(request, between, context), name)}
        key = request.keys.for_attribute(name, domain.fingerprint, self.name)
        codes = release_codes(
            codes_of(request), domain.size, request.level, request.record_ids, key, context
        )
        return {name: domain.decode(codes, name)}

    def _between(
        self, domain: Domain, ladder: str, request: ReleaseRequest, context: Context
    ) -> Codes:
        """Return the released codes of records that all adopted rungs of a ladder have."""
        name = request.attributes[0].name

        def key_of(purpose: str) -> AttributeKey:
            whole = json.dumps([self.name, "adopted", ladder, purpose])
            return request.keys.for_attribute(name, domain.fingerprint, whole)

        codes = codes_of(request)
        known = [
            KnownRung(one.level, np.asarray(one.values[name]).astype(codes.dtype, copy=False))
            for one in request.adopted
        ]
        return release_between(
            codes, domain.size, request.level, request.record_ids, key_of, known, context
        )

    def matrix(self, level: float, attributes: Attributes, settings: Settings) -> RetentionMatrix:
        """Return the perturbation matrix of a level."""
        return uniform_matrix(check_retention(level), self._domain(attributes, settings).size)

    def promise(self, level: float, attributes: Attributes, settings: Settings) -> Promise:
        """Return what a release at this level promises, computed from its matrix."""
        matrix = self.matrix(level, attributes, settings)
        name = attributes[0].name
        if level == 1.0:
            sentence = all_told(name)
        elif level == 0.0:
            sentence = nothing_told(name)
        else:
            sentence = Sentence(
                "Whatever anyone believed about a person's {name}, this release multiplies "
                "the odds by at most {gamma}.",
                name=name,
                gamma=at_most(matrix.gamma),
            )
        return Promise(sentence, _facts(level, matrix), LIMITS)

    def published(self, level: float, attributes: Attributes, settings: Settings) -> PublishedFacts:
        """Return p, m and the domain, with the guide that estimates from them."""
        domain = self._domain(attributes, settings)
        gamma = self.matrix(level, attributes, settings).gamma
        return PublishedFacts(
            parameters={
                "retention_probability": level,
                **domain_parameters(domain, gamma),
            },
            guide="uniform" if level > 0.0 else "uniform-noise",
            values={
                "retention": formatted(level, ".6g"),
                "domain_size": formatted(domain.size, ","),
                "own_share": formatted(level + (1.0 - level) / domain.size, ".4%"),
                "other_share": formatted((1.0 - level) / domain.size, ".4%"),
            },
        )

    def _domain(self, attributes: Attributes, settings: Settings) -> Domain:
        self.check_settings(attributes, settings)
        return self.domain_of(attributes)


MECHANISM = UniformLadder()


def _facts(level: float, matrix: RetentionMatrix) -> tuple[Fact, ...]:
    return (
        Fact("p", "Retention probability", level, "A value is kept on purpose this often."),
        *CategoricalMechanism.matrix_facts(matrix),
        Fact(
            "Pii",
            "Records that show their true value",
            float(matrix.diagonal[0]),
            "Kept on purpose, or replaced by the same value by chance.",
        ),
    )
