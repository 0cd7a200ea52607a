"""Per-value limits: as much of each value is kept as its own privacy limit allows.

Chaytor, Wang and Brantingham, "Fine-Grain Perturbation for Privacy Preserving Data Publishing",
2010, put on a ladder: the optimal profile p is the top, and a recipient's trust factor τ scales
the whole of it. The level is s = τ·max p, the retention probability of the value that keeps
most, from 0 (noise) to 1.

`utility_curve` compares what fine-grain and uniform perturbation keep, over the tolerance θ. The
experiment of Chaytor, Wang and Brantingham 2010, section V (Fig. 5): limits by the
tolerance rule, record utility of the optimal fine-grain profile and of the uniform matrix for
the tightest limit, and aggregate utility of frequencies estimated from repeated draws, by the
inverse matrix and by iterative Bayesian reconstruction.

The draws come from the ladders themselves under a key that everyone knows: nothing here is
released, and the same question has the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.core.values import (
    Codes,
    Floats,
    Integers,
    count_codes,
    smallest_unsigned,
)
from sfumato.engine.core.wording import Sentence, formatted
from sfumato.engine.ladders.alias_sampling import ProfileTop, release_below
from sfumato.engine.matrices.estimate import UtilityPoint, utility_of
from sfumato.engine.matrices.privacy import retention_for_gamma
from sfumato.engine.matrices.retention_matrix import RetentionMatrix
from sfumato.engine.mechanisms.base import (
    LevelField,
    LevelTerm,
    PromiseFigure,
    PublishedFacts,
    ReleaseRequest,
    Settings,
    Statement,
)
from sfumato.engine.mechanisms.categorical import (
    BELIEF_TERM,
    LOSS_TERM,
    ODDS_TERM,
    domain_parameters,
    falling_factors,
)
from sfumato.engine.mechanisms.count_solver import solve_for
from sfumato.engine.mechanisms.frequency_source import (
    Frequencies,
    frequencies_in,
    records_of,
    usual_frequencies,
)
from sfumato.engine.mechanisms.promise_words import at_most, nothing_told
from sfumato.engine.mechanisms.retention_profiles import (
    MODE,
    RHOS,
    ProfileMechanism,
    exact_sentence,
    gamma_of_limits,
    objective_in,
    profile_settings,
)
from sfumato.engine.mechanisms.retention_solver import (
    BreachMode,
    Objective,
    Profile,
    solve,
    violations,
)
from sfumato.engine.mechanisms.setting_specs import NumberSpec, TableSpec, TextSpec
from sfumato.engine.randomness.keys import SECRET_BYTES, KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from sfumato.engine.table.table import Attributes

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


def gammas_by_tolerance(frequencies: Floats, theta: float) -> Floats:
    """Return γ_i for ρ1i = f_i and ρ2i = θ·f_i, infinite where f_i ≥ 1/θ (section V).

    Parameters
    ----------
    frequencies
        The values' shares, shape (m,). A value that does not occur gets the limit of f → 0,
        which is θ.
    theta
        How many times as likely a value may become, above 1.

    Raises
    ------
    LevelError
        If θ is not above 1.
    """
    if not (np.isfinite(theta) and theta > 1):
        raise LevelError("The tolerance θ must be above 1.", "Give a factor such as 2 or 5.")
    free = frequencies * theta >= 1
    bounded = np.where(free, 0.0, frequencies)
    return np.where(free, np.inf, theta * (1 - bounded) / (1 - theta * bounded))


@dataclass(frozen=True)
class Binding:
    """Limits of one tightness that hold retention probabilities down.

    Parameters
    ----------
    values
        The values that have them, by their places in the domain.
    held
        The other values that they hold down, by their places.
    gamma
        The bound γ that they share.
    kept, kept_if_looser
        The expected share of unchanged records now, and at γ·`LOOSER` for these limits alone.
    """

    values: tuple[int, ...]
    held: tuple[int, ...]
    gamma: float
    kept: float
    kept_if_looser: float


LOOSER = 1.5
"""By how much a limit's γ is raised to see what that would gain."""
_TIGHT = 1e-9
_MOST_TRIED = 8


