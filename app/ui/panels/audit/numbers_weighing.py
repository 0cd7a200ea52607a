"""What a coalition learns of numbers, computed in a job from snapshots; no widgets here."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from app.engine.audit.gaussian_attack import (
    Dependence,
    errors_by_copies,
    estimate,
    joint_weights,
    learned_moments,
)
from app.engine.covariance import Moments, estimate_moments
from app.engine.errors import PolicyError
from app.engine.mechanisms import mechanism_called
from app.engine.mechanisms.base import ReleaseRequest
from app.engine.progress import Context, Part, Silent
from app.engine.randomness import KeyRing
from app.engine.table import Attribute, EncodedColumn
from app.plots.bayes_by_copies import BayesData
from app.plots.error_by_copies import CopiesData
from app.plots.error_histogram import ErrorsData
from app.project.model import PolicyEntry
from app.ui.panels.audit.holdings import Holding
from app.ui.panels.audit.numbers_bayes import weigh_bayes

if TYPE_CHECKING:
    from collections.abc import Mapping

Floats = npt.NDArray[np.float64]

MOST_ROWS: Final = 5_000
SAMPLES: Final = (100, 200, 300)
"""Records per squared attribute from which an attacker learns the distribution."""
_KEY: Final = b"the audit of numbers"


@dataclass(frozen=True)
class NumbersCoalition:
    """Who pools what.

    Parameters
    ----------
    entry
        The policy entry.
    attributes
        Its N attributes, with their numbers.
    holdings
        What the members hold, the most trusted first; at least one.
    """

    entry: PolicyEntry
    attributes: tuple[Attribute, ...]
    holdings: tuple[Holding, ...]

    @property
    def levels(self) -> list[float]:
        """σ² of every copy."""
        return [holding.level for holding in self.holdings]


@dataclass(frozen=True)
class WeighedNumbers:
    """What a coalition learns.

    Parameters
    ----------
    copies
        The error by the number of copies.
    errors
        For each knowledge, by its samples per squared attribute (0 for perfect knowledge), and
        each attribute's place, how far off single guesses are.
    bayes
        For each attribute, what is open to somebody who knows how the numbers are distributed.
    """

    copies: CopiesData
    errors: Mapping[tuple[int, int], ErrorsData]
    bayes: tuple[BayesData, ...]


def weigh_copies(coalition: NumbersCoalition) -> CopiesData:
    """Return the error of the best linear estimate as members join one by one.

    Raises
    ------
    SfumatoError
        If nothing is known of the noise, or the numbers' spread can't be measured.
    """
    covariance = estimate_moments(coalition.attributes).covariance
    noise = _noise(coalition)
    errors = errors_by_copies(coalition.levels, covariance, noise)
    return CopiesData(
        coalition.entry.key,
        tuple(holding.recipient for holding in coalition.holdings),
        errors[Dependence.LADDER],
        errors[Dependence.INDEPENDENT],
        errors[Dependence.LINEAR],
    )


def weigh_numbers(
    coalition: NumbersCoalition, knowledge_words: Sequence[str], context: Context
) -> WeighedNumbers:
    """Return what a coalition learns, on average and record by record.

    Parameters
    ----------
    coalition
        Who pools what.
    knowledge_words
        What the attacker knows, in words: first for perfect knowledge, then for `SAMPLES`.
    context
        Progress and cancelling.
    """
    copies = weigh_copies(coalition)
    true = _complete(coalition.attributes)
    context.report(0.1, "Releasing copies")
    ladder = _copies(coalition, true, apart=False)
    context.report(0.3, "Releasing copies with noise of their own")
    independent = _copies(coalition, true, apart=True)
    found: dict[tuple[int, int], ErrorsData] = {}
    for place, (samples, words) in enumerate(zip((0, *SAMPLES), knowledge_words, strict=True)):
        context.report(0.5 + 0.05 * place, "Guessing every record")
        off = {
            dependence: np.abs(_guess(coalition, held, dependence, samples) - true)
            for dependence, held in (
                (Dependence.LADDER, ladder),
                (Dependence.INDEPENDENT, independent),
            )
        }
        for column, attribute in enumerate(coalition.attributes):
            found[samples, column] = ErrorsData(
                attribute.name,
                len(coalition.holdings),
                words,
                float(true[column].std()),
                off[Dependence.LADDER][column],
                off[Dependence.INDEPENDENT][column],
            )
    bayes = weigh_bayes(
        copies.names,
        [attribute.name for attribute in coalition.attributes],
        coalition.levels,
        true,
        {Dependence.LADDER: ladder, Dependence.INDEPENDENT: independent},
        _noise(coalition),
        Part(context, 0.7, 1.0),
    )
    return WeighedNumbers(copies, found, bayes)


def _noise(coalition: NumbersCoalition) -> Floats:
    """Return the covariance of the noise at σ² = 1."""
    mechanism = mechanism_called(coalition.entry.mechanism)
    level = coalition.levels[0]
    noise = mechanism.noise_covariance(level, coalition.attributes, coalition.entry.settings)
    if noise is None:
        raise PolicyError(
            "Nothing is known of the noise on {entry}.",
            "Choose a mechanism that adds noise to numbers.",
            entry=coalition.entry.key,
        )
    return noise / level


def _complete(attributes: Sequence[Attribute]) -> Floats:
    """Return evenly spaced records in which everything is known, shape (N, n)."""
    whole = np.stack([a.numbers for a in attributes if a.numbers is not None])
    known = np.flatnonzero(np.isfinite(whole).all(axis=0))
    chosen = known[np.linspace(0, len(known) - 1, min(MOST_ROWS, len(known))).astype(np.intp)]
    return whole[:, chosen]


def _copies(coalition: NumbersCoalition, true: Floats, *, apart: bool) -> Floats:
    """Return every member's copy, shape (M, N, n); `apart` with noise of its own for each.

    The keys are such that everyone knows: nothing of this is released.
    """
    mechanism = mechanism_called(coalition.entry.mechanism)
    copies = []
    for place, level in enumerate(coalition.levels):
        secret = hashlib.sha256(_KEY + (bytes([place % 256, 1]) if apart else b"")).digest()
        columns = tuple(
            EncodedColumn(attribute, np.ascontiguousarray(true[column]))
            for column, attribute in enumerate(coalition.attributes)
        )
        ids = np.arange(true.shape[1], dtype=np.uint64)
        settings = {k: v for k, v in coalition.entry.settings.items() if k != "adopted"}
        request = ReleaseRequest(columns, settings, level, ids, KeyRing(secret))
        released = mechanism.release(request, Silent())
        series = [released[attribute.name] for attribute in coalition.attributes]
        copies.append([s.to_numpy(dtype=np.float64, na_value=np.nan) for s in series])
    return np.array(copies)


def _guess(
    coalition: NumbersCoalition, copies: Floats, dependence: Dependence, samples: int
) -> Floats:
    """Return the coalition's guess of every record, shape (N, n)."""
    noise = _noise(coalition)
    moments: Moments = estimate_moments(coalition.attributes)
    if samples:
        size = len(coalition.attributes)
        stated = str(coalition.entry.settings.get("noise", "proportional"))
        moments = learned_moments(copies[0], coalition.levels[0], samples * size**2, stated)
    weights = joint_weights(coalition.levels, dependence, moments.covariance, noise)
    return estimate(copies, weights, moments.mean)
