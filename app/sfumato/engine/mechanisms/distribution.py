"""Retention with replacements from a published distribution, on a ladder.

A value is kept with probability p and otherwise replaced by a draw from a distribution π that
recipients are told. All levels of one π form a ladder. Where π is how often the values occur, their
released shares are right without any correction, at every level: an invariant post-randomisation
(Gouweleeuw, Kooiman, Willenborg and de Wolf, "Post randomisation for statistical disclosure
control", Journal of Official Statistics 14, 1998). The rarest value of π bounds the promise,
γ = 1 + p/((1 − p)·min π), so an even distribution is mixed in.

**Matrix.** P = p·I + (1 − p)·π·1ᵀ. With π uniform it is the uniform ladder's matrix (Xiao, Tao and
Chen, VLDB 2009, equation 1). Products stay in the family: P(p)·P(q) = P(p·q) for one π, so releases
at any levels form a ladder; and P·π = π, so values that are distributed as π stay so at every
level. A diagonal plus rank one costs O(m).

**Ladder.** Each value owns as many of 65,536 cells as its probability asks for. The uniform ladder
runs over the cells: a record starts in the first cell of its value, an event puts in a cell drawn
evenly, and what is shown is the value that owns the cell. Every event therefore puts in a draw from
the distribution, exactly, and all that holds of the uniform ladder holds here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import EstimationError, PolicyError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Indices, Words
from sfumato.engine.core.wording import Sentence, formatted
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.matrices.matrix import (
    DENSE_LIMIT,
    NEARLY_SINGULAR,
    DenseMatrix,
    GarblingTest,
    OddsRatios,
    PerturbationMatrix,
    Square,
    Vector,
)
from sfumato.engine.matrices.privacy import check_retention, retention_for_rarest
from sfumato.engine.mechanisms.base import (
    Byproduct,
    Origin,
    PromiseFigure,
    PublishedFacts,
    ReleaseRequest,
    Settings,
)
from sfumato.engine.mechanisms.categorical import CategoricalMechanism, domain_parameters
from sfumato.engine.mechanisms.frequency_source import (
    FREQUENCIES,
    frequencies_in,
    left_for_levels,
    records_of,
    usual_frequencies,
    within,
)
from sfumato.engine.mechanisms.promise_words import all_told, at_most, nothing_told
from sfumato.engine.mechanisms.setting_specs import NumberSpec
from sfumato.engine.randomness.keys import AttributeKey
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import MEASURED_UNIT, Attributes

USUAL_EVEN_SHARE: Final = 0.1
"""The share of an even distribution that a new policy mixes in."""

EVEN_SHARE: Final = NumberSpec(
    name="even_share",
    title="Share of an even distribution that is mixed in",
    gloss="the share of an even distribution that is mixed in",
    hint="Rare values are replacements more often then, which the promise depends on;"
    " released shares stray a little further from the true ones.",
    usual=USUAL_EVEN_SHARE,
    least=0.0,
    most=1.0,
    decimals=1,
    unit="%",
    scale=100,
    step=5.0,
)


CELLS: Final = 1 << 16
"""How many cells there are: probabilities are multiples of 1/65,536."""


class DistributionMatrix(PerturbationMatrix):
    """Every value is kept with probability p and otherwise replaced by a draw from π.

    Parameters
    ----------
    retention
        The retention probability p, from 0 to 1.
    distribution
        π, shape (m,), m >= 2: every probability above 0, summing to 1.

    Raises
    ------
    LevelError
        If the retention probability is not between 0 and 1.
    PolicyError
        If π is no such distribution.
    """

    def __init__(self, retention: float, distribution: Vector) -> None:
        drawn = np.array(distribution, dtype=np.float64)
        sound = drawn.ndim == 1 and drawn.size >= 2 and bool((drawn > 0.0).all())
        if not sound or abs(float(drawn.sum()) - 1.0) > 1e-12:
            raise PolicyError(
                "What replaced values are drawn from is not a distribution over the domain with a"
                " probability above 0 for each value.",
                "Give two values or more, with probabilities above 0 that sum to 1.",
            )
        drawn.flags.writeable = False
        self._retention = check_retention(retention)
        self._drawn: Vector = drawn
        self._other: Vector = (1.0 - self._retention) * drawn

    def __repr__(self) -> str:
        return f"DistributionMatrix(m={self.size}, p={self._retention:g})"

    @property
    def size(self) -> int:
        """The number of values, m."""
        return int(self._drawn.size)

    @property
    def retention(self) -> float:
        """The retention probability p."""
        return self._retention

    @property
    def distribution(self) -> Vector:
        """What replaced values are drawn from, π, shape (m,), read-only."""
        return self._drawn

    @property
    def diagonal(self) -> Vector:
        """The chance that each value is released as itself: p + (1 − p)·π, shape (m,)."""
        return self._retention + self._other

    def row(self, released: int) -> Vector:
        """Return Pr[released | original] for every original value, shape (m,)."""
        row = np.full(self.size, self._other[released])
        row[released] += self._retention
        return row

    def column(self, original: int) -> Vector:
        """Return Pr[released | original] for every released value, shape (m,)."""
        column = self._other.copy()
        column[original] += self._retention
        return column

    def block(self, released: Indices, original: Indices) -> Square:
        """Return the entries of some rows and columns, shape (rows, columns)."""
        same = np.asarray(released)[:, None] == np.asarray(original)[None, :]
        return self._other[released][:, None] + self._retention * same

    def apply(self, frequencies: Vector) -> Vector:
        """Return P·f, shape (m,)."""
        shares = np.asarray(frequencies, dtype=np.float64)
        return self._retention * shares + self._other * float(shares.sum())

    def apply_transposed(self, weights: Vector) -> Vector:
        """Return Pᵀ·w, shape (m,)."""
        given = np.asarray(weights, dtype=np.float64)
        return self._retention * given + float(self._other @ given)

    def solve(self, observed: Vector) -> Vector:
        """Return P⁻¹·o = (o − (1 − p)·π·Σo)/p, shape (m,)."""
        kept = self._kept()
        seen = np.asarray(observed, dtype=np.float64)
        return (seen - self._other * float(seen.sum())) / kept

    @property
    def untold(self) -> Indices:
        """All values, where they are as good as always drawn at random."""
        return np.arange(self.size if self._retention < NEARLY_SINGULAR else 0)

    def solve_transposed(self, scores: Vector) -> Vector:
        """Return P⁻ᵀ·s, shape (m,)."""
        kept, given = self._kept(), np.asarray(scores, dtype=np.float64)
        return (given - float(self._other @ given)) / kept

    def apply_squared_inverse(self, weights: Vector) -> Vector:
        """Return Σ_j (P⁻¹)²_ij·w_j, shape (m,); (P⁻¹)_ij = (δ_ij − (1 − p)·π_i)/p."""
        kept = self._kept()
        given = np.asarray(weights, dtype=np.float64)
        spread = given * (1.0 - 2.0 * self._other) + self._other**2 * float(given.sum())
        return spread / kept**2

    def own_second_moments(self) -> Vector:
        """Return Σ_j (P⁻¹)²_ij·P_ji, shape (m,)."""
        kept, shown = self._kept(), self.diagonal
        moments: Vector = (1.0 - self._other) ** 2 * shown + self._other**2 * (1.0 - shown)
        return moments / kept**2

    def inverse_ranges(self) -> Vector:
        """Return max_j − min_j of (P⁻¹)_ij: 1/p, shape (m,)."""
        return np.full(self.size, 1.0 / self._kept())

    def worst_odds_ratios(self) -> OddsRatios:
        """Return how far the release can move the odds on each value, from the entries.

        A value's odds rise most when it is released itself: by 1 + p/((1 − p)·π_i). They fall
        most when the rarest other value of π is released.
        """
        shown = self.diagonal
        least = int(self._drawn.argmin())
        second = float(np.delete(self._drawn, least).min())
        rarest = np.full(self.size, self._drawn[least])
        rarest[least] = second
        other = (1.0 - self._retention) * rarest
        with np.errstate(divide="ignore"):
            up = shown / self._other
        return OddsRatios(up=up, down=other / (self._retention + other))

    def test_garbling_of(self, upper: PerturbationMatrix) -> GarblingTest:
        """Examine whether this release can be made from `upper`'s alone."""
        self._check_same_size(upper)
        if isinstance(upper, DistributionMatrix) and self._shares_ladder(upper):
            if self._retention <= upper.retention:
                return GarblingTest(holds=True)
            if upper.retention == 0.0:
                return GarblingTest(holds=False)
        return DenseMatrix(self.dense()).test_garbling_of(upper)

    def _channel_to(self, lower: PerturbationMatrix) -> PerturbationMatrix:
        if isinstance(lower, DistributionMatrix) and lower._shares_ladder(self):
            ratio = lower.retention / self._retention if self._retention > 0.0 else 0.0
            return DistributionMatrix(min(ratio, 1.0), self._drawn)
        return DenseMatrix(self.dense()).garbling_to(lower)

    def _shares_ladder(self, other: DistributionMatrix) -> bool:
        return np.array_equal(self._drawn, other._drawn)

    def _kept(self) -> float:
        if self.is_singular:
            raise EstimationError(
                "The release says nothing about the values: all of them, or nearly all, are drawn"
                " at random.",
                "Choose a larger retention probability.",
            )
        return self._retention


