"""Any matrix: post-randomisation (PRAM) by a transition matrix that the custodian gives.

The matrix is the top rung of a ladder of its own: a recipient who is trusted less gets what it
shows, kept with probability s and otherwise replaced uniformly. The level is s, from 0 (noise)
to 1 (the matrix itself).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import pandas as pd

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence, formatted, listed
from sfumato.engine.ladders.base_mechanism import MatrixTop, release_below
from sfumato.engine.matrices.matrix import DenseMatrix
from sfumato.engine.matrices.privacy import check_retention
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
    CategoricalMechanism,
    at_most,
    codes_of,
    domain_parameters,
    falling_factors,
    nothing_told,
)
from sfumato.engine.mechanisms.matrix.transition_matrix import TransitionMatrix
from sfumato.engine.table.table import Attributes

_TERMS = (
    LevelTerm(
        "trust_factor",
        "Trust factor",
        "The share of records that show what the matrix shows; the others are replaced evenly.",
        (LevelField("trust_factor", "s", 0.0, 1.0),),
    ),
    ODDS_TERM,
    LOSS_TERM,
    BELIEF_TERM,
)

_FIRST_RETENTION = 0.5
"""The retention probability of the uniform matrix that a new policy starts with."""


_TOPS_KEPT, _LEVELS_KEPT = 4, 8
"""An edit in the window asks some twenty times for the same matrices; what follows from their
entries is kept with them."""


class AnyMatrix(CategoricalMechanism):
    """Release by a transition matrix, and down the uniform ladder from it."""

    name = "matrix"
    title = "Any matrix (PRAM)"
    summary = (
        "A transition matrix states the probability with which each value is released as each"
        " other one."
    )
    order = 30
    terms = _TERMS
    stated_level = "trust_factor"
    # A matrix is stored entry by entry; of more values, it would be none that a person gives.
    most_values = 1_000

    def __init__(self) -> None:
        super().__init__()
        self._tops: tuple[tuple[tuple[str, ...], list[list[float]], DenseMatrix], ...] = ()

    def default_settings(self, attributes: Attributes) -> Settings:
        """Return the matrix that keeps half of the values and replaces the others evenly."""
        size = self.domain_of(attributes).size
        entries = np.full((size, size), (1 - _FIRST_RETENTION) / size)
        entries[np.diag_indices(size)] += _FIRST_RETENTION
        return {"entries": entries.tolist()}

    def check_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Raise `PolicyError` where the settings hold no matrix for the domain."""
        self.top(attributes, settings)

    def top(self, attributes: Attributes, settings: Settings) -> DenseMatrix:
        """Return the matrix itself.

        Raises
        ------
        PolicyError
            If it does not fit the domain, or a column (an original value) is no distribution.
        """
        names, rows = self.domain_of(attributes).names, settings.get("entries", ())
        for known, entries, top in self._tops:
            if known == names and entries == rows:
                return top
        matrix = TransitionMatrix.from_lists(names, rows)
        problems = matrix.problems()
        if problems:
            raise PolicyError(problems[0].what, problems[0].remedy)
        top = DenseMatrix(matrix.entries)
        kept = (names, [list(row) for row in rows], top)
        self._tops = (kept, *self._tops[: _TOPS_KEPT - 1])
        return top

    def default_statements(self, count: int) -> tuple[Statement, ...]:
        """Propose trust factors that fall by halves from 1."""
        return falling_factors(count)

    def level_within(self, gamma: float, attributes: Attributes, settings: Settings) -> float:
        """Return the largest level that moves no odds by more than γ.

        Two entries a ≥ b of a row become s·a + (1 − s)/m and s·b + (1 − s)/m; their ratio
        reaches γ at (1 − s)·(γ − 1)/m = s·(a − γ·b), and the worst pair is the row's extremes.
        """
        entries = self.top(attributes, settings).dense()
        size = len(entries)
        excess = float((entries.max(axis=1) - gamma * entries.min(axis=1)).max())
        if excess <= 0:
            return 1.0
        level = (gamma - 1) / (gamma - 1 + size * excess)
        while level > 0 and self.matrix(level, attributes, settings).gamma > gamma:
            level = float(np.nextafter(level, 0.0))
        return level

    def ladder_identity(self, attributes: Attributes, settings: Settings) -> str:
        """Return a digest of the attribute's name, its domain and the matrix."""
        domain = self.domain_of(attributes)
        entries = self.top(attributes, settings).dense()
        shape = hashlib.sha256(np.ascontiguousarray(entries, dtype="<f8").tobytes()).hexdigest()
        return ladder_digest("matrix ladder", 1, attributes[0].name, domain.fingerprint, shape)

    def release(self, request: ReleaseRequest, context: Context) -> Mapping[str, pd.Series]:
        """Return the released column: a pure function of the request."""
        domain = self.domain_of(request.attributes)
        name = request.attributes[0].name
        entries = self.top(request.attributes, request.settings).dense()
        key = request.keys.for_attribute(name, domain.fingerprint, self.name)
        codes = release_below(
            MatrixTop(entries), request.level, codes_of(request), request.record_ids, key, context
        )
        return {name: domain.decode(codes, name)}

    def matrix(self, level: float, attributes: Attributes, settings: Settings) -> DenseMatrix:
        """Return the matrix of a level: s·P + (1 − s)/m."""
        return _at_level(self.top(attributes, settings), check_retention(level))

    def promise(self, level: float, attributes: Attributes, settings: Settings) -> Promise:
        """Return what a release at this level promises, computed from its matrix."""
        matrix = self.matrix(level, attributes, settings)
        name = attributes[0].name
        odds = matrix.worst_odds_ratios()
        exposed = [
            self.domain_of(attributes).names[place] for place in np.flatnonzero(np.isinf(odds.up))
        ]
        if level == 0.0:
            sentence = nothing_told(name)
        elif exposed:
            shown = listed(exposed[:3] + [Sentence("others")] * (len(exposed) > 3))
            sentence = Sentence(
                "This release can rule out everything but one value of somebody's {name}: "
                "it promises nothing for {shown}, because zeros of the matrix leave no "
                "doubt.",
                name=name,
                shown=shown,
            )
        else:
            sentence = Sentence(
                "Whatever anyone believed about a person's {name}, this release multiplies "
                "the odds on any value by at most {gamma}.",
                name=name,
                gamma=at_most(matrix.gamma),
            )
        return Promise(sentence, self.matrix_facts(matrix), LIMITS)

    def published(self, level: float, attributes: Attributes, settings: Settings) -> PublishedFacts:
        """Return the matrix and the domain, with the guide that estimates from them."""
        domain = self.domain_of(attributes)
        matrix = self.matrix(level, attributes, settings)
        return PublishedFacts(
            parameters={
                "matrix": matrix.dense().tolist(),
                **domain_parameters(domain, matrix.gamma),
            },
            guide="matrix-singular" if matrix.is_singular else "matrix",
            values={"domain_size": formatted(domain.size, ",")},
        )


@lru_cache(maxsize=_LEVELS_KEPT)
def _at_level(top: DenseMatrix, level: float) -> DenseMatrix:
    return top.mixed(level)


MECHANISM = AnyMatrix()
