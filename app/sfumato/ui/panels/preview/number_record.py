"""What is believed of one record: by a recipient alone, and by several together."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QCoreApplication

from sfumato.engine.core.progress import Silent
from sfumato.engine.randomness.keys import SECRET_BYTES, KeyRing
from sfumato.plots.number_ellipse import Belief, RecordData
from sfumato.ui.panels.preview.released import Positions, Question, Witness, released_of

if TYPE_CHECKING:
    from sfumato.ui.panels.preview.numbers import NumberPreview

Floats = npt.NDArray[np.float64]
Noise = Callable[[int, int], Floats]
"""The covariance of two copies' noise, by their places."""


def independent_values(question: Question, level: float, rows: Positions, place: int) -> Floats:
    """Return some rows released with noise that no other release shares, shape (rows, N).

    The key is one that everyone knows: nothing of this is released.
    """
    secret = hashlib.sha256(f"independent noise {place}".encode()).digest()[:SECRET_BYTES]
    released = released_of(question, level, rows, Silent(), KeyRing(secret))
    columns = [released[name] for name in question.entry.attributes]
    return np.column_stack([c.to_numpy(dtype=np.float64, na_value=np.nan) for c in columns])


def record_data(
    preview: NumberPreview, at: int, places: Sequence[int], members: Sequence[Witness]
) -> RecordData:
    """Return what is believed of one record of the sample.

    Parameters
    ----------
    preview
        What is known of the table and its releases.
    at
        The record's place in the sample.
    places
        One or two attributes, by their places in the entry. Estimates use all of them.
    members
        The recipients whose noise is known, the most trusted first.
    """
    means, covariance = preview.means, preview.covariance
    noises = [member.noise for member in members if member.noise is not None]
    nothing = np.zeros_like(covariance)

    def believed(copies: Sequence[Floats], between: Noise, who: str, trust: float | None) -> Belief:
        guess, error = linear_estimate(means, covariance, copies, between)
        return Belief(who, guess[places], error[np.ix_(places, places)], trust)

    def apart(first: int, second: int) -> Floats:
        return noises[first] if first == second else nothing

    def on_ladder(first: int, second: int) -> Floats:
        # Noise grows by independent steps, so two rungs share that of the more trusted one.
        return noises[min(first, second)]

    def own(noise: Floats) -> Noise:
        return lambda _first, _second: noise

    def pooled(copies: Sequence[Floats], between: Noise, who: str) -> Belief:
        return believed(copies, between, QCoreApplication.translate("Preview", who), None)

    alone = [
        believed([member.values[at]], own(noise), member.recipient, member.trust)
        for member, noise in zip(members, noises, strict=True)
    ]
    without = QCoreApplication.translate("Preview", "Without any release")
    return RecordData(
        tuple(preview.sample.attributes[place] for place in places),
        preview.sample.rows[at],
        preview.sample.true[at, places],
        Belief(without, means[places], covariance[np.ix_(places, places)]),
        tuple(alone),
        pooled([m.values[at] for m in members], on_ladder, "Together, on the ladder"),
        pooled([m.apart[at] for m in members], apart, "Together, independent noise"),
    )


def linear_estimate(
    means: Floats,
    covariance: Floats,
    copies: Sequence[Floats],
    noise_between: Callable[[int, int], Floats],
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
