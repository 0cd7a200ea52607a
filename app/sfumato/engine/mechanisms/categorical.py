"""What the mechanisms for one categorical attribute share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.engine.core.columns import Domain, Kind
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.values import Codes
from sfumato.engine.core.wording import Sentence
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.matrices.privacy import (
    check_retention,
    delta_of_gamma,
    gamma_for_epsilon,
    gamma_for_rho,
    rho2_of_gamma,
    whole_odds,
)
from sfumato.engine.mechanisms.base import (
    Check,
    Fact,
    LevelField,
    LevelTerm,
    Mechanism,
    Released,
    ReleaseRequest,
    Settings,
    Statement,
)
from sfumato.engine.mechanisms.retention_checks import check_between_releases
from sfumato.engine.table.table import Attribute

USUAL_RHO1 = 0.1
"""The belief beforehand for which ρ2 is shown when nobody has stated one."""

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

LIMITS = (
    "How values are distributed in a group of records can be estimated, the better the larger"
    " the group. That is what the release is for.",
    "Whoever knows that records depend on one another (relatives, visits of one person) can"
    " learn more from several of them together.",
    "That somebody is in the table, and the columns that are released as they are, stay visible.",
)
"""What no perturbation of single records promises."""


class CategoricalMechanism(Mechanism):
    """A mechanism for one attribute with a domain, whose level runs from 0 (noise) to 1."""

    kinds = frozenset({Kind.CATEGORICAL})

    def check_attributes(self, attributes: Sequence[Attribute]) -> None:
        """Raise `PolicyError` unless there is one categorical attribute with two values."""
        self.domain_of(attributes)

    def domain_of(self, attributes: Sequence[Attribute]) -> Domain:
        """Return the attribute's domain.

        Raises
        ------
        PolicyError
            Unless there is one categorical attribute with two values.
        """
        if len(attributes) != 1:
            raise PolicyError(
                "{mechanism} takes one attribute at a time; {count} were given.",
                "Make a policy entry for each attribute.",
                mechanism=self.title,
                count=len(attributes),
            )
        attribute = attributes[0]
        if attribute.domain is None:
            raise PolicyError(
                "Column {column} is numeric without bins, so it can't be protected by {mechanism}.",
                "Group its numbers into bins, or choose a mechanism for numbers.",
                column=attribute.name,
                mechanism=self.title.lower(),
            )
        if attribute.domain.size < 2:
            raise PolicyError(
                "The domain of column {column} has a single value, so there is nothing to hide"
                " among.",
                "Add the other values that could occur to its domain.",
                column=attribute.name,
            )
        return attribute.domain

    def trust(self, level: float) -> float:
        """Return the level itself."""
        return check_retention(level)

    def check_pair(
        self,
        upper: Released,
        lower: Released,
        attributes: Sequence[Attribute],
        settings: Settings,
    ) -> tuple[Check, ...]:
        """Examine whether the less trusted of two releases is a garbling of the other."""
        self.check_settings(attributes, settings)
        domain = self.domain_of(attributes)
        name = attributes[0].name
        if upper.level < lower.level:
            upper, lower = lower, upper
        return check_between_releases(
            domain, upper.columns[name], upper.level, lower.columns[name], lower.level
        )

    def lost_by_changing(
        self, levels: Sequence[float], attributes: Sequence[Attribute], settings: Settings
    ) -> str:
        """Say the sum of the losses ε: each value has draws of its own, whose losses add up."""
        losses = [
            fact.value
            for level in levels
            for fact in self.promise(level, attributes, settings).facts
            if fact.symbol == "ε"
        ]
        if len(losses) < len(levels) or not math.isfinite(sum(losses)):
            return ""
        return Sentence(
            "If it is known that its value was another in each edition, the loss about which ones"
            " is ε = {total} at worst, where it is {one} for a value that is known to have stayed."
            " No figure bounds what is told of whether it stayed.",
            total=f"{math.ceil(sum(losses) * 1000 - 1e-9) / 1000:.4g}",
            one=f"{math.ceil(max(losses) * 1000 - 1e-9) / 1000:.4g}",
        )

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
    def matrix_facts(matrix: PerturbationMatrix, spent: float = 0.0) -> tuple[Fact, ...]:
        """Return the figures that any matrix gives, computed from its entries.

        With `spent` above 0, they hold for the released values together with by-products of the
        table whose privacy loss is that much.
        """
        odds = matrix.worst_odds_ratios()
        gamma = whole_odds(matrix.gamma, spent)
        return (
            Fact("m", "Values of the domain", float(matrix.size), "What a value can become."),
            Fact(
                "γ",
                "Odds factor, upward",
                whole_odds(float(odds.up.max()), spent),
                "No released value multiplies anyone's odds on anything by more.",
            ),
            Fact(
                "1/γ",
                "Odds factor, downward",
                float(odds.down.min()) * math.exp(-spent),
                "No released value multiplies anyone's odds on anything by less.",
            ),
            Fact(
                "ε",
                "Privacy loss",
                matrix.epsilon + spent,
                "The logarithm of γ (local differential privacy).",
            ),
            Fact(
                "δ", "Growth of belief", delta_of_gamma(gamma), "No belief grows by more than this."
            ),
            Fact(
                "ρ2",
                Sentence("Highest belief after {belief:g}", belief=USUAL_RHO1),
                rho2_of_gamma(gamma, USUAL_RHO1),
                Sentence(
                    "Whoever held something to be at most {belief:g} probable comes to "
                    "hold it at most this probable.",
                    belief=USUAL_RHO1,
                ),
            ),
        )


def codes_of(request: ReleaseRequest) -> Codes:
    """Return the only attribute's true codes."""
    codes: Codes = request.columns[0].values  # type: ignore[assignment]
    return codes


def numbers_of(statement: Statement) -> dict[str, Any]:
    """Return a statement's numbers; they may come from a file.

    Raises
    ------
    LevelError
        If one of them is not a number.
    """
    for name, value in statement.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
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
        "A level of {mechanism} can't be stated by {given}.",
        "State one of: {known}.",
        mechanism=mechanism.title.lower(),
        given=", ".join(statement) or "nothing",
        known="; ".join(", ".join(field.name for field in term.fields) for term in mechanism.terms),
    )


def at_most(gamma: float) -> str:
    """Return γ rounded up to a few digits, so that "at most" stays true."""
    decimals = 2 if gamma < 2.0 else 1 if gamma < 100.0 else 0
    scale = 10**decimals
    text = f"{math.ceil(gamma * scale - 1e-9) / scale:,.{decimals}f}"
    return text.removesuffix(".0")
