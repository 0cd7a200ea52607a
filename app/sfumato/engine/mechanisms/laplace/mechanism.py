"""Laplace noise: numbers between stated bounds, with pure ε at any level, on one ladder.

The level is ε of the released values: whichever two numbers between the bounds a person may have,
a release multiplies the odds between them by at most e^ε, and by the less the nearer they are
(Dwork, McSherry, Nissim and Smith, "Calibrating Noise to Sensitivity in Private Data Analysis",
2006; of single records, as here, Duchi, Jordan and Wainwright 2013).

*What a released column should look like* is examined without keys. The noise of a release, or what
one release adds to another, has a known law in whole steps. It is counted in cells of about equal
probability, apart for low and for high true numbers, so that noise which knows of the number it
hides is seen as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Kind
from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Flags, Floats, Integers
from sfumato.engine.core.wording import Sentence, formatted
from sfumato.engine.disclosure.noise_law import LaplaceNoise
from sfumato.engine.ladders.laplace import HIGHEST, LOWEST, LaplaceLaw, check_loss, release_steps
from sfumato.engine.matrices.goodness_of_fit import examine_matrix
from sfumato.engine.matrices.privacy import rho2_of_gamma
from sfumato.engine.mechanisms.base import (
    Byproduct,
    Check,
    LevelField,
    LevelTerm,
    Mechanism,
    Origin,
    Promise,
    PromiseFigure,
    PublishedFacts,
    Released,
    ReleaseRequest,
    Settings,
    Statement,
    check_rows,
    ladder_digest,
)
from sfumato.engine.mechanisms.categorical import (
    BELIEF_TERM,
    ODDS_TERM,
    check_spread,
    numbers_of,
    stated_gamma,
    unknown_statement,
)
from sfumato.engine.mechanisms.laplace.settings import (
    BOUNDS,
    SETTINGS,
    Bounds,
    NumberGrid,
    completed,
    grid_of,
    source_in,
    within,
)
from sfumato.engine.mechanisms.laplace.settings import HIGHEST as UPPER
from sfumato.engine.mechanisms.laplace.settings import LOWEST as LOWER
from sfumato.engine.mechanisms.promise_words import (
    BY_BOUNDS,
    LIMITS,
    MISSING_VISIBLE,
    USUAL_RHO1,
    at_most,
    highest_belief,
    losses_added,
)
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attributes

Steps = Integers

_CELLS: Final = 64
_GROUPS: Final = 8
"""The noise is looked at apart in so many groups of records, by the number that it is added to."""


def check_noise(
    true: Floats, column: pd.Series, grid: NumberGrid, law: LaplaceLaw
) -> tuple[Check, ...]:
    """Examine a released column against the true numbers.

    Parameters
    ----------
    true
        The true numbers, NaN where missing, shape (n,).
    column
        The released column.
    grid
        The numbers that there can be.
    law
        The law of the noise.
    """
    rows = check_rows(len(true), len(column), "the table")
    shown, numbers = _steps_of(column, grid, law)
    if shown is None or not rows.holds:
        return rows, numbers
    gaps = _check_gaps(np.isnan(true), column.isna().to_numpy(), "the table")
    if not gaps.holds:
        return rows, numbers, gaps
    known = ~np.isnan(true)
    origin = grid.places(true[known]).astype(np.int64)
    return rows, numbers, gaps, _check_law(origin, shown[known] - origin, law, law.up_to)


def check_noise_between(
    upper: pd.Series,
    upper_law: LaplaceLaw,
    lower: pd.Series,
    lower_law: LaplaceLaw,
    grid: NumberGrid,
) -> tuple[Check, ...]:
    """Examine whether one released column is another with jumps added, or none.

    Parameters
    ----------
    upper, lower
        The columns of the more and of the less trusted release.
    upper_law, lower_law
        The laws of their noise.
    grid
        The numbers that there can be.
    """
    rows = check_rows(len(upper), len(lower), "the more trusted release")
    above, above_numbers = _steps_of(upper, grid, upper_law, "Values of the more trusted release")
    below, below_numbers = _steps_of(lower, grid, lower_law, "Values of the less trusted release")
    checks = (rows, above_numbers, below_numbers)
    if above is None or below is None or not rows.holds:
        return checks
    missing = upper.isna().to_numpy()
    gaps = _check_gaps(missing, lower.isna().to_numpy(), "the more trusted release")
    if not gaps.holds:
        return *checks, gaps
    origin, jumps = above[~missing], (below - above)[~missing]
    stays = lower_law.unchanged_from(upper_law)

    def up_to(noise: Steps | Floats) -> Floats:
        return stays * (noise >= 0) + (1.0 - stays) * lower_law.up_to(noise)

    return *checks, gaps, _check_law(origin, jumps, lower_law, up_to)


def _check_law(
    origin: Steps, noise: Steps, law: LaplaceLaw, up_to: Callable[[Steps], Floats]
) -> Check:
    """Examine how noise spreads, in groups of records by the numbers that it was added to."""
    far = np.array([law.half_width(1.0 - 2.0 * share / _CELLS) for share in range(1, _CELLS // 2)])
    edges = np.unique(np.concatenate([-far - 1, [-1, 0], far]))
    below = up_to(edges)
    shares = np.diff(np.concatenate([[0.0], below, [1.0]]))
    cells = np.searchsorted(edges, noise, side="left")
    order = np.argsort(origin, kind="stable")
    groups = np.empty(len(origin), dtype=np.uint32)
    groups[order] = np.arange(len(origin)) * _GROUPS // max(len(origin), 1)
    size = max(len(shares), _GROUPS)
    entries = np.zeros((size, size))
    entries[: len(shares)] = np.maximum(shares, 0.0)[:, np.newaxis]
    found = examine_matrix(groups, cells.astype(np.uint32), entries)
    return check_spread(found.spread, "Size, shape and independence of the noise")


def _steps_of(
    column: pd.Series, grid: NumberGrid, law: LaplaceLaw, title: str = "Released values"
) -> tuple[Steps | None, Check]:
    """Return a released column in steps of the grid, 0 where missing."""
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    missing = column.isna().to_numpy()
    steps = np.rint((np.where(missing, 0.0, numbers) - float(grid.lowest)) / float(grid.step))
    near = np.isfinite(steps) & (-law.beyond <= steps) & (steps <= grid.steps + law.beyond)
    found = np.where(near & ~missing, steps, 0.0).astype(np.int64)
    wrong = ~missing & (~near | ~np.isclose(grid.numbers(found), numbers, rtol=1e-12, atol=0.0))
    if wrong.any():
        finding = Sentence(
            "{outside:,} {outside:value is|values are} not among the numbers that can be released,"
            " first in row {first:,}.",
            outside=int(wrong.sum()),
            first=int(wrong.argmax()) + 1,
        )
        return None, Check(title, False, finding)
    return found, Check(title, True, "All values are numbers that can be released.")


def _check_gaps(expected: Flags, found: Flags, whose: str) -> Check:
    differing = int((expected != found).sum())
    finding = Sentence("They are missing where they are in {whose}.", whose=whose)
    if differing:
        finding = Sentence(
            "{differing:,} {differing:record is|records are} missing here and not in {whose}, or"
            " the other way round.",
            differing=differing,
            whose=whose,
        )
    return Check("Missing numbers", differing == 0, finding)


_FIRST, _LAST = 4.0, 0.25
"""The first and the last level that are proposed."""

_NEAR: Final = 10
"""The sentence tells of numbers a tenth of the range apart, too."""

_TERMS = (
    LevelTerm(
        "epsilon",
        "Privacy loss",
        "The logarithm of the most by which a release multiplies anyone's odds between any two"
        " numbers (local differential privacy).",
        (LevelField("epsilon", "ε", LOWEST, HIGHEST),),
    ),
    LevelTerm(
        "spread",
        "Size of the noise",
        "The standard deviation of the noise, in the column's unit.",
        (LevelField("noise_spread", "±", 1e-9, 1e15, decimals=4),),
    ),
    BELIEF_TERM,
    ODDS_TERM,
)


WIDEST_RANGE: Final = 8.0
"""Standard deviations; normally distributed numbers of 10,000 records range over as many."""


class LaplaceNoiseOnNumbers(Mechanism):
    """Laplace noise at any level, for one numeric attribute between bounds."""

    name = "laplace"
    title = "Laplace noise"
    summary = (
        "Noise in proportion to the range between stated bounds is added to each number. It bounds"
        " by how much a release changes anyone's odds on any number."
    )
    order = 31
    kinds = frozenset({Kind.NUMERIC})
    terms = _TERMS
    completes_settings = True
    settings = SETTINGS

    def recommendation(self, attributes: Attributes) -> str:
        """Recommend it for numbers without far extremes."""
        if attributes[0].reach > WIDEST_RANGE:
            return ""
        return Sentence(
            "The range is {reach:.1f} standard deviations: narrow enough for noise in proportion to"
            " it, which bounds anyone's odds.",
            reach=attributes[0].reach,
        )

    def check_attributes(self, attributes: Attributes) -> None:
        """Raise `PolicyError` unless there is one numeric attribute without bins."""
        self.check_number(self.only_one(attributes))

    def default_settings(self, attributes: Attributes) -> Settings:
        """Return bounds that are to be measured with noise."""
        self.check_attributes(attributes)
        return {"bounds": Bounds.NOISY.value}

    def within(self, attributes: Attributes, settings: Settings, most: float) -> Settings:
        """Return settings whose bounds are measured with no larger ε0."""
        return within(attributes[0], settings, most)

    def complete_settings(
        self, attributes: Attributes, settings: Settings, noise: KeyedNoise
    ) -> Settings:
        """Return the settings with the bounds measured, unless they are there, and with a step.

        Raises
        ------
        PolicyError, LevelError
            If the bounds can't be measured, or what is stated does not hold.
        """
        self.check_attributes(attributes)
        self.check_stated(settings)
        return completed(attributes[0], settings, noise)

    def changed_settings(self, settings: Settings, changes: Settings) -> dict[str, Any]:
        """Return settings with changes; who states one bound states both in place of measured."""
        ends = {LOWER.name, UPPER.name}
        if source_in(settings)[0] is Bounds.NOISY and not ends.isdisjoint(changes):
            settings = {} if BOUNDS.name in changes else {BOUNDS.name: Bounds.STATED.value}
        return super().changed_settings(settings, changes)

    def byproduct_epsilon(self, settings: Settings) -> float:
        """Return ε0 of the bounds, which recipients are told."""
        return source_in(settings)[1]

    def byproducts(self, attributes: Attributes, settings: Settings) -> tuple[Byproduct, ...]:
        """Return the bounds, unless they are stated."""
        cost, name = self.byproduct_epsilon(settings), attributes[0].name
        if cost == 0.0:
            return ()
        sentence = Sentence(
            "The bounds of {name} were measured in the table, with noise, and are published: that"
            " multiplies anyone's odds by at most {odds} (ε0 = {epsilon:g}). The figures above"
            " include it.",
            name=name,
            odds=at_most(math.exp(cost)),
            epsilon=cost,
        )
        return (Byproduct(Sentence("the bounds of {name}", name=name), Origin.NOISY, sentence),)

    def check_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Raise `PolicyError` where the settings are not valid for these attributes."""
        self.grid(attributes, settings)

    def grid(self, attributes: Attributes, settings: Settings) -> NumberGrid:
        """Return the numbers that can be released.

        Raises
        ------
        PolicyError, LevelError
            If the settings don't say them for such attributes.
        """
        self.check_attributes(attributes)
        self.check_stated(settings)
        return grid_of(settings)

    def law(self, level: float, attributes: Attributes, settings: Settings) -> LaplaceLaw:
        """Return the law of a level's noise, in steps; raises `LevelError` out of range."""
        return LaplaceLaw(check_loss(level), self.grid(attributes, settings).steps)

    def default_statements(self, count: int) -> tuple[Statement, ...]:
        """Propose losses that fall by halves, or more slowly where there are many."""
        factor = max(0.5, (_LAST / _FIRST) ** (1.0 / max(count - 1, 1)))
        levels = (_FIRST * factor**place for place in range(count))
        return tuple({"epsilon": float(f"{level:.3g}")} for level in levels)

    def level(self, statement: Statement, attributes: Attributes, settings: Settings) -> float:
        """Return ε of the released values that a statement means, without ε0 of the bounds.

        Raises
        ------
        LevelError
            If the statement is none of the mechanism's terms, out of range, or leaves nothing for
            the released values beside ε0.
        """
        grid, numbers = self.grid(attributes, settings), numbers_of(statement)
        match numbers:
            case {"noise_spread": spread, **rest} if not rest:
                return check_loss(_loss_for(spread, grid))
        gamma = None if "epsilon" in numbers else stated_gamma(numbers)
        match numbers:
            case {"epsilon": epsilon, **rest} if not rest:
                loss = epsilon
            case _ if gamma is not None and gamma > 0.0:
                loss = math.log(gamma)
            case _:
                raise unknown_statement(self, statement)
        left = loss - grid.epsilon
        if grid.epsilon and left < LOWEST <= loss:
            raise LevelError(
                "A privacy loss of {loss} leaves too little for the released values: the published"
                " bounds alone cost ε0 = {epsilon}.",
                "Give a larger one, or state the bounds.",
                loss=formatted(loss, ".4g"),
                epsilon=formatted(grid.epsilon, "g"),
            )
        return check_loss(float(f"{left:.12g}"))

    def restate(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> Mapping[str, Statement]:
        """Return the level in each term; ρ2 for a ρ1 of `USUAL_RHO1`."""
        grid, law = self.grid(attributes, settings), self.law(level, attributes, settings)
        loss = float(f"{level + grid.epsilon:.12g}")
        gamma = math.exp(loss)
        return {
            "epsilon": {"epsilon": loss},
            "spread": {"noise_spread": math.sqrt(law.variance) * float(grid.step)},
            "rho": {"rho1": USUAL_RHO1, "rho2": rho2_of_gamma(gamma, USUAL_RHO1)},
            "gamma": {"gamma": gamma},
        }

    def trust(self, level: float) -> float:
        """Return ε/(1 + ε)."""
        return check_loss(level) / (1.0 + level)

    def level_at(self, trust: float) -> float:
        """Return the level of a place on that scale."""
        most = HIGHEST / (1.0 + HIGHEST)
        return min(max(min(trust, most) / (1.0 - min(trust, most)), LOWEST), HIGHEST)

    def lowered(self, level: float, share: float) -> float:
        """Return a level with a smaller loss, by a share of itself."""
        return max(level * (1.0 - share), min(level, LOWEST))

    def shared(self, level: float, rows: int, attributes: Attributes, settings: Settings) -> float:
        """Return ε/rows: the losses of several rows add up.

        Raises
        ------
        LevelError
            If that is less than the least loss there is.
        """
        each, spent = level / rows, self.byproduct_epsilon(settings)
        if each < LOWEST * (1.0 - 1e-9) and level >= LOWEST:
            raise LevelError(
                "A privacy loss of {loss} for up to {rows} {rows:row|rows} that belong together"
                " leaves each of them ε = {each}, less than Laplace noise can have.",
                "Give at least {needed}, or let fewer rows of a unit leave.",
                loss=formatted(level + spent, ".4g"),
                rows=rows,
                each=formatted(each, ".2g"),
                needed=formatted(math.ceil((rows * LOWEST + spent) * 1000 - 1e-6) / 1000, "g"),
            )
        return check_loss(max(each, LOWEST) if level >= LOWEST else each)

    def odds_factor(self, level: float, attributes: Attributes, settings: Settings) -> float:
        """Return e^(ε + ε0): what all that a release tells multiplies anyone's odds by at most."""
        return math.exp(check_loss(level) + self.grid(attributes, settings).epsilon)

    def ladder_identity(self, attributes: Attributes, settings: Settings) -> str:
        """Return a digest of the attribute's name, the bounds and the step."""
        grid = self.grid(attributes, settings)
        where = (_plain(grid.lowest), _plain(grid.step), grid.steps)
        parts: list[object] = ["laplace ladder", 1, attributes[0].name, *where]
        return ladder_digest(*parts)

    def release(self, request: ReleaseRequest, context: Context) -> Mapping[str, pd.Series]:
        """Return the released column: a pure function of the request. Missing stays missing."""
        grid = self.grid(request.attributes, request.settings)
        identity = self.ladder_identity(request.attributes, request.settings)
        name = request.attributes[0].name
        values = np.asarray(request.columns[0].values, dtype=np.float64)
        known = np.isfinite(values)
        shown = grid.numbers(
            release_steps(
                grid.places(values[known]),
                grid.steps,
                request.level,
                request.record_ids[known],
                request.keys.for_attribute(name, identity, self.name),
                context,
            )
        )
        numbers = np.full(len(values), np.nan)
        numbers[known] = shown
        column = pd.Series(numbers, name=name)
        if not grid.whole:
            return {name: column}
        return {name: column.astype(np.int64 if known.all() else pd.Int64Dtype())}

    def noise_covariance(self, level: float, attributes: Attributes, settings: Settings) -> Floats:
        """Return the variance of the noise, shape (1, 1)."""
        step = float(self.grid(attributes, settings).step)
        return np.array([[self.law(level, attributes, settings).variance * step**2]])

    def shown_moments(
        self, numbers: Floats, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[Floats, Floats]:
        """Return the numbers clipped and in steps, and the noise's variance, shape (1, n) each."""
        grid = self.grid(attributes, settings)
        places = grid.places(np.nan_to_num(numbers)).astype(np.int64)
        means = np.where(np.isnan(numbers), np.nan, grid.numbers(places))
        noise = self.noise_covariance(level, attributes, settings)
        return means, np.broadcast_to(noise, means.shape)

    def noise_law(self, level: float, attributes: Attributes, settings: Settings) -> LaplaceNoise:
        """Return the law of the noise, in the attribute's unit."""
        law, step = (
            self.law(level, attributes, settings),
            float(self.grid(attributes, settings).step),
        )
        covariance = self.noise_covariance(level, attributes, settings)
        # E[z⁴]/E[z²]² − 3 of the discrete law is 3 + 1/E[z²].
        return LaplaceNoise(covariance, step / law.rate, 3.0 + 1.0 / law.variance)

    def promise(self, level: float, attributes: Attributes, settings: Settings) -> Promise:
        """Return what a release at this level promises, computed from its law and ε0."""
        grid, law = self.grid(attributes, settings), self.law(level, attributes, settings)
        name, loss = attributes[0].name, level + grid.epsilon
        apart = math.ceil(grid.steps / _NEAR)
        sentence = Sentence(
            "Whatever anyone believed about a person's {name}, this release multiplies the odds"
            " between any two numbers by at most {gamma}, and between two that are up to {apart}"
            " apart by at most {less}.",
            name=name,
            gamma=at_most(math.exp(loss)),
            apart=_number(float(grid.step) * apart),
            less=at_most(math.exp(law.loss_between(apart) + grid.epsilon)),
        )
        outside = Sentence(
            "A number below {lowest} or above {highest} is released as if it were that bound.",
            lowest=_number(float(grid.lowest)),
            highest=_number(float(grid.highest)),
        )
        told = tuple(each.sentence for each in self.byproducts(attributes, settings))
        limits = (*told, outside, *LIMITS, MISSING_VISIBLE)
        return Promise(sentence, self._facts(level, grid, law), limits)

    @staticmethod
    def _facts(level: float, grid: NumberGrid, law: LaplaceLaw) -> tuple[PromiseFigure, ...]:
        loss, step = level + grid.epsilon, float(grid.step)
        spent: tuple[PromiseFigure, ...] = ()
        if grid.epsilon:
            spent = (PromiseFigure("ε0", "Privacy loss of the bounds", grid.epsilon, BY_BOUNDS),)
        return (
            PromiseFigure(
                "ε",
                "Privacy loss",
                loss,
                "The logarithm of γ (local differential privacy), ε0 included.",
            ),
            *spent,
            PromiseFigure(
                "γ",
                "Odds factor",
                math.exp(loss),
                "Nothing released multiplies anyone's odds between two numbers by more.",
            ),
            highest_belief(math.exp(loss)),
            PromiseFigure(
                "σ",
                "Standard deviation of the noise",
                math.sqrt(law.variance) * step,
                "In the column's unit.",
            ),
            PromiseFigure(
                "±",
                "Noise of 9 in 10 people",
                law.half_width(0.9) * step,
                "So far off is a released number at most, 9 times in 10.",
            ),
        )

    def lost_by_changing(
        self, levels: Sequence[float], attributes: Attributes, settings: Settings
    ) -> str:
        """Say the sum of the losses ε: each number has draws of its own, whose losses add up."""
        spent = self.grid(attributes, settings).epsilon
        return losses_added([level + spent for level in levels])

    def published(self, level: float, attributes: Attributes, settings: Settings) -> PublishedFacts:
        """Return the bounds, the step and the noise's rate, and a guide to estimate."""
        grid, law = self.grid(attributes, settings), self.law(level, attributes, settings)
        spread = math.sqrt(law.variance) * float(grid.step)
        return PublishedFacts(
            parameters={
                "epsilon": level,
                "lowest": _plain(grid.lowest),
                "highest": _plain(grid.highest),
                "step": _plain(grid.step),
                "noise_rate": law.rate,
                "noise_variance": law.variance * float(grid.step) ** 2,
                "odds_factor": self.odds_factor(level, attributes, settings),
                "bounds": grid.source.value,
                "bounds_epsilon": grid.epsilon,
            },
            guide="laplace",
            values={
                "epsilon": formatted(level, ".6g"),
                "noise_spread": formatted(spread, ",.0f" if spread >= 1000.0 else ".4g"),
                "lowest": _number(float(grid.lowest)),
                "highest": _number(float(grid.highest)),
                "step": _number(float(grid.step)),
            },
        )

    def check_release(self, request: ReleaseRequest, released: Released) -> tuple[Check, ...]:
        """Examine a released column against the true one: rows, grid, and the noise's law."""
        grid = self.grid(request.attributes, request.settings)
        law = self.law(released.level, request.attributes, request.settings)
        true = np.asarray(request.columns[0].values, dtype=np.float64)
        return check_noise(true, released.columns[request.attributes[0].name], grid, law)

    def check_garbling(
        self, upper: Released, lower: Released, attributes: Attributes, settings: Settings
    ) -> tuple[Check, ...]:
        """Examine whether the less trusted of two releases is the other with jumps added."""
        name = attributes[0].name
        return check_noise_between(
            upper.columns[name],
            self.law(upper.level, attributes, settings),
            lower.columns[name],
            self.law(lower.level, attributes, settings),
            self.grid(attributes, settings),
        )


MECHANISM = LaplaceNoiseOnNumbers()


def _loss_for(spread: float, grid: NumberGrid) -> float:
    """Return the largest loss whose noise has at least a standard deviation."""
    low, high = LOWEST, HIGHEST
    wanted = (spread / float(grid.step)) ** 2 * (1.0 - 1e-12)
    if LaplaceLaw(high, grid.steps).variance >= wanted:
        return high
    if LaplaceLaw(low, grid.steps).variance < wanted:
        raise LevelError(
            "A standard deviation of {spread:g} is more noise than can be added.",
            "Give at most {most:.4g}.",
            spread=spread,
            most=math.sqrt(LaplaceLaw(low, grid.steps).variance) * float(grid.step),
        )
    for _ in range(60):
        middle = (low + high) / 2.0
        enough = LaplaceLaw(middle, grid.steps).variance >= wanted
        low, high = (middle, high) if enough else (low, middle)
    return low


def _number(number: float) -> str:
    return formatted(number, ",.10g")


def _plain(number: Any) -> int | float:
    """Return an exact decimal number as JSON has it."""
    plain = float(number)
    return int(plain) if plain.is_integer() else plain
