"""multi-pert as its paper has it, with the compressed history of section 6.

Xiao, Tao and Chen, "Optimal Random Perturbation at Multiple Privacy Levels", VLDB 2009. A
request at a retention probability p is answered from the releases at the two neighbouring
levels, by the coin of equations 3 and 4 (figure 3). Of the m releases of a record only those
are kept at which its value changes, going down: ``history(t)``, whose expected length is below
``1 + ln(p_max/p_min)`` however many releases there are (Lemma 2). All records together take
O(n + m) space, and a release takes O(n + log m) time.

The product's own releases need no history (`sfumato.engine.ladders.uniform`,
`sfumato.engine.mechanisms.uniform.mechanism`); this is the published algorithm, for comparison and
for its experiments.
"""

from __future__ import annotations

import bisect
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Codes
from sfumato.engine.ladders.uniform_cells import RecordDraws
from sfumato.engine.randomness.keys import AttributeKey
from tests.engine.ladders.multi_pert import coin

_WORD: Final = 2.0**64


class ReleaseHistory:
    """All records' releases, compressed: flat lists of levels and codes, record by record.

    Parameters
    ----------
    codes
        The true codes, shape (n,).
    size
        The number of values in the domain.
    """

    def __init__(self, codes: Codes, size: int) -> None:
        self.codes = codes
        self.size = size
        self.levels: list[float] = []
        self._starts = np.zeros(len(codes), dtype=np.int64)
        self._counts = np.zeros(len(codes), dtype=np.int64)
        self._step_levels = np.empty(0, dtype=np.float64)
        self._step_codes = np.empty(0, dtype=codes.dtype)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The length of each record's list, shape (n,)."""
        return self._counts.copy()

    @property
    def disparate_pairs(self) -> npt.NDArray[np.int64]:
        """How many pairs of adjacent releases differ, for each record, shape (n,)."""
        return np.maximum(self._counts - 1, 0)

    @property
    def elements(self) -> int:
        """The length of all records' lists together."""
        return len(self._step_levels)

    def steps_of(self, row: int) -> tuple[tuple[float, int], ...]:
        """Return one record's list, from the highest level down."""
        part = slice(self._starts[row], self._starts[row] + self._counts[row])
        return tuple(
            (float(level), int(code))
            for level, code in zip(self._step_levels[part], self._step_codes[part], strict=True)
        )

    def look_up(self, level: float) -> Codes:
        """Return what was released at a level, shape (n,)."""
        reached = self._count_where(self._step_levels >= level)
        shown: Codes = self._step_codes[self._starts + reached - 1]
        return shown

    def insert(self, level: float, codes: Codes) -> None:
        """Take in the release at a new level."""
        place, upper, lower = _place_of(self.levels, level)
        at = self._starts + self._count_where(self._step_levels > level)
        shown = codes.astype(self._step_codes.dtype, copy=False)
        changes = np.ones(len(codes), dtype=bool)
        if upper is not None:
            changes = self.look_up(upper) != shown
        if lower is not None:
            below = self.look_up(lower)
            self._settle_below(at, lower, below, below != shown)
        self._put(at[changes], level, shown[changes])
        self._counts += changes
        self._restart()
        self.levels.insert(place, level)

    def _settle_below(
        self, at: npt.NDArray[np.int64], lower: float, below: Codes, differs: npt.NDArray[np.bool_]
    ) -> None:
        """Keep an element for the level below exactly where its value differs from the new one.

        Afterwards `at` points at the place of the new element in the changed lists.
        """
        ends = self._starts + self._counts
        inside = np.minimum(at, max(self.elements - 1, 0))
        there = (at < ends) & (self._step_levels[inside] == lower)
        gone, fresh = there & ~differs, ~there & differs
        kept = np.ones(self.elements, dtype=bool)
        kept[at[gone]] = False
        self._step_levels, self._step_codes = self._step_levels[kept], self._step_codes[kept]
        at -= np.cumsum(gone) - gone
        self._put(at[fresh], lower, below[fresh])
        at += np.cumsum(fresh) - fresh
        self._counts += fresh.astype(np.int64) - gone

    def _put(self, places: npt.NDArray[np.int64], level: float, codes: Codes) -> None:
        self._step_levels = np.insert(self._step_levels, places, level)
        self._step_codes = np.insert(self._step_codes, places, codes)

    def _restart(self) -> None:
        self._starts = np.cumsum(self._counts) - self._counts

    def _count_where(self, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return how many of each record's elements are chosen, shape (n,)."""
        if not self.levels or not len(chosen):
            return np.zeros(len(self.codes), dtype=np.int64)
        # From the second release on no list is empty, as `reduceat` needs it.
        return np.add.reduceat(chosen, self._starts, dtype=np.int64)


def multi_pert(
    history: ReleaseHistory,
    level: float,
    record_ids: npt.NDArray[np.uint64],
    key: AttributeKey,
) -> Codes:
    """Answer a request as the paper's figure 3 does, and take the release into the history.

    Parameters
    ----------
    history
        What was released before; changed by the call unless the level was released already.
    level
        The retention probability of the request, above 0 and below 1.
    record_ids, key
        What the draws of a record are a function of, beside its true value and the number of
        the request.

    Returns
    -------
    numpy.ndarray
        The released codes, shape (n,).
    """
    if level in history.levels:
        return history.look_up(level)
    _, above, below = _place_of(history.levels, level)
    upper = history.codes if above is None else history.look_up(above)
    draws = RecordDraws(history.codes, record_ids, key)
    words, fresh = draws.word_and_code(len(history.levels), history.size)
    share = words.astype(np.float64) / _WORD
    released = fresh.astype(history.codes.dtype)
    if below is None:
        np.copyto(released, upper, where=share < level / (above or 1.0))
    else:
        lower = history.look_up(below)
        same = upper == lower
        chances = [coin(level, above or 1.0, below, case, history.size) for case in (False, True)]
        heads, tails = (np.array(pair)[same.astype(np.intp)] for pair in zip(*chances, strict=True))
        np.copyto(released, lower, where=share < heads + tails)
        np.copyto(released, upper, where=share < heads)
    history.insert(level, released)
    return released


def _place_of(levels: list[float], level: float) -> tuple[int, float | None, float | None]:
    """Return where a level belongs among levels that fall, and its neighbours."""
    place = bisect.bisect_left(levels, -level, key=lambda one: -one)
    upper = levels[place - 1] if place else None
    return place, upper, levels[place] if place < len(levels) else None
