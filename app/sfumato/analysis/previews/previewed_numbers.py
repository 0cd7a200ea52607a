"""What recipients would see of attributes that stay numbers, and what that tells."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from sfumato.analysis.previews.number_estimates import (
    EstimatesData,
    Recovery,
    Weights,
    columns_beside,
    estimates_of,
    quantiles_of,
    regressions_of,
    weighted_estimates_of,
)
from sfumato.analysis.previews.previewed_values import (
    Positions,
    PreviewQuestion,
    released_of,
    sample_positions,
    worth_of,
)
from sfumato.analysis.utility.worth import ColumnWorth
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.values import Floats
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.postprocessing import added_covariance
from sfumato.engine.randomness.keys import SECRET_BYTES, KeyRing
from sfumato.project.document.entry_plan import EntryPlan, plan_entry
from sfumato.project.release.byproducts import weight_column, weights_of

Noise = Callable[[int, int], Floats]
"""The covariance of two copies' noise, shape (N, N), by their places."""

INTERVALS = 48
POINTS = 1500


@dataclass(frozen=True)
class Witness:
    """What one recipient sees of the sample rows.

    Parameters
    ----------
    recipient
        The recipient.
    trust
        From 0 to 1.
    values
        The released numbers, shape (rows, N).
    apart
        What they would be if this release had noise of its own, shape (rows, N).
    noise
        The covariance of the noise, shape (N, N); None where it is not known.
    """

    recipient: str
    trust: float
    values: Floats = field(repr=False)
    apart: Floats = field(repr=False)
    noise: Floats | None


@dataclass(frozen=True)
class NumberSample:
    """Some rows as they are and as each recipient sees them.

    Parameters
    ----------
    attributes
        Their names.
    rows
        The rows' numbers, from 1.
    true
        The true numbers, shape (rows, N); not a number where missing.
    spreads
        The standard deviation of each attribute over all records, shape (N,).
    seen
        Every recipient's view, the most trusted first.
    """

    attributes: tuple[str, ...]
    rows: tuple[int, ...]
    true: Floats
    spreads: Floats
    seen: tuple[Witness, ...]


@dataclass(frozen=True)
class DistributionData:
    """One attribute's distribution, as it is and as it is released.

    Parameters
    ----------
    attribute, recipient
        Of what, and for whom.
    edges
        The intervals' edges, shape (k + 1,).
    true, released
        The share of the records in each interval, shape (k,).
    true_spread, released_spread
        The standard deviations over all records.
    """

    attribute: str
    recipient: str
    edges: Floats
    true: Floats
    released: Floats
    true_spread: float
    released_spread: float


@dataclass(frozen=True)
class ScatterData:
    """Two attributes of some records, as they are and as they are released.

    Parameters
    ----------
    attributes
        Their names, the horizontal one first.
    recipient
        For whom.
    true, released
        The numbers, shape (rows, 2).
    true_correlation, released_correlation
        Over all records.
    """

    attributes: tuple[str, str]
    recipient: str
    true: Floats
    released: Floats
    true_correlation: float
    released_correlation: float


@dataclass(frozen=True)
class NumberPreview:
    """Everything that is shown for one policy entry and recipient.

    Parameters
    ----------
    sample
        Before and after.
    distributions
        For each attribute.
    scatters
        For each pair of attributes, by their positions.
    means, covariance
        Of the true numbers, shapes (N,) and (N, N).
    estimates
        What the recipient can estimate; None where nothing is known of the noise.
    quantiles, regressions
        For each attribute, what the recipient recovers of its distribution and of how it depends
        on the others; None where there is too much noise or nothing to depend on.
    recovery
        What other regressions are estimated from; None where nothing is known of the noise.
    worth
        What each column is worth to the recipient.
    """

    sample: NumberSample
    distributions: tuple[DistributionData, ...]
    scatters: Mapping[tuple[int, int], ScatterData]
    means: Floats
    covariance: Floats
    estimates: EstimatesData | None
    quantiles: tuple[EstimatesData | None, ...]
    regressions: tuple[EstimatesData | None, ...]
    recovery: Recovery | None = None
    worth: tuple[ColumnWorth, ...] = ()


