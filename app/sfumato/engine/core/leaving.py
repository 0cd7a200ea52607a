"""How a column leaves for a recipient: the one answer of board, report and README."""

from __future__ import annotations

from enum import StrEnum

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.core.wording import Sentence


class Leaves(StrEnum):
    """How a column leaves for a recipient."""

    EXACT = "exact"
    COARSENED = "coarsened"
    RANDOMISED = "randomised"
    LEFT_OUT = "left out"
    PSEUDONYM = "pseudonym"
    UNDECIDED = "undecided"
    """Nothing protects the sensitive column yet, or the recipient has no level for it."""

    @property
    def word(self) -> Sentence:
        """What it is called in reports and bundles."""
        words = {
            Leaves.EXACT: Sentence("exact"),
            Leaves.COARSENED: Sentence("coarsened"),
            Leaves.RANDOMISED: Sentence("randomised"),
            Leaves.PSEUDONYM: Sentence("pseudonym"),
            Leaves.LEFT_OUT: Sentence("left out"),
            Leaves.UNDECIDED: Sentence("undecided"),
        }
        return words[self]


def leaves_unperturbed(spec: ColumnSpec, level: int = 0, height: int = 0) -> Leaves:
    """Return how a column leaves that no mechanism perturbs and that is not dropped.

    Parameters
    ----------
    spec
        What is decided about it.
    level, height
        The level at which its view shows it, and the highest one, where every row shows "*";
        0 without a hierarchy.
    """
    if height and level == height:
        return Leaves.LEFT_OUT
    coarser = level > 0 or spec.binning is not None or spec.coded is not None
    return Leaves.COARSENED if coarser else Leaves.EXACT
