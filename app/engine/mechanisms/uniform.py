"""The uniform ladder: keep a value with probability p, otherwise replace it by any value.

Xiao, Tao and Chen, "Optimal Random Perturbation at Multiple Privacy Levels", VLDB 2009. The
level is the retention probability p: 1 is the original, 0 is noise.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence

import pandas as pd

from app.engine.columns import Domain, Kind
from app.engine.errors import LevelError, PolicyError
from app.engine.ladder import release_codes
from app.engine.mechanisms.base import (
    Check,
    Fact,
    LevelField,
    LevelTerm,
    Mechanism,
    Promise,
    PublishedFacts,
    Released,
    ReleaseRequest,
    Settings,
    Statement,
)
from app.engine.privacy import (
    check_retention,
    epsilon_of_gamma,
    retention_for_epsilon,
    retention_for_gamma,
    retention_for_rho,
    rho2_of_gamma,
)
from app.engine.progress import Context
from app.engine.retention_matrix import RetentionMatrix, uniform_matrix
from app.engine.table import Attribute
from app.engine.uniform_checks import check_against_table, check_between_releases
from app.engine.values import Codes

USUAL_RHO1 = 0.1
"""The belief beforehand for which ρ2 is shown when nobody has stated one."""

_HIGHEST, _LOWEST = 0.6, 0.01
"""The first and the last level that are proposed."""

_PROBABILITY = (0.0, 1.0)

_TERMS = (
    LevelTerm(
        "retention",
        "Retention probability",
        "The share of values that are kept on purpose; the others are replaced at random.",
        (LevelField("retention_probability", "p", *_PROBABILITY),),
    ),
    LevelTerm(
        "epsilon",
        "Privacy loss",
        "The logarithm of the most by which a release multiplies anyone's odds"
        " (local differential privacy).",
        (LevelField("epsilon", "ε", 0.001, 25.0),),
    ),
    LevelTerm(
        "rho",
        "Limits on belief",
        "Whoever held something to be at most ρ1 probable never comes to hold it more than ρ2"
        " probable.",
        (
            LevelField("rho1", "ρ1", *_PROBABILITY),
            LevelField("rho2", "ρ2", *_PROBABILITY),
        ),
    ),
    LevelTerm(
        "gamma",
        "Odds factor",
        "The most by which a release multiplies anyone's odds on anything about a value.",
        (LevelField("gamma", "γ", 1.001, 1e9),),
    ),
)

_LIMITS = (
    "How values are distributed in a group of records can be estimated, the better the larger"
    " the group. That is what the release is for.",
    "Whoever knows that records depend on one another (relatives, visits of one person) can"
    " learn more from several of them together.",
    "That somebody is in the table, and the columns that are released as they are, stay visible.",
)


class UniformLadder(Mechanism):
    """Uniform replacement at any retention probability, all levels on one ladder."""

    name = "uniform"
    title = "Uniform retention"
    summary = (
        "Each value is kept with a retention probability; otherwise it is replaced by one drawn"
        " evenly from the whole domain."
    )
    order = 10
    kinds = frozenset({Kind.CATEGORICAL})
    terms = _TERMS

    def check_attributes(self, attributes: Sequence[Attribute]) -> None:
        """Raise `PolicyError` unless there is one categorical attribute with two values."""
        if len(attributes) != 1:
            raise PolicyError(
                "Uniform retention takes one attribute at a time; {count} were given.",
                "Make a policy entry for each attribute.",
                count=len(attributes),
            )
        attribute = attributes[0]
        if attribute.domain is None:
            raise PolicyError(
                "Column {column} is numeric without bins, so uniform retention can't serve it.",
                "Group its numbers into bins, or choose a mechanism for numbers.",
                column=attribute.name,
            )
        if attribute.domain.size < 2:
            raise PolicyError(
                "The domain of column {column} has a single value, so there is nothing to hide"
                " among.",
                "Add the other values that could occur to its domain.",
                column=attribute.name,
            )

    def default_settings(self, attributes: Sequence[Attribute]) -> Settings:
        """Return no settings: the level says everything."""
        self.check_attributes(attributes)
        return {}

    def check_settings(self, attributes: Sequence[Attribute], settings: Settings) -> None:
        """Raise `PolicyError` where there are settings."""
        self.check_attributes(attributes)
        if settings:
            raise PolicyError(
                "Uniform retention has no setting called {name}.",
                "Remove it.",
                name=next(iter(settings)),
            )

    def default_statements(self, count: int) -> tuple[Statement, ...]:
        """Propose levels that fall by halves, or more slowly where there are many."""
        if count < 1:
            return ()
        steps = max(count - 1, 1)
        factor = max(0.5, (_LOWEST / _HIGHEST) ** (1.0 / steps))
        levels = (_HIGHEST * factor**place for place in range(count))
        return tuple({"retention_probability": _rounded(level)} for level in levels)

    def level(
        self, statement: Statement, attributes: Sequence[Attribute], settings: Settings
    ) -> float:
        """Return the retention probability that a statement means, rounded down.

        Raises
        ------
        LevelError
            If the statement is none of the mechanism's terms, or out of range.
        """
        size = self._domain(attributes, settings).size
        match _numbers(statement):
            case {"retention_probability": retention, **rest} if not rest:
                return check_retention(retention)
            case {"epsilon": epsilon, **rest} if not rest:
                return retention_for_epsilon(epsilon, size)
            case {"rho1": rho1, "rho2": rho2, **rest} if not rest:
                return retention_for_rho(rho1, rho2, size)
            case {"gamma": gamma, **rest} if not rest:
                return retention_for_gamma(gamma, size)
        raise LevelError(
            "A level of uniform retention can't be stated by {given}.",
            "State one of: {known}.",
            given=", ".join(statement) or "nothing",
            known="; ".join(", ".join(field.name for field in term.fields) for term in self.terms),
        )

    def restate(
        self, level: float, attributes: Sequence[Attribute], settings: Settings
    ) -> Mapping[str, Statement]:
        """Return the level in each term; ρ2 for a ρ1 of `USUAL_RHO1`.

        At p = 1 nothing is promised: ε and γ are infinite and ρ2 is 1.
        """
        gamma = self._uniform_matrix(level, attributes, settings).gamma
        return {
            "retention": {"retention_probability": level},
            "epsilon": {"epsilon": epsilon_of_gamma(gamma)},
            "rho": {"rho1": USUAL_RHO1, "rho2": rho2_of_gamma(gamma, USUAL_RHO1)},
            "gamma": {"gamma": gamma},
        }

    def trust(self, level: float) -> float:
        """Return the retention probability itself."""
        return check_retention(level)

    def ladder_identity(self, attributes: Sequence[Attribute], settings: Settings) -> str:
        """Return a digest of the attribute's name and domain: all levels share the ladder."""
        domain = self._domain(attributes, settings)
        parts = ["uniform ladder", 1, attributes[0].name, domain.fingerprint]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def release(self, request: ReleaseRequest, context: Context) -> Mapping[str, pd.Series]:
        """Return the released column: a pure function of the request."""
        domain = self._domain(request.attributes, request.settings)
        name = request.attributes[0].name
        key = request.keys.for_attribute(name, domain.fingerprint, self.name)
        codes = release_codes(
            _codes(request), domain.size, request.level, request.record_ids, key, context
        )
        return {name: domain.decode(codes, name)}

    def matrix(
        self, level: float, attributes: Sequence[Attribute], settings: Settings
    ) -> RetentionMatrix:
        """Return the perturbation matrix of a level."""
        return self._uniform_matrix(level, attributes, settings)

    def promise(self, level: float, attributes: Sequence[Attribute], settings: Settings) -> Promise:
        """Return what a release at this level promises, computed from its matrix."""
        matrix = self._uniform_matrix(level, attributes, settings)
        name = attributes[0].name
        if level == 1.0:
            sentence = f"This release shows everyone's true {name}: it promises nothing."
        elif level == 0.0:
            sentence = f"This release says nothing about anyone's {name}: all of it is random."
        else:
            sentence = (
                f"Whatever anyone believed about a person's {name}, this release multiplies the"
                f" odds by at most {_at_most(matrix.gamma)}."
            )
        return Promise(sentence, _facts(level, matrix), _LIMITS)

    def published(
        self, level: float, attributes: Sequence[Attribute], settings: Settings
    ) -> PublishedFacts:
        """Return p, m and the domain, with the guide that estimates from them."""
        domain = self._domain(attributes, settings)
        gamma = self._uniform_matrix(level, attributes, settings).gamma
        return PublishedFacts(
            parameters={
                "retention_probability": level,
                "domain_size": domain.size,
                "domain": list(domain.values),
                "odds_factor": gamma if math.isfinite(gamma) else None,
            },
            guide="uniform" if level > 0.0 else "uniform-noise",
            values={
                "retention": f"{level:.6g}",
                "domain_size": f"{domain.size:,}",
                "own_share": f"{level + (1.0 - level) / domain.size:.4%}",
                "other_share": f"{(1.0 - level) / domain.size:.4%}",
            },
        )

    def check_release(self, request: ReleaseRequest, released: Released) -> tuple[Check, ...]:
        """Examine a released column against the true one: rows, domain, retention, spread."""
        domain = self._domain(request.attributes, request.settings)
        column = released.columns[request.attributes[0].name]
        return check_against_table(domain, _codes(request), column, released.level)

    def check_pair(
        self,
        upper: Released,
        lower: Released,
        attributes: Sequence[Attribute],
        settings: Settings,
    ) -> tuple[Check, ...]:
        """Examine whether the less trusted of two releases is a garbling of the other."""
        domain = self._domain(attributes, settings)
        name = attributes[0].name
        if upper.level < lower.level:
            upper, lower = lower, upper
        return check_between_releases(
            domain, upper.columns[name], upper.level, lower.columns[name], lower.level
        )

    def _domain(self, attributes: Sequence[Attribute], settings: Settings) -> Domain:
        self.check_settings(attributes, settings)
        domain = attributes[0].domain
        if domain is None:
            raise AssertionError("the attributes were checked before")
        return domain

    def _uniform_matrix(
        self, level: float, attributes: Sequence[Attribute], settings: Settings
    ) -> RetentionMatrix:
        return uniform_matrix(check_retention(level), self._domain(attributes, settings).size)