def compute_numbers(question: PreviewQuestion, context: Context) -> NumberPreview:
    """Compute what the preview shows of numbers.

    Raises
    ------
    SfumatoError
        If the policy entry can't be applied to the table.
    """
    names = question.entry.attributes
    every = np.column_stack([np.asarray(question.columns[n].values, np.float64) for n in names])
    left = question.rows_that_leave()
    true = every[left]
    known = {a.name: a for a in question.attributes}
    plan = plan_entry(
        question.document, question.entry, known, question.document.recipient(question.recipient)
    )
    complete = np.isfinite(true).all(axis=1)
    means = true[complete].mean(axis=0)
    covariance = np.atleast_2d(np.cov(true[complete], rowvar=False))
    spreads = np.sqrt(np.diag(covariance))
    seen = _views(question, left[sample_positions(len(left))], Part(context, 0.0, 0.3))
    whole = len(left) == question.table.rows
    released = _matrix(question, plan.level, None if whole else left, Part(context, 0.3, 0.9))
    rows = left[sample_positions(len(left))]
    sample = NumberSample(names, question.numbers_of(rows), every[rows], spreads, seen)
    context.report(0.9, "Comparing distributions")
    return NumberPreview(
        sample,
        tuple(_distribution(question, true, released, place) for place in range(len(names))),
        _scatters(question, true, released),
        means,
        covariance,
        *_estimates(question, plan, true, released, left),
        worth=worth_of(question),
    )


def _views(question: PreviewQuestion, rows: Positions, context: Context) -> tuple[Witness, ...]:
    """Return the sample rows as every recipient with a sound level sees them."""
    known = {a.name: a for a in question.attributes}
    mechanism = mechanism_called(question.entry.mechanism)
    seen = []
    recipients = question.document.recipients
    for place, recipient in enumerate(recipients):
        context.report(place / len(recipients), "Releasing sample rows")
        try:
            plan = plan_entry(question.document, question.entry, known, recipient)
            values = _matrix(question, plan.level, rows, Silent())
            apart = independent_values(question, plan.level, rows, place)
        except SfumatoError:
            continue  # the policy says what is wrong with this recipient's level
        noise = mechanism.noise_covariance(plan.level, question.attributes, plan.settings)
        trust = mechanism.trust(plan.level)
        seen.append(Witness(recipient.name, trust, values, apart, noise))
    return tuple(sorted(seen, key=lambda view: -view.trust))


def independent_values(
    question: PreviewQuestion, level: float, rows: Positions, place: int
) -> Floats:
    """Return some rows released with noise that no other release shares, shape (rows, N).

    The key is one that everyone knows: nothing of this is released.
    """
    secret = hashlib.sha256(f"independent noise {place}".encode()).digest()[:SECRET_BYTES]
    return _matrix(question, level, rows, Silent(), KeyRing(secret))


def _matrix(
    question: PreviewQuestion,
    level: float,
    rows: Positions | None,
    context: Context,
    keys: KeyRing | None = None,
) -> Floats:
    """Return the released numbers, shape (rows, N)."""
    released = released_of(question, level, rows, context, keys)
    columns = [released[name] for name in question.entry.attributes]
    return np.column_stack([c.to_numpy(dtype=np.float64, na_value=np.nan) for c in columns])


def _distribution(
    question: PreviewQuestion, true: Floats, released: Floats, place: int
) -> DistributionData:
    before, after = (side[np.isfinite(side[:, place]), place] for side in (true, released))
    low, high = np.quantile(after, [0.002, 0.998])
    low, high = min(low, before.min()), max(high, before.max())
    edges = _edges(before, float(low), float(high))
    return DistributionData(
        question.entry.attributes[place],
        question.recipient,
        edges,
        np.histogram(before, edges)[0] / len(before),
        np.histogram(after, edges)[0] / len(after),
        float(before.std()),
        float(after.std()),
    )


def _edges(numbers: Floats, low: float, high: float) -> Floats:
    """Return edges of intervals; of whole numbers, every interval holds equally many."""
    if not high > low:
        return np.array([low - 0.5, low + 0.5])
    width = (high - low) / INTERVALS
    if np.array_equal(numbers, np.round(numbers)):
        width = float(max(math.ceil(width), 1))
        low = math.floor(low) - 0.5
    count = max(int(np.ceil((high - low) / width)), 1)
    edges: Floats = np.asarray(low + width * np.arange(count + 1), dtype=np.float64)
    return edges


