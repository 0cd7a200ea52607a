"""Attacks on copies of numbers, and what a mechanism offers whose numbers can be rounded.

Copies are made as the mechanism releases them, rounded and clipped where it does so, under keys
that everyone knows: nothing here is released, and the same question has the same answer. The
attacks show what stays open as copies are pooled, and how far guesses are off: Li, Chen, Li
and Zhang, "Enabling Multilevel Trust in Privacy Preserving Data Mining", TKDE 2012, section 6.2:
Fig. 2 (normalized estimation error against the number of copies) and Fig. 3 (how the errors of
single records spread); beyond the paper, the same for an attacker who knows the distribution.

Noisy numbers of one ladder form a chain, so a coalition learns what its most trusted member
knows. Rounded, they are no chain any more: two roundings of one number tell more than either.
They can never tell more than the most trusted release would without rounding, because they are
made from a chain that it is the top of. How much lies between is measured here: by the error of
the best estimate that adds up bent lines (linear splines) of every released number, fitted on
one half of the records and examined on the other. A straight line would not do: a bound tells
that numbers end there, which a straight line through unbounded numbers can't use.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, one_by_one
from sfumato.engine.core.values import Floats
from sfumato.engine.disclosure.gaussian_attack import (
    BayesGrowth,
    Dependence,
    bayes_by_copies,
    errors_by_copies,
    estimate,
    expected_errors,
    joint_weights,
    learned_moments,
    learned_weights,
)
from sfumato.engine.disclosure.noise_law import NoiseLaw
from sfumato.engine.ladders.brownian import HIGHEST, LOWEST
from sfumato.engine.mechanisms.adoption import ADOPTED
from sfumato.engine.mechanisms.base import Mechanism, ReleaseRequest, Settings
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.covariance import RecordMoments, estimate_moments, factor_of
from sfumato.engine.table.table import Attribute, Attributes, EncodedColumn

_KNOWN: Final = b"known to everyone: copies of numbers"


def complete_records(attributes: Attributes, most: int | None = None) -> Floats:
    """Return records in which every number is known, evenly spaced, shape (N, n).

    Parameters
    ----------
    attributes
        N numeric attributes with their numbers.
    most
        At most how many records; None for all.
    """
    whole = np.stack([each.numbers for each in attributes if each.numbers is not None])
    known = np.flatnonzero(np.isfinite(whole).all(axis=0))
    if most is not None and len(known) > most:
        known = known[np.linspace(0, len(known) - 1, most).astype(np.intp)]
    return whole[:, known]


def simulated_copies(
    mechanism: Mechanism,
    attributes: Attributes,
    settings: Settings,
    true: Floats,
    levels: Sequence[float],
    context: Context,
    *,
    apart: bool = False,
) -> Floats:
    """Return what a mechanism releases of some records at some levels, shape (M, N, n).

    Parameters
    ----------
    mechanism, settings
        What makes the releases. Earlier releases that were adopted are left out of account.
    attributes
        N numeric attributes.
    true
        The records' true numbers, shape (N, n).
    levels
        The M levels, in the mechanism's unit.
    context
        Progress and cancelling.
    apart
        Whether every copy has noise of its own, instead of being a rung of one ladder.
    """
    columns = tuple(
        EncodedColumn(attribute, np.ascontiguousarray(numbers))
        for attribute, numbers in zip(attributes, true, strict=True)
    )
    kept = {name: value for name, value in settings.items() if name != ADOPTED}
    ids = np.arange(true.shape[1], dtype=np.uint64)
    copies = np.empty((len(levels), *true.shape))
    for place, (level, part) in enumerate(one_by_one(context, levels)):
        own = place.to_bytes(8) if apart else b""
        keys = KeyRing(hashlib.sha256(_KNOWN + own).digest())
        released = mechanism.release(ReleaseRequest(columns, kept, level, ids, keys), part)
        for row, attribute in enumerate(attributes):
            column = released[attribute.name]
            copies[place, row] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return copies


COMPARED: Final = (Dependence.LADDER, Dependence.INDEPENDENT)
"""The copies that are made: those of the ladder, and those that it is compared with."""


@dataclass(frozen=True)
class Pool:
    """Numeric attributes, and the copies of them that somebody puts together.

    Parameters
    ----------
    mechanism, settings
        What releases them.
    attributes
        The N attributes with their numbers.
    levels
        The level of each of the M copies, in the order in which they come in; at least one.
    """

    mechanism: Mechanism
    settings: Settings
    attributes: tuple[Attribute, ...]
    levels: tuple[float, ...]

    @cached_property
    def moments(self) -> RecordMoments:
        """μ_X and K_X of the table.

        Raises
        ------
        PolicyError
            If the numbers' spread can't be measured.
        """
        return estimate_moments(self.attributes)

    @cached_property
    def noise(self) -> Floats:
        """The covariance of the noise at σ² = 1, shape (N, N); raises as `laws` does.

        Where levels are no σ², that is noise that varies as the numbers do.
        """
        law = self.laws[0]
        return self.moments.covariance if law.excess else law.covariance / self.levels[0]

    @cached_property
    def sizes(self) -> tuple[float, ...]:
        """σ² of each copy, shape (M,): the variance of its noise beside `noise`."""
        if not self.laws[0].excess:
            return self.levels
        shares = [float(law.covariance[0, 0] / self.noise[0, 0]) for law in self.laws]
        return tuple(min(max(share, LOWEST), HIGHEST) for share in shares)

    @cached_property
    def laws(self) -> tuple[NoiseLaw, ...]:
        """The law of each copy's noise.

        Raises
        ------
        PolicyError
            If the mechanism adds no noise to numbers.
        """
        found = [
            self.mechanism.noise_law(level, self.attributes, self.settings) for level in self.levels
        ]
        laws = tuple(law for law in found if law is not None)
        if len(laws) < len(found):
            raise PolicyError(
                "Nothing is known of the noise on {columns}.",
                "Choose a mechanism that adds noise to numbers.",
                columns=", ".join(attribute.name for attribute in self.attributes),
            )
        return laws


def expected_by_copies(pool: Pool) -> dict[Dependence, Floats]:
    """Return what the first 1, 2, … copies leave open of the best-told attribute, exactly.

    Returns
    -------
    dict
        For each way in which noises hang together, the normalized error, shape (M,).

    Raises
    ------
    SfumatoError
        As `Pool.moments` and `Pool.noise` do, or if a level is not positive.
    """
    return errors_by_copies(pool.sizes, pool.moments.covariance, pool.noise)


@dataclass(frozen=True)
class Attacker:
    """What an attacker knows beside the copies, their levels and their noise.

    Parameters
    ----------
    samples
        From how many records μ_X and K_X are learned; None for perfect knowledge.
    structured
        Whether what is known of the noise is used (`learned_moments`) or not
        (`learned_weights`).
    """

    samples: int | None = None
    structured: bool = True


@dataclass(frozen=True)
class Experiment:
    """Copies of some records, and the truth.

    Parameters
    ----------
    pool
        Whose copies they are.
    true
        The true numbers, none missing, shape (N, n).
    copies
        For each of `COMPARED`, the copies' numbers, shape (M, N, n).
    """

    pool: Pool
    true: Floats
    copies: Mapping[Dependence, Floats]


def make_experiment(pool: Pool, most: int | None, context: Context) -> Experiment:
    """Release copies of a table's records, on the ladder and with noise of their own.

    Parameters
    ----------
    pool
        Which copies.
    most
        At most how many records, evenly spaced; None for all that are complete.
    context
        Progress and cancelling.
    """
    true = complete_records(pool.attributes, most)
    copies = {}
    for dependence, part in one_by_one(context, COMPARED):
        copies[dependence] = simulated_copies(
            pool.mechanism,
            pool.attributes,
            pool.settings,
            true,
            pool.levels,
            part,
            apart=dependence is Dependence.INDEPENDENT,
        )
    return Experiment(pool, true, copies)


def guesses(
    experiment: Experiment, dependence: Dependence, attacker: Attacker, count: int | None = None
) -> Floats:
    """Return the joint linear estimate of every record, shape (N, n).

    Parameters
    ----------
    experiment
        The copies.
    dependence
        One of `COMPARED`; the attacker knows it.
    attacker
        What else the attacker knows.
    count
        From how many copies, the first ones; None for all.
    """
    levels = experiment.pool.sizes[:count]
    copies = experiment.copies[dependence][:count]
    if attacker.samples is not None and not attacker.structured:
        return estimate(copies, *learned_weights(copies, levels, attacker.samples))
    pool, moments = experiment.pool, experiment.pool.moments
    if attacker.samples is not None:
        best = int(np.argmin(levels))
        moments = learned_moments(copies[best], levels[best], attacker.samples, pool.noise)
    weights = joint_weights(levels, dependence, moments.covariance, pool.noise)
    return estimate(copies, weights, moments.mean)


@dataclass(frozen=True)
class BayesExperiment:
    """What copies leave open to somebody who knows how the numbers are distributed.

    Parameters
    ----------
    growth
        For each of `COMPARED`, the Bayes estimate's error by the number of copies.
    linear
        The expected error of the best linear estimate on the ladder, shape (M, N).
    records
        On how many records that was measured.
    """

    growth: Mapping[Dependence, BayesGrowth]
    linear: Floats
    records: int


def bayes_experiment(experiment: Experiment, most: int, context: Context) -> BayesExperiment:
    """Measure the Bayes estimate on some records, which are the attacker's prior as well.

    Parameters
    ----------
    experiment
        The copies, the ones with least noise first.
    most
        At most how many records, evenly spaced; each is compared with every other.
    context
        Progress and cancelling.
    """
    rows = experiment.true.shape[1]
    chosen = np.unique(np.linspace(0, rows - 1, most).astype(np.intp))
    true, levels = experiment.true[:, chosen], experiment.pool.sizes
    noise = experiment.pool.noise
    factor = factor_of(noise)
    laws = experiment.pool.laws if experiment.pool.laws[0].excess else ()
    growth = {}
    for dependence, part in one_by_one(context, COMPARED):
        held = experiment.copies[dependence][:, :, chosen]
        growth[dependence] = bayes_by_copies(true, held, levels, dependence, factor, part, laws)
    covariance = np.atleast_2d(np.cov(true))
    linear = [
        expected_errors(levels[: count + 1], Dependence.LADDER, covariance, noise).normalized
        for count in range(len(levels))
    ]
    return BayesExperiment(growth, np.array(linear), len(chosen))


MOST_ROWS: Final = 20_000
"""Records it is measured on: enough for a thousandth of the variance."""
FEWEST_ROWS: Final = 100
"""Records needed for each released number that a record is estimated from."""
_CORNERS: Final = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
"""Where the lines bend: quantiles of what was released."""
_RIDGE: Final = 1e-9


@dataclass(frozen=True)
class FormLeak:
    """What one attribute's form gives away, as shares of its variance that stay open.

    Parameters
    ----------
    attribute
        Its name.
    plain
        What the most trusted release leaves open without rounding and clipping: pooling never
        tells more than that release would.
    alone
        What the most trusted release leaves open as it is rounded and clipped.
    together
        What all releases leave open together.
    rows
        On how many records that was measured.
    """

    attribute: str
    plain: float
    alone: float
    together: float
    rows: int

    @property
    def leak(self) -> float:
        """How much more a coalition learns than its most trusted member, as a share."""
        return max(self.alone - self.together, 0.0)


@dataclass(frozen=True)
class RoundingLeak:
    """What Bayes estimates leave open of one attribute's variance.

    Parameters
    ----------
    plain
        Given the best copy without rounding and clipping: nothing can leave less.
    best
        Given the best copy as it is rounded and clipped.
    together
        Given all copies as they are rounded and clipped.
    error
        The standard error of `best` - `together`.
    records
        How many records it was measured on.
    """

    plain: float
    best: float
    together: float
    error: float
    records: int

    @property
    def leak(self) -> float:
        """By how much a coalition knows more than its best member."""
        return self.best - self.together


@dataclass(frozen=True)
class FormLeaks:
    """What the forms of an entry's attributes give away to somebody who pools releases.

    Parameters
    ----------
    linear
        By linear estimates, for each attribute; empty where there are too few records.
    bayes
        By Bayes' rule, for each attribute that is rounded or clipped, from its own numbers.
    """

    linear: tuple[FormLeak, ...]
    bayes: Mapping[str, RoundingLeak]


def measure_form_leak(
    mechanism: Mechanism,
    attributes: Attributes,
    settings: Mapping[str, Settings],
    levels: Sequence[float],
    context: Context,
) -> tuple[FormLeak, ...]:
    """Measure what a coalition gains from rounded and clipped numbers.

    Parameters
    ----------
    mechanism
        What releases the numbers.
    attributes
        N numeric attributes with their numbers.
    settings
        ``"formed"`` with the rounding and the bounds in question, ``"plain"`` without any.
    levels
        The levels that the coalition holds, in the mechanism's unit; at least one.
    context
        Progress and cancelling.

    Returns
    -------
    tuple of FormLeak
        For each attribute; empty where there are too few records to tell.
    """
    true = complete_records(attributes, MOST_ROWS)
    rows = true.shape[1]
    if rows < FEWEST_ROWS * len(levels) * len(attributes):
        return ()
    ordered = sorted(set(levels), key=mechanism.trust, reverse=True)
    copies: dict[str, Floats] = {}
    for (name, chosen), part in one_by_one(context, list(settings.items())):
        wanted = ordered if name == "formed" else ordered[:1]
        copies[name] = simulated_copies(mechanism, attributes, chosen, true, wanted, part)
    together = np.vstack(list(copies["formed"]))
    return tuple(
        FormLeak(
            attribute.name,
            _open(true[place], copies["plain"][0].T),
            _open(true[place], copies["formed"][0].T),
            _open(true[place], together.T),
            rows,
        )
        for place, attribute in enumerate(attributes)
    )


def _open(true: Floats, copies: Floats) -> float:
    """Return the share of the variance that the best sum of bent lines leaves open.

    Fitted on every other record and examined on the rest, and the other way round.
    """
    told = _bent(copies)
    centred = true - true.mean()
    if not centred.any():
        return 0.0
    left = 0.0
    for start in (0, 1):
        fitted, examined = slice(start, None, 2), slice(1 - start, None, 2)
        gram = told[fitted].T @ told[fitted] + _RIDGE * len(told) * np.eye(told.shape[1])
        weights = np.linalg.solve(gram, told[fitted].T @ centred[fitted])
        left += float(np.square(centred[examined] - told[examined] @ weights).sum())
    return left / float(np.square(centred).sum())


def _bent(copies: Floats) -> Floats:
    """Return every column, and its part above each of some quantiles, standardized."""
    corners = np.quantile(copies, _CORNERS, axis=0)
    parts = [copies, *(np.maximum(copies - corner, 0.0) for corner in corners)]
    told = np.hstack(parts)
    told -= told.mean(axis=0)
    spread = told.std(axis=0)
    told /= np.where(spread > 0, spread, 1.0)
    return told


class Forming(Mechanism):
    """A mechanism whose released numbers can be rounded and bounded: then they are no ladder."""

    @abstractmethod
    def rounding_variances(self, attributes: Attributes, settings: Settings) -> Floats:
        """Return what rounding adds to each attribute's variance beside the noise, shape (N,)."""

    @abstractmethod
    def form_leaks(
        self,
        levels: Sequence[float],
        attributes: Attributes,
        settings: Settings,
        context: Context,
    ) -> FormLeaks | None:
        """Measure what the looks of released numbers tell somebody who pools releases.

        Parameters
        ----------
        levels
            The levels of what is pooled, at least one.
        attributes
            The entry's attributes with their numbers.
        settings
            The mechanism's settings.
        context
            Progress and cancelling.

        Returns
        -------
        FormLeaks or None
            None where numbers are released as the ladder has them: then pooling tells nothing.
        """


def added_covariance(
    mechanism: Mechanism, level: float, attributes: Attributes, settings: Settings
) -> Floats | None:
    """Return the covariance of all that is added to numbers: the noise, and what rounding adds.

    Who estimates from releases takes it off. None where no noise is added.
    """
    noise = mechanism.noise_covariance(level, attributes, settings)
    if noise is None or not isinstance(mechanism, Forming):
        return noise
    return noise + np.diag(mechanism.rounding_variances(attributes, settings))


def form_leaks_of(
    mechanism: Mechanism,
    levels: Sequence[float],
    attributes: Attributes,
    settings: Settings,
    context: Context,
) -> FormLeaks | None:
    """Return what `Forming.form_leaks` measures; None for mechanisms that form nothing."""
    if not isinstance(mechanism, Forming):
        return None
    return mechanism.form_leaks(levels, attributes, settings, context)
