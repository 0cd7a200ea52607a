"""Copies of a table's numbers as a mechanism releases them, to try attacks on.

They are made under keys that everyone knows: nothing here is released, and the same question
has the same answer.

The attacks show what stays open as copies are pooled, and how far guesses are off: Li, Chen, Li
and Zhang, "Enabling Multilevel Trust in Privacy Preserving Data Mining", TKDE 2012, section 6.2:
Fig. 2 (normalized estimation error against the number of copies) and Fig. 3 (how the errors of
single records spread); beyond the paper, the same for an attacker who knows the distribution.
Copies are what the mechanism releases, rounded and clipped where it does so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from sfumato.engine.core.errors import PolicyError
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
from sfumato.engine.table.covariance import Moments, estimate_moments, factor_of
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
    def moments(self) -> Moments:
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