def binding_limits(
    profile: Profile, frequencies: Floats, objective: Objective = Objective.VALUES
) -> tuple[Binding, ...]:
    """Return which limits hold retention probabilities down, those that cost most first.

    A limit binds where one of its constraints holds with equality: then it holds down the value
    itself, and every value that stands beside it in such a constraint. What it costs is found by
    solving again with a looser one. At most `_MOST_TRIED` degrees of tightness are tried, the
    tightest first.

    Parameters
    ----------
    profile
        Retention probabilities at the optimum, with their limits.
    frequencies
        The shares for which they were found, shape (m,).
    objective
        What they are best at.
    """
    gammas, kept, size = profile.gammas, profile.retention, len(profile.gammas)
    tight = violations(kept, gammas, profile.mode) >= -_TIGHT
    now = profile.record_utility(frequencies)
    found = []
    for gamma in np.unique(gammas[tight])[:_MOST_TRIED]:
        values = np.flatnonzero(gammas == gamma)
        held = np.zeros(size, dtype=np.bool_)
        for value in values[tight[values]]:
            allowed = (gamma - 1.0) * (1.0 - _TIGHT)
            beside = (size - 1) * kept[value] + gamma * kept >= allowed
            if profile.mode is BreachMode.STRICT:
                beside |= (size - 1) * kept + gamma * kept[value] >= allowed
            beside[value] = False
            held |= beside
        held[values] = False
        raised = np.where(gammas == gamma, gamma * LOOSER, gammas)
        looser = solve_for(objective, frequencies, raised, profile.mode)
        then = looser.record_utility(frequencies)
        if then > now + _TIGHT:
            others = tuple(np.flatnonzero(held).tolist())
            found.append(Binding(tuple(values.tolist()), others, float(gamma), now, then))
    return tuple(sorted(found, key=lambda each: -each.kept_if_looser))


@dataclass(frozen=True)
class PerValueLimit:
    """One statement about one value: a belief of at most ρ1 must not rise above ρ2.

    Parameters
    ----------
    value
        The value's name in the domain.
    rho1, rho2
        The limits, 0 < ρ1 < ρ2 < 1.
    """

    value: str
    rho1: float
    rho2: float


THETA: Final = NumberSpec(
    name="theta",
    title="Tolerance θ",
    gloss="how many times as likely a value without limits of its own may become; without it,"
    " such values have no limit",
    least=1.0,
    above=True,
    symbol="θ",
    decimals=2,
)
LIMITS: Final = TableSpec(
    name="limits",
    title="Limits of the values",
    gloss="limits of single values: a belief of at most rho1 must not rise above rho2",
    usual=(),
    keys=(TextSpec(name="value", title="Value", gloss="the value's name"), *RHOS),
)


