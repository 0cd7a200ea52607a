"""Levels of many columns, whose combinations are too many to search: found one step at a time.

All columns begin at their highest level, where nothing is told. Step by step one column is shown
more finely: the one by which least is lost for what it adds to the number of classes, as long as
the rows that have to be suppressed stay within what is allowed. What a step costs only grows with
the steps before it, so a step that was too much once is not tried again, and of the others mostly
the best is looked at anew (lazy greedy search; Minoux 1978). Columns of few values are shown first
by this rule; a second search goes by the loss alone, and the better of both is taken.

Columns whose loss counts more than others' are begun with: of each in turn, the least is shown
that tells anything. Weights alone would not do that, since a few columns of two values are shown
for what one of many values takes.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Floats, Integers
from sfumato.engine.generalization.cells import WHOLE
from sfumato.engine.generalization.coded import IntArray
from sfumato.engine.generalization.distinct_rows import DistinctRows
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.views import Demand

_DENSE: Final = 4
_LEAST_ENTROPY: Final = 0.02
"""Steps that add fewer nats to the classes count as if they added so many."""


def nodes_of_many(
    base: DistinctRows,
    demands: Sequence[Demand],
    allowed: Sequence[int],
    costs: Sequence[float],
    context: Context,
) -> list[Node] | None:
    """Return the levels of a chain of views, the most trusted first; None where there are none.

    There are none where rows suppressed for one recipient are too few to hide from a later one.

    Parameters
    ----------
    base
        The rows that differ, of quasi-identifiers with one group on top.
    demands, allowed
        What each view has to keep, and how many rows it may suppress, the later ones' among them.
    costs
        How much the loss in each column counts, shape (columns,).
    context
        Progress and cancelling.
    """
    found, rows, floor = list[Node](), base, base.node
    least = max((demand.k for demand in demands), default=1)
    for place, (demand, most) in enumerate(zip(demands, allowed, strict=True)):
        part = Part(context, place / len(demands), (place + 1) / len(demands))
        if found and _suppressed(rows, floor, demand.k) <= most:
            node = floor
        else:
            weighed: _Weighed = {}
            tried = [
                _Steps(rows, demand.k, most, floor, costs, by_classes, least, weighed).taken(
                    Part(part, *share)
                )
                for by_classes, share in ((True, (0.0, 0.5)), (False, (0.5, 1.0)))
            ]
            lost = {node: _loss(rows, node, demand.k, most, costs) for node in tried}
            node = min(tried, key=lost.__getitem__)
            if lost[node] == np.inf:
                return None
        found.append(node)
        floor = node
        if len(found) == len(demands):
            break
        rows = rows.joined(node)
        shown = rows.shown(node, demand.k)
        rows = replace(rows, hidden=np.where(shown.suppressed, WHOLE, np.uint64(0)))
    return found


def _suppressed(rows: DistinctRows, node: Node, k: int) -> int:
    """Return how many rows a view suppresses."""
    return int(rows.counts[rows.shown(node, k).suppressed].sum())


def _loss(rows: DistinctRows, node: Node, k: int, most: int, costs: Sequence[float]) -> float:
    """Return what a view loses; infinite where it suppresses too many rows."""
    shown = rows.shown(node, k)
    if int(rows.counts[shown.suppressed].sum()) > most:
        return np.inf
    return float(np.dot(costs, rows.losses(node, shown)))


@dataclass(frozen=True)
class _StepOutcome:
    """What one step would make of the classes."""

    classes: IntArray
    number: int
    loss: float
    entropy: float


_Weighed = dict[tuple[tuple[tuple[int, int], ...], bool, int, int], tuple[float, float] | None]
"""The loss and the entropy after a step, by the steps before it, whether it must leave enough
suppressed rows, and its column and level; None where it is too much."""


class _Steps:
    """A view on its way from nothing told to as much as may be.

    Parameters
    ----------
    rows
        The rows as the views before leave them.
    k, most
        The units of the smallest class, and how many rows may be suppressed.
    floor
        The levels that no column may fall below.
    costs
        How much the loss in each column counts.
    by_classes
        Whether a step's gain is weighed against the classes it makes.
    least
        Fewer suppressed rows than so many can't be hidden from all who are trusted less.
    weighed
        What is known of steps: searches that begin alike weigh them once.
    """

    def __init__(
        self,
        rows: DistinctRows,
        k: int,
        most: int,
        floor: Node,
        costs: Sequence[float],
        by_classes: bool,
        least: int,
        weighed: _Weighed,
    ) -> None:
        self._rows, self._k, self._most, self._floor = rows, k, most, floor
        self._least, self._weighed = least, weighed
        self._path: tuple[tuple[int, int], ...] = ()
        self._costs, self._by_classes = costs, by_classes
        usual = min(costs, default=1.0)
        important = [axis for axis, cost in enumerate(costs) if cost > usual]
        self._important = sorted(important, key=lambda axis: -costs[axis])
        self._live = np.flatnonzero(rows.hidden != WHOLE)
        self._counts: Floats = rows.counts[self._live].astype(np.float64)
        every = len(self._live) == len(rows.counts)
        self._codes = [codes if every else codes[self._live] for codes in rows.codes]
        self._gone = int(rows.rows - self._counts.sum())
        self._node = [each.height for each in rows.quasi_identifiers]
        self._lost: Floats = np.full(len(self._live), float(np.sum(costs)))
        """What each row loses in all columns."""
        self._classes = np.zeros(len(self._live), dtype=np.intp)
        self._number = 1
        self._loss = float(np.sum(costs)) * rows.rows
        self._entropy = -float(np.log(max(self._counts.sum(), 1.0)))
        self._only_enough = False
        """Whether each step has to leave no suppressed rows, or enough to hide from everybody."""
        self._enough = self
        """Where the search stood when this was so last."""

    def taken(self, context: Context) -> Node:
        """Return the levels once no further step is possible.

        Those of the last step whose suppressed rows are enough to hide from everybody, and from
        there as many more as suppress none or enough.
        """
        self._enough = self._copied()
        self._begin()
        self._descend(Part(context, 0.0, 0.7))
        last = self._enough
        if last._node != self._node:
            last._only_enough = True
            last._descend(Part(context, 0.7, 1.0))
        return tuple(last._node)

    def _copied(self) -> _Steps:
        """Return where the search stands; arrays are replaced, never changed."""
        found = copy(self)
        found._node, found._enough = list(self._node), found
        return found

    def _begin(self) -> None:
        """Show something of each important column that allows it."""
        for axis in self._important:
            sizes = self._rows.quasi_identifiers[axis].sizes
            telling = [at for at in range(self._floor[axis], self._node[axis]) if sizes[at] > 1]
            if telling and self._outcome(axis, telling[-1]) is not None:
                self._take(axis, telling[-1])

    def _descend(self, context: Context) -> None:
        """Take one step after the other, always the best, until none is possible."""
        waiting = [
            (-np.inf, axis, level, -1)
            for axis, height in enumerate(self._node)
            for level in range(self._floor[axis], height)
        ]
        heapq.heapify(waiting)
        steps = 0
        while waiting:
            _, axis, level, asked = heapq.heappop(waiting)
            if level >= self._node[axis]:
                continue
            if asked == steps:
                self._take(axis, level)
                steps += 1
                context.report(1.0 - 1.0 / (1 + steps), "Adding columns one by one")
                continue
            gain = self._gain(axis, level)
            if gain > 0.0:
                heapq.heappush(waiting, (-gain, axis, level, steps))

    def _gain(self, axis: int, level: int) -> float:
        """Return what a step saves, by the classes it makes; 0 where it is too much."""
        key = (self._path, self._only_enough, axis, level)
        if key not in self._weighed:
            found = self._outcome(axis, level)
            self._weighed[key] = None if found is None else (found.loss, found.entropy)
        known = self._weighed[key]
        if known is None:
            return 0.0
        loss, entropy = known
        saved = self._loss - loss
        return saved / max(entropy - self._entropy, _LEAST_ENTROPY) if self._by_classes else saved

    def _outcome(self, axis: int, level: int) -> _StepOutcome | None:
        """Return what a step makes of the classes; None where it suppresses too many rows."""
        quasi = self._rows.quasi_identifiers[axis]
        size = quasi.sizes[level]
        key = self._classes * size + quasi.levels[level][self._codes[axis]]
        cells = self._number * size
        if cells > max(1 << 16, _DENSE * len(key)):
            key, found = pd.factorize(key)
            cells = len(found)
        counts = np.bincount(key, self._counts, cells)
        stands = self._sizes(key, counts) >= self._k
        suppressed = self._gone + int(counts[~stands].sum())
        if self._only_enough and 0 < suppressed < self._least:
            return None
        if 0 < suppressed < self._k and stands.any():
            suppressed += int(counts[stands].min())  # which joins them
        if suppressed > self._most:
            return None
        kept = stands[key]
        before, after = (quasi.could_be[at][self._codes[axis]] for at in (self._node[axis], level))
        lost = self._lost - self._costs[axis] * (before - after)
        shown = float((lost * self._counts)[kept].sum())
        loss = shown + suppressed * float(np.sum(self._costs))
        present = counts[counts > 0]
        entropy = -float((present * np.log(present)).sum()) / max(self._rows.rows, 1)
        return _StepOutcome(key, cells, loss, entropy)

    def _sizes(self, classes: IntArray, counts: Floats | Integers) -> Integers:
        """Return how many units each class has, as far as that decides whether it stands."""
        sizes: Integers = counts.astype(np.int64)
        if self._rows.units is None:
            return sizes
        unsure = np.flatnonzero(sizes >= self._k)
        everything = np.full(len(self._rows.counts), len(sizes), dtype=np.intp)
        everything[self._live] = classes
        units = self._rows.units_in(everything, len(sizes) + 1, unsure)
        return np.where(sizes >= self._k, units[:-1], sizes)

    def _take(self, axis: int, level: int) -> None:
        found = self._outcome(axis, level)
        assert found is not None  # it was weighed
        quasi, codes = self._rows.quasi_identifiers[axis], self._codes[axis]
        gain = quasi.could_be[self._node[axis]][codes] - quasi.could_be[level][codes]
        self._lost = self._lost - self._costs[axis] * gain
        self._node[axis], self._path = level, (*self._path, (axis, level))
        counts = np.bincount(found.classes, self._counts, found.number)
        sizes = self._sizes(found.classes, counts)
        kept = (sizes >= self._k)[found.classes]
        self._loss, self._entropy = found.loss, found.entropy
        self._gone += int(self._counts[~kept].sum())
        # Rows that are suppressed once are suppressed at every finer level.
        if not kept.all():
            self._live, self._counts, self._lost = (
                self._live[kept],
                self._counts[kept],
                self._lost[kept],
            )
            self._codes = [each[kept] for each in self._codes]
        self._classes, present = pd.factorize(found.classes[kept])
        self._number = max(len(present), 1)
        if not self._gone or self._gone >= self._least:
            self._enough = self._copied()
