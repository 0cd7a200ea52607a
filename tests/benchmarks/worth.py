"""How soon a release's worth, and what mechanisms would be worth, are told after an edit.

On 1,000,000 rows, from counts. Baseline: one pass over the rows that sorts one integer for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import cycle

import numpy as np

from sfumato.analysis.shown_columns import LeavingColumns
from sfumato.analysis.utility.mechanism_choice import choices_of
from sfumato.analysis.utility.worth import weigh_worth
from sfumato.engine.core.progress import Silent
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.release_columns import material_of
from tests.benchmarks.board import QUICK_ROWS, ROWS, SENSITIVE, decided, table_of
from tests.benchmarks.harness import Case

BASELINE = "numpy.sort of one integer a row"
KEYS = KeyRing(bytes(32))
TRUSTS = (0.61, 0.62, 0.63, 0.64, 0.65)


class Edits:
    """A document whose most trusted recipient gets another level each time."""

    def __init__(self, rows: int) -> None:
        self._table = Table(table_of(rows))
        self._document: Document = decided(self._table)
        self._leaving, self._noise = LeavingColumns(self._table, KEYS), KeyedNoise(KEYS)
        self._trusts = cycle(TRUSTS)

    def _edited(self) -> Document:
        stated = {name: {"retention_probability": next(self._trusts)} for name in SENSITIVE}
        first, *others = self._document.recipients
        return replace(self._document, recipients=(replace(first, statements=stated), *others))

    def weigh(self) -> None:
        """Tell what every release is worth after an edit."""
        document = self._edited()
        columns = self._leaving.of(document)
        made = material_of(document, self._leaving.whole.table)
        weigh_worth(made.document, columns, made.attributes, Silent(), self._noise)

    def recommend(self) -> None:
        """Tell what each mechanism would be worth to the first recipient after an edit."""
        document = self._edited()
        for _ in choices_of(
            document, MemorySurvey(self._table), KEYS, document.recipients[:1], Silent()
        ):
            pass


def cases(quick: bool) -> Iterator[Case]:
    """Return what is measured; with `quick`, fewer rows."""
    rows = QUICK_ROWS if quick else ROWS
    edits = Edits(rows)
    sort = partial(np.sort, np.random.default_rng(2).integers(0, 2**40, rows))
    yield Case(f"worth after an edit, n={rows:,}", edits.weigh, sort)
    yield Case(f"mechanisms' worth after an edit, n={rows:,}", edits.recommend, sort)