@dataclass(frozen=True)
class PrivacyLimits:
    """All that a custodian has said about how far values may be revealed.

    Parameters
    ----------
    mode
        Which breaches are ruled out.
    theta
        The tolerance: a value without limits of its own gets ρ1 = f and ρ2 = θ·f. None where
        such values have no limit.
    stated
        Limits of single values. A value may have several, for different background knowledge;
        the tightest one counts (Chaytor et al. 2010, section IV).
    """

    mode: BreachMode = BreachMode.STRICT
    theta: float | None = None
    stated: tuple[PerValueLimit, ...] = ()

    def gammas(self, domain: Domain, frequencies: Floats) -> Floats:
        """Return each value's bound γ, shape (m,), infinite where it has none.

        Raises
        ------
        LevelError
            If a limit is out of range, naming the value.
        PolicyError
            If a limit is for a value that the domain does not have.
        """
        size = domain.size
        gammas = np.full(size, np.inf)
        if self.theta is not None:
            gammas = gammas_by_tolerance(frequencies, self.theta)
        positions = positions_by_name(domain)
        tightest = np.full(size, np.inf)
        own = np.zeros(size, dtype=np.bool_)
        for limit in self.stated:
            place = positions.get(limit.value)
            if place is None:
                raise PolicyError(
                    "The limits name a value, {value}, that the domain does not have.",
                    "Remove it, or add the value to the domain.",
                    value=limit.value,
                )
            own[place] = True
            gamma = gamma_of_limits(limit.value, limit.rho1, limit.rho2)
            tightest[place] = min(tightest[place], gamma)
        return np.where(own, tightest, gammas)

    def to_dict(self) -> dict[str, Any]:
        """Return the limits as plain values."""
        plain: dict[str, Any] = {"mode": str(self.mode)}
        if self.theta is not None:
            plain["theta"] = self.theta
        plain["limits"] = [
            {"value": limit.value, "rho1": limit.rho1, "rho2": limit.rho2} for limit in self.stated
        ]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> PrivacyLimits:
        """Return the limits that plain values state.

        Raises
        ------
        PolicyError
            If they are not limits.
        """
        mode, theta = MODE.stated(plain), THETA.stated(plain)
        rows = LIMITS.stated(plain)
        stated = tuple(
            PerValueLimit(str(r["value"]), float(r["rho1"]), float(r["rho2"])) for r in rows
        )
        return cls(mode, None if theta is None else float(theta), stated)


def positions_by_name(domain: Domain) -> dict[str, int]:
    """Return each value's position by the name under which it is shown.

    Raises
    ------
    PolicyError
        If two values are shown under one name.
    """
    positions: dict[str, int] = {}
    for place, name in enumerate(domain.names):
        if name in positions:
            raise PolicyError(
                "Values {first} and {second} of the domain have the same name.",
                "Give them different labels.",
                first=positions[name] + 1,
                second=place + 1,
            )
        positions[name] = place
    return positions


_OPEN_KEYS = KeyRing(bytes(SECRET_BYTES))


def utility_curve(
    counts: Integers, thetas: Sequence[float], mode: BreachMode, draws: int, context: Context
) -> tuple[UtilityPoint, ...]:
    """Return what both mechanisms keep at each tolerance.

    Parameters
    ----------
    counts
        How often each value occurs, shape (m,), m >= 2.
    thetas
        The tolerances, each above 1.
    mode
        Which breaches the limits rule out.
    draws
        How many releases are drawn at each tolerance, at least 2.
    context
        Told of the progress; may stop the work.

    Raises
    ------
    LevelError
        If a tolerance is not above 1, or there are fewer than two values.
    """
    if draws < 2:
        raise ValueError("a spread needs two draws")
    frequencies = counts / counts.sum()
    draw = _drawer(counts)
    points = []
    for place, theta in enumerate(thetas):
        context.report(
            place / len(thetas), Sentence("Drawing releases for θ = {theta:g}", theta=theta)
        )
        gammas = gammas_by_tolerance(frequencies, theta)
        fine = RetentionMatrix(solve(frequencies, gammas, mode).retention)
        uniform = RetentionMatrix(np.full(len(counts), uniform_retention(gammas)))
        points.append(
            UtilityPoint(
                theta,
                utility_of(frequencies, fine, [draw(fine, each) for each in range(draws)]),
                utility_of(
                    frequencies, uniform, [draw(uniform, number) for number in range(draws)]
                ),
            )
        )
    context.report(1.0, "Drawing releases")
    return tuple(points)


def uniform_retention(gammas: Floats) -> float:
    """Return the uniform retention probability for the tightest of the limits (equation 2)."""
    tightest = float(gammas.min())
    return 1.0 if np.isinf(tightest) else retention_for_gamma(tightest, len(gammas))


