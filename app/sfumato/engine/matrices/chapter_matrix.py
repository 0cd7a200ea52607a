"""The matrix of values that are replaced within their chapter first, and then everywhere.

With B₁ the even distribution over a value's chapter and B₂ that over the whole domain, B₁·B₂ =
B₂·B₁ = B₂. So (a·I + (1 − a)·B₁)·(c·I + (1 − c)·B₂) = a·c·I + c·(1 − a)·B₁ + (1 − c)·B₂, and two
such matrices multiply to the one with a·a' and c·c'.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.engine.matrices.matrix import DenseMatrix
from sfumato.engine.matrices.privacy import check_retention


class ChapterMatrix(DenseMatrix):
    """A value's chapter is kept with probability c, and the place inside it with a.

    Parameters
    ----------
    inside
        a, from 0 to 1.
    chapter
        c, from 0 to 1.
    chapters
        The chapter of each value, as a number, shape (m,), m >= 2.
    """

    def __init__(self, inside: float, chapter: float, chapters: Sequence[int]) -> None:
        check_retention(inside)
        check_retention(chapter)
        places = np.asarray(chapters)
        same = places[:, np.newaxis] == places
        everywhere = (1.0 - chapter) / len(places)
        within = chapter * (1.0 - inside) * same / same.sum(axis=0)
        super().__init__(inside * chapter * np.eye(len(places)) + within + everywhere)
        self.inside, self.chapter = inside, chapter
        self._same = same

    @property
    def gamma_inside(self) -> float:
        """By how much the odds between two values of one chapter change at most."""
        entries = self.dense()
        with np.errstate(divide="ignore"):
            ratios = np.where(self._same, np.diagonal(entries)[:, np.newaxis] / entries, 1.0)
        return float(ratios.max())
