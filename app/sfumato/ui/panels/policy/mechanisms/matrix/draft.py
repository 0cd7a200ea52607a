"""A matrix in the making: its cells as typed, and the numbers they mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.matrices.transition_matrix import TransitionMatrix

Cell = tuple[int, int]
"""Row (released) and column (original), from 0."""


@dataclass(frozen=True)
class MatrixDraft:
    """A matrix with the texts of the cells that are no numbers: nothing typed is lost.

    Parameters
    ----------
    matrix
        The numbers; NaN where a text is none.
    texts
        Those texts, by cell.
    """

    matrix: TransitionMatrix
    texts: Mapping[Cell, str] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Sequence[str], rows: Any) -> MatrixDraft:
        """Return the draft of stored rows; what does not fit is cut, and what lacks is empty."""
        size = len(names)
        try:
            return cls(TransitionMatrix.from_lists(names, rows))
        except (PolicyError, TypeError):
            entries = np.full((size, size), np.nan)
            for place, row in enumerate(rows if isinstance(rows, list) else []):
                if place < size and isinstance(row, list):
                    kept = [number if isinstance(number, float) else np.nan for number in row]
                    entries[place, : len(kept[:size])] = kept[:size]
            return cls(TransitionMatrix(tuple(names), entries))

    def with_texts(self, changes: Mapping[Cell, str]) -> MatrixDraft:
        """Return the draft with some cells typed anew."""
        entries, texts = self.matrix.entries.copy(), dict(self.texts)
        for cell, text in changes.items():
            number = parsed(text)
            entries[cell] = number
            texts.pop(cell, None)
            if math.isnan(number) and text.strip():
                texts[cell] = text.strip()
        return MatrixDraft(TransitionMatrix(self.matrix.names, entries), texts)

    def text(self, released: int, original: int) -> str:
        """Return what stands in a cell."""
        number = float(self.matrix.entries[released, original])
        if math.isnan(number):
            return self.texts.get((released, original), "")
        return f"{number:.12g}"

    def cell_problems(self) -> dict[Cell, str]:
        """Return what is wrong with single cells."""
        return {
            (problem.released, problem.original): f"{problem.what} {problem.remedy}"
            for problem in self.matrix.problems()
            if problem.released is not None and problem.original is not None
        }

    @property
    def sound(self) -> bool:
        """Whether a release can be made by it."""
        return not self.matrix.problems()

    @property
    def settings(self) -> dict[str, Any]:
        """The mechanism's settings."""
        return {"entries": self.matrix.entries.tolist()}


def parsed(text: str) -> float:
    """Return a cell's number, NaN where it is none; percent signs and decimal commas are read."""
    plain = text.strip().replace(",", ".").replace("\u202f", "").replace(" ", "")
    share = plain.removesuffix("%")
    try:
        value = float(share)
    except ValueError:
        return math.nan
    return value / 100 if share != plain else value