MECHANISM = UniformLadder()


def _codes(request: ReleaseRequest) -> Codes:
    codes: Codes = request.columns[0].values  # type: ignore[assignment]
    return codes


def _numbers(statement: Statement) -> dict[str, float]:
    """Return a statement's numbers; they may come from a file."""
    for name, value in statement.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
            raise LevelError("The value of {name} is not a number.", "Give a number.", name=name)
    return dict(statement)


def _rounded(level: float) -> float:
    """Return a level to three significant digits."""
    return float(f"{level:.3g}")


def _at_most(gamma: float) -> str:
    """Return γ rounded up to a few digits, so that "at most" stays true."""
    decimals = 2 if gamma < 2.0 else 1 if gamma < 100.0 else 0
    scale = 10**decimals
    text = f"{math.ceil(gamma * scale - 1e-9) / scale:,.{decimals}f}"
    return text.removesuffix(".0")


def _facts(level: float, matrix: RetentionMatrix) -> tuple[Fact, ...]:
    odds = matrix.worst_odds_ratios()
    rho2 = matrix.rho2_for(USUAL_RHO1)
    return (
        Fact("p", "Retention probability", level, "A value is kept on purpose this often."),
        Fact("m", "Values of the domain", float(matrix.size), "Replacements are drawn from them."),
        Fact(
            "γ",
            "Odds factor, upward",
            float(odds.up.max()),
            "No released value multiplies anyone's odds on anything by more.",
        ),
        Fact(
            "1/γ",
            "Odds factor, downward",
            float(odds.down.min()),
            "No released value multiplies anyone's odds on anything by less.",
        ),
        Fact(
            "ε", "Privacy loss", matrix.epsilon, "The logarithm of γ (local differential privacy)."
        ),
        Fact("δ", "Growth of belief", matrix.delta_growth, "No belief grows by more than this."),
        Fact(
            "ρ2",
            f"Highest belief after {USUAL_RHO1:g}",
            rho2,
            f"Whoever held something to be at most {USUAL_RHO1:g} probable comes to hold it at"
            " most this probable.",
        ),
        Fact(
            "Pii",
            "Records that show their true value",
            float(matrix.diagonal[0]),
            "Kept on purpose, or replaced by the same value by chance.",
        ),
    )
