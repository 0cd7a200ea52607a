"""What the mechanisms for one categorical attribute share.

Released columns that keep or replace are examined against what they should be, without keys.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import Domain, Kind
from sfumato.engine.core.errors import DomainError, LevelError, PolicyError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Codes, is_number
from sfumato.engine.core.wording import Sentence, as_sentence
from sfumato.engine.matrices.goodness_of_fit import (
    ALARM,
    Retention,
    SpreadTest,
    examine_kept,
    examine_matrix,
    examine_spread,
)
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.matrices.privacy import (
    check_gamma,
    check_retention,
    delta_of_gamma,
    gamma_for_epsilon,
    gamma_for_rho,
    retention_for_gamma,
    rho2_of_gamma,
    whole_odds,
)
from sfumato.engine.matrices.retention_matrix import RetentionMatrix
from sfumato.engine.mechanisms.base import (
    Check,
    LevelField,
    LevelTerm,
    Mechanism,
    Promise,
    PromiseFigure,
    Released,
    ReleaseRequest,
    Settings,
    Statement,
    check_rows,
    ladder_digest,
)
from sfumato.engine.mechanisms.frequency_source import frequency_facts
from sfumato.engine.mechanisms.promise_words import (
    LIMITS,
    USUAL_RHO1,
    highest_belief,
    kept_this_often,
    losses_added,
)
from sfumato.engine.randomness.keys import AttributeKey
from sfumato.engine.table.table import Attributes


def refuse_single(domain: Domain, name: str) -> None:
    """Raise `PolicyError` where a column can take one value alone."""
    if domain.size < 2:
        raise PolicyError(
            "The domain of column {column} has a single value, so there is nothing to hide among.",
            "Add the other values that could occur to its domain.",
            column=name,
        )


def check_against_table(
    domain: Domain, codes: Codes, released: pd.Series, retention: Retention
) -> tuple[Check, ...]:
    """Examine one released column against the true codes.

    Parameters
    ----------
    domain
        The attribute's domain, m values.
    codes
        The true codes, shape (n,).
    released
        The released column.
    retention
        Each value's retention probability, shape (m,).
    """
    rows = check_rows(len(codes), len(released), "the table")
    seen, values = _encoded(domain, released, "Released values")
    if seen is None or not rows.holds:
        return rows, values
    if (retention == 1.0).all():
        return rows, values, _check_same(codes, seen, "the table")
    return rows, values, *_statistical(codes, seen, retention, "their true value")


def check_against_matrix(
    domain: Domain, codes: Codes, released: pd.Series, matrix: PerturbationMatrix
) -> tuple[Check, ...]:
    """Examine one released column against the true codes and any matrix.

    Parameters
    ----------
    domain
        The attribute's domain, m values.
    codes
        The true codes, shape (n,).
    released
        The released column.
    matrix
        What the release was made by.
    """
    rows = check_rows(len(codes), len(released), "the table")
    seen, values = _encoded(domain, released, "Released values")
    if seen is None or not rows.holds:
        return rows, values
    found = examine_matrix(codes, seen, matrix.dense())
    possible = Check(
        "Possible values",
        found.impossible == 0,
        Sentence(
            "{impossible:,} {impossible:record shows|records show} a value that the matrix never"
            " releases for {impossible:its|theirs}.",
            impossible=found.impossible,
        ),
    )
    return rows, values, possible, check_spread(found.spread)


def check_between_releases(
    domain: Domain, upper: pd.Series, upper_level: float, lower: pd.Series, lower_level: float
) -> tuple[Check, ...]:
    """Examine whether the lower of two released columns is a garbling of the upper one.

    On the ladder the lower release keeps what the upper one shows with probability
    p_lower/p_upper and otherwise replaces it uniformly (Xiao et al. 2009, equation 10).

    Parameters
    ----------
    domain
        The attribute's domain.
    upper, lower
        The released columns.
    upper_level, lower_level
        Their retention probabilities, the lower one not above the upper one.
    """
    rows = check_rows(len(upper), len(lower), "the more trusted release")
    above, above_values = _encoded(domain, upper, "Values of the more trusted release")
    below, below_values = _encoded(domain, lower, "Values of the less trusted release")
    checks = (rows, above_values, below_values)
    if above is None or below is None or not rows.holds:
        return checks
    if upper_level == lower_level:
        return *checks, _check_same(above, below, "the other release of this level")
    retention = np.full(domain.size, lower_level / upper_level)
    found = _statistical(above, below, retention, "what the more trusted one shows")
    return *checks, *found


def _encoded(domain: Domain, column: pd.Series, title: str) -> tuple[Codes | None, Check]:
    try:
        codes = domain.encode(column)
    except DomainError as error:
        return None, Check(title, False, error.what)
    return codes, Check(title, True, "All values are in the domain.")


def _check_same(expected: npt.NDArray[np.generic], seen: Codes, whose: str) -> Check:
    differing = np.flatnonzero(expected != seen)
    if len(differing):
        finding = Sentence(
            "{differing:,} {differing:record differs|records differ} from {whose}, first in row"
            " {first:,}.",
            differing=len(differing),
            whose=whose,
            first=differing[0] + 1,
        )
    else:
        finding = Sentence("Every record shows the same value as {whose}.", whose=whose)
    return Check("Equal values", len(differing) == 0, finding)


def _statistical(
    origin: Codes, seen: Codes, retention: Retention, what: str
) -> tuple[Check, Check]:
    kept = examine_kept(origin, seen, retention)
    spread = examine_spread(origin, seen, retention)
    share = kept.kept / kept.records
    kept_check = Check(
        "Retained values",
        kept.holds,
        Sentence(
            "{kept:,} of {records:,} {records:record|records} ({share:.2%}) {kept:shows|show}"
            " {what}; {expected_share:.2%} are expected (chance {chance:.2g}). {alarm}",
            kept=kept.kept,
            records=kept.records,
            share=share,
            what=what,
            expected_share=kept.expected_share,
            chance=kept.chance,
            alarm=ALARM,
        ),
    )
    return kept_check, check_spread(spread)


def check_spread(spread: SpreadTest, title: str = "Spread of released values") -> Check:
    """Say what was found of how released values spread."""
    if spread.freedom == 0:
        finding = "There are too few records to examine how replaced values spread."
    else:
        finding = Sentence(
            "Released values spread over the domain with chi-square {statistic:,.1f}; "
            "about {freedom:,} is expected (chance {chance:.2g}). {alarm}",
            statistic=spread.statistic,
            freedom=spread.freedom,
            chance=spread.chance,
            alarm=ALARM,
        )
    return Check(title, spread.holds, finding)


PROBABILITY = (0.0, 1.0)
"""The range of a probability."""

LOSS_TERM = LevelTerm(
    "epsilon",
    "Privacy loss",
    "The logarithm of the most by which a release multiplies anyone's odds"
    " (local differential privacy).",
    (LevelField("epsilon", "ε", 0.001, 25.0),),
)

BELIEF_TERM = LevelTerm(
    "rho",
    "Limits on belief",
    "Whoever held something to be at most ρ1 probable never comes to hold it more than ρ2"
    " probable.",
    (LevelField("rho1", "ρ1", *PROBABILITY), LevelField("rho2", "ρ2", *PROBABILITY)),
)

ODDS_TERM = LevelTerm(
    "gamma",
    "Odds factor",
    "The most by which a release multiplies anyone's odds on anything about a value.",
    (LevelField("gamma", "γ", 1.001, 1e9),),
)

RETENTION_TERM = LevelTerm(
    "retention",
    "Retention probability",
    "The share of values that are kept on purpose; the others are replaced at random.",
    (LevelField("retention_probability", "p", *PROBABILITY),),
)

USUAL_TERMS = (RETENTION_TERM, LOSS_TERM, BELIEF_TERM, ODDS_TERM)


class CategoricalMechanism(Mechanism):
    """A mechanism for one attribute with a domain, whose level runs from 0 (noise) to 1."""

    kinds = frozenset({Kind.CATEGORICAL})
    terms: ClassVar[tuple[LevelTerm, ...]] = USUAL_TERMS
    stated_level: ClassVar[str] = "retention_probability"
    """The field that states the level itself, of a term with no other."""
    most_values: ClassVar[int | None] = None
    """How many values a domain may have; None for any number."""
    ladder: ClassVar[tuple[str, int]]
    """By what digests tell its ladders from others: a name, and the version of their releases."""

    def check_attributes(self, attributes: Attributes) -> None:
        """Raise `PolicyError` unless there is one categorical attribute with two values."""
        self.domain_of(attributes)

    def domain_of(self, attributes: Attributes) -> Domain:
        """Return the attribute's domain.

        Raises
        ------
        PolicyError
            Unless there is one categorical attribute with two values, and not too many.
        """
        attribute = self.only_one(attributes)
        if attribute.domain is None:
            raise PolicyError(
                "{mechanism} works on categories, and column {column} is numeric without bins.",
                "Group its numbers into bins, or choose a mechanism for numbers.",
                column=attribute.name,
                mechanism=as_sentence(self.title),
            )
        refuse_single(attribute.domain, attribute.name)
        if self.most_values is not None and attribute.domain.size > self.most_values:
            raise PolicyError(
                "{mechanism} takes {most:,} {most:value|values} at most; the domain of column"
                " {column} has {size:,}.",
                "Choose uniform retention or per-value limits, or group the values.",
                column=attribute.name,
                size=attribute.domain.size,
                mechanism=as_sentence(self.title),
                most=self.most_values,
            )
        return attribute.domain

    def default_statements(self, count: int) -> tuple[Statement, ...]:
        """Propose levels that fall by halves, or more slowly where there are many."""
        return falling_retentions(0.6, 0.01, count)

    def level(self, statement: Statement, attributes: Attributes, settings: Settings) -> float:
        """Return the level that a statement means, rounded down.

        Raises
        ------
        LevelError
            If the statement is none of the mechanism's terms, or out of range.
        """
        self.check_settings(attributes, settings)
        numbers = numbers_of(statement)
        if numbers.keys() == {self.stated_level}:
            return check_retention(numbers[self.stated_level])
        gamma = stated_gamma(numbers)
        if gamma is None:
            raise unknown_statement(self, statement)
        check_gamma(gamma)
        return self.level_within(gamma, attributes, settings)

    def level_within(self, gamma: float, attributes: Attributes, settings: Settings) -> float:
        """Return the highest level at which a release multiplies no odds by more than γ.

        Raises
        ------
        LevelError
            If there is none.
        """
        return retention_for_gamma(gamma, self.domain_of(attributes).size)

    def spent(self, level: float, settings: Settings) -> float:
        """Return ε0 of what a release at a level tells beside its values."""
        return self.byproduct_epsilon(settings)

    def restate(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> Mapping[str, Statement]:
        """Return the level in each term; ρ2 for a ρ1 of `USUAL_RHO1`.

        Where nothing is promised, ε and γ are infinite and ρ2 is 1.
        """
        matrix = self.matrix(level, attributes, settings)
        itself = next(t for t in self.terms if [f.name for f in t.fields] == [self.stated_level])
        stated = {itself.name: {self.stated_level: level}}
        return {**stated, **self.matrix_terms(matrix, self.spent(level, settings))}

    def trust(self, level: float) -> float:
        """Return the level itself."""
        return check_retention(level)

    def shared(self, level: float, rows: int, attributes: Attributes, settings: Settings) -> float:
        """Return the level at which γ(row)^rows is at most γ(level)."""
        if rows == 1:
            return level
        allowed = self.matrix(level, attributes, settings).epsilon
        if np.isinf(allowed):
            return level
        low, high = 0.0, self.trust(level)
        for _ in range(60):
            middle = (low + high) / 2.0
            if middle in (low, high):
                break
            own = self.epsilon_at(middle, attributes, settings)
            low, high = (middle, high) if own * rows <= allowed else (low, middle)
        return low

    def epsilon_at(self, level: float, attributes: Attributes, settings: Settings) -> float:
        """Return ε of a level's matrix, for settings that are checked."""
        return self.matrix(level, attributes, settings).epsilon

    def odds_factor(self, level: float, attributes: Attributes, settings: Settings) -> float:
        """Return γ of the released values together with what is told beside them."""
        gamma = self.matrix(level, attributes, settings).gamma
        return whole_odds(gamma, self.spent(level, settings))

    def ladder_identity(self, attributes: Attributes, settings: Settings) -> str:
        """Return a digest of the attribute's name, its domain and what else makes the ladder."""
        parts = self.ladder_parts(attributes, settings)
        fingerprint = self.domain_of(attributes).fingerprint
        kind, version = self.ladder
        whole = (f"{kind} ladder", version, attributes[0].name, fingerprint, *parts)
        return ladder_digest(*whole)

    def ladder_parts(self, attributes: Attributes, settings: Settings) -> tuple[object, ...]:
        """Return what makes the ladder beside the domain, as plain JSON values."""
        return ()

    def release(self, request: ReleaseRequest, context: Context) -> Mapping[str, pd.Series]:
        """Return the released column: a pure function of the request."""
        attributes, name = request.attributes, request.attributes[0].name
        domain = self.shown_domain(attributes, request.settings) or self.domain_of(attributes)
        return {name: domain.decode(self.released_codes(request, context), name)}

    @abstractmethod
    def released_codes(self, request: ReleaseRequest, context: Context) -> Codes:
        """Return the codes that are released, shape (n,)."""

    def key(self, request: ReleaseRequest, purpose: str) -> AttributeKey:
        """Return the request's key for the attribute with its domain, and a purpose."""
        fingerprint = self.domain_of(request.attributes).fingerprint
        return request.keys.for_attribute(request.attributes[0].name, fingerprint, purpose)

    def true_codes(self, request: ReleaseRequest) -> Codes:
        """Return the true codes, shape (n,)."""
        return request.columns[0].values  # type: ignore[return-value]

    def series_of(self, columns: Mapping[str, pd.Series], attributes: Attributes) -> pd.Series:
        """Return released columns as one column of the domain's values.

        Raises
        ------
        DomainError
            If they can't be put together.
        """
        return columns[attributes[0].name]

    def promise(self, level: float, attributes: Attributes, settings: Settings) -> Promise:
        """Return what a release at this level promises, computed from its matrix."""
        return Promise(
            self.promised(level, attributes, settings),
            self.facts(level, attributes, settings),
            self.not_promised(level, attributes, settings),
        )

    @abstractmethod
    def promised(self, level: float, attributes: Attributes, settings: Settings) -> str:
        """Say in one sentence what a release at this level promises."""

    def facts(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[PromiseFigure, ...]:
        """Return the figures behind the promise."""
        spent = self.spent(level, settings)
        return (
            *self.own_facts(level, attributes, settings),
            *frequency_facts(spent),
            *self.matrix_facts(self.matrix(level, attributes, settings), spent),
        )

    def own_facts(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[PromiseFigure, ...]:
        """Return the figures that the matrix alone does not give."""
        return (kept_this_often(level),)

    def not_promised(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[str, ...]:
        """Say what recipients are told beside the values, and what no release promises."""
        told = self.byproducts(attributes, settings) if self.spent(level, settings) else ()
        return (*(each.sentence for each in told), *LIMITS)

    @abstractmethod
    def matrix(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> PerturbationMatrix:
        """Return the perturbation matrix of a level."""

    def check_release(self, request: ReleaseRequest, released: Released) -> tuple[Check, ...]:
        """Examine a released column against the true one: rows, domain, and the matrix's law."""
        attributes, settings = request.attributes, request.settings
        domain, codes = self.domain_of(attributes), self.true_codes(request)
        matrix = self.matrix(released.level, attributes, settings)
        try:
            column = self.series_of(released.columns, attributes)
        except DomainError as error:
            return (Check("Released values", False, error.what),)
        if isinstance(matrix, RetentionMatrix):
            return check_against_table(domain, codes, column, matrix.retention)
        return check_against_matrix(domain, codes, column, matrix)

    def garbling(
        self, upper: float, lower: float, attributes: Attributes, settings: Settings
    ) -> PerturbationMatrix | None:
        """Return what makes the release at a lower level from that at an upper one.

        None for uniform replacement, whatever made the upper one.
        """
        return None

    def check_garbling(
        self, upper: Released, lower: Released, attributes: Attributes, settings: Settings
    ) -> tuple[Check, ...]:
        """Examine whether the less trusted of two releases, `lower`, is a garbling of `upper`."""
        self.check_settings(attributes, settings)
        domain, channel = self.domain_of(attributes), None
        try:
            above, below = (self.series_of(each.columns, attributes) for each in (upper, lower))
        except DomainError as error:
            return (Check("Released values", False, error.what),)
        if upper.level != lower.level:
            channel = self.garbling(upper.level, lower.level, attributes, settings)
        if channel is None:
            return check_between_releases(domain, above, upper.level, below, lower.level)
        try:
            codes = domain.encode(above)
        except DomainError as error:
            return (Check("Values of the more trusted release", False, error.what),)
        return check_against_matrix(domain, codes, below, channel)

    def lost_by_changing(
        self, levels: Sequence[float], attributes: Attributes, settings: Settings
    ) -> str:
        """Say the sum of the losses ε: each value has draws of its own, whose losses add up."""
        losses = [
            fact.value
            for level in levels
            for fact in self.promise(level, attributes, settings).facts
            if fact.symbol == "ε"
        ]
        return losses_added(losses) if len(losses) == len(levels) else ""

    @staticmethod
    def matrix_terms(matrix: PerturbationMatrix, spent: float = 0.0) -> Mapping[str, Statement]:
        """Return a promise as γ, as ε and as ρ2 for a ρ1 of `USUAL_RHO1`.

        Parameters
        ----------
        matrix
            How values are perturbed.
        spent
            ε0 of what recipients are told beside the values.
        """
        gamma = whole_odds(matrix.gamma, spent)
        return {
            "epsilon": {"epsilon": matrix.epsilon + spent},
            "rho": {"rho1": USUAL_RHO1, "rho2": rho2_of_gamma(gamma, USUAL_RHO1)},
            "gamma": {"gamma": gamma},
        }

    @staticmethod
    def matrix_facts(matrix: PerturbationMatrix, spent: float = 0.0) -> tuple[PromiseFigure, ...]:
        """Return the figures that any matrix gives, computed from its entries.

        With `spent` above 0, they hold for the released values together with by-products of the
        table whose privacy loss is that much.
        """
        odds = matrix.worst_odds_ratios()
        gamma = whole_odds(matrix.gamma, spent)
        return (
            PromiseFigure(
                "m", "Values of the domain", float(matrix.size), "What a value can become."
            ),
            PromiseFigure(
                "γ",
                "Odds factor, upward",
                whole_odds(float(odds.up.max()), spent),
                "No released value multiplies anyone's odds on anything by more.",
            ),
            PromiseFigure(
                "1/γ",
                "Odds factor, downward",
                float(odds.down.min()) * math.exp(-spent),
                "No released value multiplies anyone's odds on anything by less.",
            ),
            PromiseFigure(
                "ε",
                "Privacy loss",
                matrix.epsilon + spent,
                "The logarithm of γ (local differential privacy).",
            ),
            PromiseFigure(
                "δ", "Growth of belief", delta_of_gamma(gamma), "No belief grows by more than this."
            ),
            highest_belief(gamma),
        )


def falling_retentions(first: float, last: float, count: int) -> tuple[Statement, ...]:
    """Propose retention probabilities that fall by halves, or more slowly where there are many."""
    factor = max(0.5, (last / first) ** (1.0 / max(count - 1, 1)))
    levels = (first * factor**place for place in range(count))
    return tuple({"retention_probability": float(f"{level:.3g}")} for level in levels)


def falling_factors(count: int) -> tuple[Statement, ...]:
    """Propose trust factors that fall by halves from 1."""
    return tuple({"trust_factor": float(f"{0.5**place:.3g}")} for place in range(count))


def domain_parameters(domain: Domain, gamma: float) -> dict[str, Any]:
    """Return what recipients of any categorical release are told of the domain and the odds."""
    return {
        "domain_size": domain.size,
        "domain": list(domain.values),
        "odds_factor": gamma if math.isfinite(gamma) else None,
    }


def numbers_of(statement: Statement) -> dict[str, Any]:
    """Return a statement's numbers; they may come from a file.

    Raises
    ------
    LevelError
        If one of them is not a number.
    """
    for name, value in statement.items():
        if not is_number(value) or math.isnan(value):
            raise LevelError("The value of {name} is not a number.", "Give a number.", name=name)
    return dict(statement)


def stated_gamma(numbers: Mapping[str, float]) -> float | None:
    """Return the bound γ that a statement of ε, of (ρ1, ρ2) or of γ itself means, else None.

    Raises
    ------
    LevelError
        If it is out of range.
    """
    match dict(numbers):
        case {"gamma": gamma, **rest} if not rest:
            return gamma
        case {"epsilon": epsilon, **rest} if not rest:
            return gamma_for_epsilon(epsilon)
        case {"rho1": rho1, "rho2": rho2, **rest} if not rest:
            return gamma_for_rho(rho1, rho2)
    return None


def unknown_statement(mechanism: Mechanism, statement: Statement) -> LevelError:
    """Return the error for a statement in none of a mechanism's terms."""
    return LevelError(
        "{mechanism}: a level can't be stated by {given}.",
        "State one of: {known}.",
        mechanism=as_sentence(mechanism.title),
        given=", ".join(statement) or "nothing",
        known="; ".join(", ".join(field.name for field in term.fields) for term in mechanism.terms),
    )