def _drawer(counts: Integers) -> Callable[[RetentionMatrix, int], Integers]:
    """Return a function that draws the released counts of the table once."""
    size = len(counts)
    codes = np.repeat(np.arange(size, dtype=smallest_unsigned(size)), counts)
    ids = record_ids_by_position(len(codes))

    def draw(matrix: RetentionMatrix, number: int) -> Integers:
        kept = matrix.retention
        highest = float(kept.max())
        key = _OPEN_KEYS.for_attribute("utility", str(size), f"draw {number}")
        top = ProfileTop(kept / highest if highest > 0 else kept)
        released = release_below(top, highest, codes, ids, key, Silent())
        return count_codes(released, size)

    return draw


class PerValueLimits(ProfileMechanism):
    """A retention probability for each value, the best within the limits of all values."""

    name = "finegrain"
    title = "Per-value limits"
    summary = (
        "Each value has a limit of its own and is kept as often as that allows; otherwise it is"
        " replaced by one drawn evenly from the whole domain."
    )
    order = 20
    ladder = ("fine-grain", 1)
    terms = _TERMS
    settings = profile_settings(THETA, LIMITS)

    def default_settings(self, attributes: Attributes) -> Settings:
        """Return strict limits by the tolerance rule, for noisy counts of the table."""
        self.check_attributes(attributes)
        chosen = usual_frequencies(records_of(attributes[0]))
        limits = PrivacyLimits(theta=USUAL_THETA).to_dict()
        return {**limits, **chosen.to_dict(), "objective": str(Objective.COUNTS)}

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
        objective_in(settings)
        frequencies_in(settings).of(attributes[0])

    def default_statements(self, count: int) -> tuple[Statement, ...]:
        """Propose trust factors that fall by halves from 1."""
        return falling_factors(count)

    def released_codes(self, request: ReleaseRequest, context: Context) -> Codes:
        """Return the released codes, shape (n,)."""
        top, key = self.top(request.attributes, request.settings), self.key(request, self.name)
        codes, ids = self.true_codes(request), request.record_ids
        return release_below(top, request.level, codes, ids, key, context)

    def promised(self, level: float, attributes: Attributes, settings: Settings) -> Sentence:
        """Say by how much a release multiplies the odds on the safest and the most exposed one."""
        names, name = self.domain_of(attributes).names, attributes[0].name
        odds = self.odds_upward(level, attributes, settings)
        most, least = int(odds.argmin()), int(odds.argmax())
        if level == 0.0:
            return nothing_told(name)
        if math.isinf(self.spent(level, settings)):
            return exact_sentence(name)
        if math.isinf(float(odds.max())):
            return Sentence(
                "This release can prove that somebody's {name} is {value}: it promises "
                "nothing for that value.",
                name=name,
                value=names[least],
            )
        return Sentence(
            "Whatever anyone believed about a person's {name}, this release multiplies "
            "the odds on {value} by at most {odds}, and on no value by more than "
            "{highest} ({exposed}).",
            name=name,
            value=names[most],
            odds=at_most(float(odds[most])),
            highest=at_most(float(odds[least])),
            exposed=names[least],
        )

    def own_facts(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[PromiseFigure, ...]:
        """Return the trust factor, and how many limits a level exceeds."""
        return self.limit_facts(level, attributes, settings, "Values whose limit is exceeded")

    def published(self, level: float, attributes: Attributes, settings: Settings) -> PublishedFacts:
        """Return the retention probabilities and the domain, with the guide to estimate."""
        domain, matrix = self.domain_of(attributes), self.matrix(level, attributes, settings)
        chosen = frequencies_in(settings)
        return PublishedFacts(
            parameters={
                "retention_probabilities": [float(p) for p in matrix.retention],
                **domain_parameters(domain, self.odds_factor(level, attributes, settings)),
                "frequencies": str(chosen.source),
                "frequencies_epsilon": chosen.cost if math.isfinite(chosen.cost) else None,
            },
            guide="finegrain-singular" if matrix.is_singular else "finegrain",
            values={
                "lowest_retention": formatted(matrix.retention.min(), ".6g"),
                "highest_retention": formatted(matrix.retention.max(), ".6g"),
                "domain_size": formatted(domain.size, ","),
            },
        )


MECHANISM = PerValueLimits()