def _scatters(
    question: PreviewQuestion, true: Floats, released: Floats
) -> dict[tuple[int, int], ScatterData]:
    found = {}
    names = question.entry.attributes
    for first, second in itertools.combinations(range(len(names)), 2):
        pair = [first, second]
        known = np.isfinite(true[:, pair]).all(axis=1)
        known &= np.isfinite(released[:, pair]).all(axis=1)
        before, after = true[known][:, pair], released[known][:, pair]
        shown = np.unique(np.linspace(0, len(before) - 1, min(POINTS, len(before))).astype(int))
        found[first, second] = ScatterData(
            (names[first], names[second]),
            question.recipient,
            before[shown],
            after[shown],
            _correlation(before),
            _correlation(after),
        )
    return found


def _correlation(pair: Floats) -> float:
    spread = pair.std(axis=0)
    if not (spread > 0).all():
        return 0.0
    return float(np.corrcoef(pair[:, 0], pair[:, 1])[0, 1])


def _estimates(
    question: PreviewQuestion, plan: EntryPlan, true: Floats, released: Floats, left: Positions
) -> tuple[
    EstimatesData | None,
    tuple[EstimatesData | None, ...],
    tuple[EstimatesData | None, ...],
    Recovery | None,
]:
    """Return moments, quantiles and regressions as the recipient estimates them, by cluster."""
    mechanism = mechanism_called(plan.mechanism)
    about = (plan.level, question.attributes, plan.settings)
    noise, law = added_covariance(mechanism, *about), mechanism.noise_law(*about)
    if noise is None or law is None:
        return None, (), (), None
    names = question.entry.attributes
    beside = columns_beside(question.document, names)
    unit = question.document.unit
    together = unit.most_rows if unit is not None and plan.by_unit else 1
    table, asked = question.table, (question.recipient, names, true, released, noise)
    if len(left) < table.rows:
        table = replace(table, frame=table.frame.iloc[left].reset_index(drop=True))
    column, numbers = weight_column(question.document), weights_of(question.document, table)
    weights = None if column is None or numbers is None else Weights(column.name, numbers)
    moments = (
        estimates_of(*asked, law.excess)
        if weights is None
        else weighted_estimates_of(*asked, weights)
    )
    moments = moments.moved(_shifts(question, plan, true, weights))
    quantiles = quantiles_of(*asked, weights, law.excess)
    return (
        moments.by_cluster(together),
        tuple(each and each.by_cluster(together) for each in quantiles),
        tuple(each and each.by_cluster(together) for each in regressions_of(*asked)),
        Recovery(*asked, table, beside, together),
    )


def _shifts(
    question: PreviewQuestion, plan: EntryPlan, true: Floats, weights: Weights | None
) -> dict[str, float]:
    """Return how far each mean is moved since numbers are cut off at bounds."""
    mechanism = mechanism_called(plan.mechanism)
    shown = mechanism.shown_moments(true.T, plan.level, question.attributes, plan.settings)
    if shown is None:
        return {}
    off, shifts = shown[0] - true.T, {}
    for name, each in zip(question.entry.attributes, off, strict=True):
        known = np.isfinite(each)
        share = None if weights is None else weights.numbers[known]
        shifts[name] = float(np.average(each[known], weights=share)) if known.any() else 0.0
    return shifts


# ----- one record


def linear_estimate(
    means: Floats,
    covariance: Floats,
    copies: Sequence[Floats],
    noise_between: Noise,
) -> tuple[Floats, Floats]:
    """Return the best linear estimate from several noisy copies, and the covariance of its error.

    Li, Chen, Li and Zhang, TKDE 2012, eqs. 6 to 8.

    Parameters
    ----------
    means, covariance
        Of the true numbers, shapes (N,) and (N, N).
    copies
        The M copies, each of shape (N,).
    noise_between
        The covariance of two copies' noise, shape (N, N), by their places.
    """
    count = len(copies)
    scales = np.sqrt(np.diagonal(covariance))
    scales = np.where(scales > 0, scales, 1.0)
    both = np.outer(scales, scales)
    own = covariance / both
    between = np.block(
        [[own + noise_between(a, b) / both for b in range(count)] for a in range(count)]
    )
    across = np.tile(own, count)
    # Two copies may be one and the same, so there may be no inverse.
    weights = np.linalg.lstsq(between, across.T, rcond=None)[0].T
    surprise = np.concatenate([(copy - means) / scales for copy in copies])
    error = own - weights @ across.T
    return means + scales * (weights @ surprise), both * (error + error.T) / 2
