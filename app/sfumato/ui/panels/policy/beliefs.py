"""What a matrix does to records and beliefs, in shares; the first picture does without them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sfumato.engine.matrices.estimate import record_utility
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.table.combinations import combined
from sfumato.engine.table.table import Attribute
from sfumato.plots.axes import percent
from sfumato.ui.panels.policy.wording import tr

HUNCH = 0.1
"""The belief before that examples start from."""


def kept(matrix: PerturbationMatrix, attributes: Sequence[Attribute]) -> str:
    """Return how many records show their true value."""
    share = record_utility(combined(attributes).frequencies, matrix)
    return tr(
        "{share} of records show their true value, and nobody can tell which.",
        share=percent(share, 0 if 0.01 < share < 0.99 else 1),
    )


def suspicion(matrix: PerturbationMatrix) -> str:
    """Return how far a hunch about a person can rise."""
    return tr(
        "A hunch of {before} about someone can rise to {after} at most.",
        before=percent(HUNCH, 0),
        after=percent(math.floor(matrix.rho2_for(HUNCH) * 1000 + 0.999) / 1000, 0),
    )