def cells_of(shares: Sequence[float], even: float) -> tuple[int, ...]:
    """Return how many cells each value owns, at least one each, `CELLS` in all.

    Computed with exact fractions, so that every machine returns the same.

    Parameters
    ----------
    shares
        How frequent each value is taken to be, m numbers from 0 on, m at most `CELLS`.
    even
        The share of an even distribution that is mixed in, from 0 to 1.
    """
    exact, mixed = [Fraction(share) for share in shares], Fraction(even)
    # Whole numbers over one denominator: ten times as fast as fractions.
    size, common = len(exact), math.lcm(*(share.denominator for share in exact))
    counts = [share.numerator * (common // share.denominator) for share in exact]
    total, own = sum(counts), mixed.denominator - mixed.numerator
    wanted = [CELLS * (own * size * count + mixed.numerator * total) for count in counts]
    whole = mixed.denominator * size * total
    cells = [max(1, each // whole) for each in wanted]
    left = CELLS - sum(cells)
    # What rounding down left over goes to the largest remainders. Values that were given their
    # only cell take it from the most frequent ones.
    order = sorted(range(size), key=lambda place: (cells[place] * whole - wanted[place], place))
    for place in order[: max(left, 0)]:
        cells[place] += 1
    while sum(cells) > CELLS:
        cells[max(range(size), key=cells.__getitem__)] -= 1
    return tuple(cells)


def release_from_cells(
    codes: Codes,
    cells: Sequence[int],
    level: float,
    record_ids: Words,
    key: AttributeKey,
    context: Context,
) -> Codes:
    """Return an attribute's codes as they are released at one level.

    Parameters
    ----------
    codes
        The true values, shape (n,).
    cells
        How many cells each value owns, m numbers that sum to `CELLS`.
    level, record_ids, key, context
        As for `sfumato.engine.ladders.uniform.release_codes`.

    Raises
    ------
    LevelError
        If the level is not between 0 and 1.
    """
    owned = np.asarray(cells)
    first = (np.cumsum(owned) - owned).astype(np.uint16)
    owner = np.repeat(np.arange(len(owned), dtype=codes.dtype), owned)
    return owner[release_codes(first[codes], CELLS, level, record_ids, key, context)]


class PublishedDistribution(CategoricalMechanism):
    """Replacement by draws from a distribution that recipients are told."""

    name = "distribution"
    title = "Published distribution"
    summary = (
        "Each value is kept with a retention probability; otherwise it is replaced by one drawn"
        " from a distribution that is published with the release."
    )
    order = 15
    ladder = ("distribution", 1)
    completes_settings = True
    settings = (*FREQUENCIES, EVEN_SHARE)
    most_values = DENSE_LIMIT

    def default_settings(self, attributes: Attributes) -> Settings:
        """Return noisy counts of the table with a tenth of an even distribution."""
        self.check_attributes(attributes)
        chosen = usual_frequencies(records_of(attributes[0]))
        return {**chosen.to_dict(), "even_share": USUAL_EVEN_SHARE}

    def within(self, attributes: Attributes, settings: Settings, most: float) -> Settings:
        """Return settings whose noisy counts have no larger ε0."""
        chosen = frequencies_in(settings, records_of(attributes[0]))
        return within(settings, chosen, most)

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
        kept = {name: value for name, value in settings.items() if name != MEASURED_UNIT}
        complete = {**kept, **chosen.to_dict(), "even_share": even_share_in(settings)}
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
        self.check_stated(settings)
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

    def ladder_parts(self, attributes: Attributes, settings: Settings) -> tuple[object, ...]:
        """Return the distribution."""
        return (self.cells(attributes, settings),)

    def released_codes(self, request: ReleaseRequest, context: Context) -> Codes:
        """Return the released codes, shape (n,)."""
        cells = self.cells(request.attributes, request.settings)
        # Another distribution is another ladder, and draws with another key.
        key = self.key(request, json.dumps([self.name, cells]))
        codes, ids = self.true_codes(request), request.record_ids
        return release_from_cells(codes, cells, request.level, ids, key, context)

    def matrix(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> DistributionMatrix:
        """Return the matrix of a level: p·I + (1 − p)·π·1ᵀ."""
        return DistributionMatrix(level, np.array(self.cells(attributes, settings)) / CELLS)

    def promised(self, level: float, attributes: Attributes, settings: Settings) -> Sentence:
        """Say by how much a release multiplies the odds, most of all on the rarest replacement."""
        name, gamma = attributes[0].name, self.odds_factor(level, attributes, settings)
        if math.isinf(gamma):
            return all_told(name)
        if gamma == 1.0:
            return nothing_told(name)
        if level == 0.0:
            return Sentence(
                "All released values are random. The distribution that they are drawn from"
                " multiplies the odds on a person's {name} by at most {gamma}.",
                name=name,
                gamma=at_most(gamma),
            )
        rarest = int(np.argmin(self.cells(attributes, settings)))
        return Sentence(
            "Whatever anyone believed about a person's {name}, this release multiplies the"
            " odds by at most {gamma}, most of all those on {value}.",
            name=name,
            gamma=at_most(gamma),
            value=self.domain_of(attributes).names[rarest],
        )

    def own_facts(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[PromiseFigure, ...]:
        """Return the retention probability, and how rare the rarest replacement is."""
        rarest = PromiseFigure(
            "min π",
            "Rarest replacement",
            min(self.cells(attributes, settings)) / CELLS,
            "The rarer a replacement, the more its value stands out where it is released.",
        )
        return (*super().own_facts(level, attributes, settings), rarest)

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
    """Return the share of an even distribution that settings mix in; raises `PolicyError`."""
    return float(EVEN_SHARE.stated(settings))


@lru_cache(maxsize=64)
def _cells(shares: tuple[float, ...], even: float) -> tuple[int, ...]:
    return cells_of(shares, even)
