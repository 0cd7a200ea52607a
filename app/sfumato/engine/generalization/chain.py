"""One table for several recipients in order of trust: a chain of views, each coarser than the last.

A *view* shows every quasi-identifier at one level of its hierarchy, and "*" for all of them in the
rows that stand out. With the most trusted recipient first, levels never fall from one view to the
next, and the rows that are suppressed in one are suppressed in all that follow. So each view is a
function of the one before it: recipients who pool theirs hold the finest one, and nothing more.

The suppressed rows stay in the table, as one more class; it, too, has at least k rows. A view may
suppress single cells in place of whole rows (`sfumato.engine.generalization.cells`). Which ones
follows from what the view before shows, and those suppressed there stay so.

Where several rows belong to one person or household, a class is as large as it has different such
units: every "k" here counts units then, and a share of rows stays one of rows. Joining classes
loses no unit, so all that holds of rows holds of units.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

import numpy as np

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Floats
from sfumato.engine.core.wording import Sentence
from sfumato.engine.generalization.cells import (
    WHOLE,
    cells_hidden,
)
from sfumato.engine.generalization.coded import (
    LARGEST_LATTICE,
    IntArray,
    QuasiIdentifier,
    check_size,
)
from sfumato.engine.generalization.criteria import Need
from sfumato.engine.generalization.distinct_rows import (
    DistinctRows,
    RowSet,
    ViewedRows,
    Weights,
    sums,
)
from sfumato.engine.generalization.grouping import Grouping, Tuples, UnitCounts
from sfumato.engine.generalization.lattice import Lattice, Node, NodeSet, at_least, at_most
from sfumato.engine.generalization.many_columns import nodes_of_many
from sfumato.engine.generalization.views import Demand
from sfumato.engine.table.repeated_units import Units

Losses = Floats
"""What each node loses, one axis for each quasi-identifier."""

_OF_VIEWS: Final = "Find levels: of so many columns they are found step by step."

MOST_LOOKED_AT: Final = 100_000_000
"""More combinations, each as often as it is looked at, take longer than seconds."""

_FEWEST_LOOKS: Final = 50
"""A search that may look at all combinations less often than so is not begun."""

_REPORTED_EVERY: Final = 64
"""Nodes that are tested between two reports."""


@dataclass(frozen=True)
class FoundLevels:
    """The nodes of a chain of views, the most trusted recipient's first, and what they are of."""

    base: DistinctRows
    nodes: tuple[Node, ...]


def find_levels(
    quasi_identifiers: Sequence[QuasiIdentifier],
    demands: Sequence[Demand],
    context: Context,
    units: Units = None,
    weights: Weights = None,
    importance: Sequence[float] | None = None,
    *,
    evenly: bool = False,
) -> FoundLevels:
    """Find the levels of the views that lose least in all, the most trusted recipient's first.

    Without suppression the total loss is the least of all chains. With it, so is what the views
    would lose if each suppressed its own outlying rows only; then the nested sets are made, most
    trusted first, and where one is larger than its recipient's share, the levels of those who
    follow are searched again among the rows that are left.

    Where the levels have more than `LARGEST_LATTICE` combinations, or more than `MOST_LOOKED_AT`
    are looked at, counted as often as they are, they are found step by step (`nodes_of_many`):
    what is stated is kept, and the loss is small, but perhaps not the least.

    Rows that are alike are counted as one, so what is found depends on no order of the rows.

    Parameters
    ----------
    quasi_identifiers
        Those without one group on top are given one, so that every k up to the number of units
        can be kept.
    demands
        What each view has to keep.
    context
        Progress and cancelling.
    units, weights
        Each row's unit, shape (n,), None where rows stand alone; and how many rows of the table
        each stands for, None for one each.
    importance
        How much the loss in each column counts where levels are found step by step; None for
        alike.
    evenly
        Whether views with cells start at the top: every column keeps something before one does all.

    Raises
    ------
    DiversityError
        If a k is above the number of units or below 1, or a share is outside 0 to below 1.
    """
    quasi = tuple(each.with_one_group_on_top() for each in quasi_identifiers)
    base = DistinctRows.of(quasi, (0,) * len(quasi), units, weights)
    for demand in demands:
        check_demand(demand, base.rows if base.units is None else int(base.units.sizes.sum()))
    allowed = nested_allowances([demand.allowed(base.rows) for demand in demands])
    nodes = _nodes_found(base, demands, allowed, importance, context)
    if nodes is None:
        # Rows suppressed for one recipient are too few to hide from a later one.
        nodes = _nodes_found(base, demands, [0] * len(demands), importance, context)
    assert nodes is not None  # the most general node has one class of all rows
    if any(demand.costs is not None for demand in demands):
        nodes = _finer_with_cells(base, demands, nodes, Part(context, 0.5, 1.0), evenly=evenly)
    context.report(1.0, "The levels are found")
    return FoundLevels(base, tuple(nodes))


def _nodes_found(
    base: DistinctRows,
    demands: Sequence[Demand],
    allowed: Sequence[int],
    importance: Sequence[float] | None,
    context: Context,
) -> list[Node] | None:
    """Return the nodes of a chain, searched in all combinations or found step by step."""
    top = tuple(each.height for each in base.quasi_identifiers)
    size = Lattice(top).size
    if size <= LARGEST_LATTICE and size * len(demands) * _FEWEST_LOOKS <= MOST_LOOKED_AT:
        with suppress(_SearchTakesLongError):
            return _nested_nodes(base, demands, allowed, context)
    costs = [1.0] * len(top) if importance is None else importance
    return nodes_of_many(base, demands, allowed, costs, Part(context, 0.0, 0.5))


def _finer_with_cells(
    base: DistinctRows,
    demands: Sequence[Demand],
    nodes: Sequence[Node],
    context: Context,
    *,
    evenly: bool,
) -> list[Node]:
    """Return finer nodes where single cells are suppressed, as long as less is lost in all.

    One column after the other is shown a level more finely, first the one that loses most, until
    none can be: the cells that have to be suppressed then are too many, or lose more. A level that
    did not help is not tried again, since all others only become finer.

    What is suppressed for one recipient stays so for all who follow. Where that leaves one of these
    too little room at any level, those before suppress nothing.
    """
    top = tuple(each.height for each in base.quasi_identifiers)
    if evenly:
        nodes = [at if one.costs is None else top for one, at in zip(demands, nodes, strict=True)]
    room = _nested_room(demands, base.rows, len(top))
    for _ in demands:
        found, failed = _with_room(base, demands, nodes, room, context)
        if failed is None:
            return found
        room = [0 if place < failed else own for place, own in enumerate(room)]
    return [top] * len(demands)  # one class of all rows, of which nothing is suppressed


def _nested_room(demands: Sequence[Demand], rows: int, columns: int) -> list[int]:
    """Return how many cells each view may suppress, or rows where these are, later ones heeded."""
    found: list[int] = []
    cells = rows * columns
    for demand in reversed(demands):
        if demand.costs is None:
            found.append(min(demand.allowed(rows), cells // columns))
        else:
            cells = min(cells, demand.allowed_cells(rows, columns))
            found.append(cells)
    return found[::-1]


def _with_room(
    base: DistinctRows,
    demands: Sequence[Demand],
    nodes: Sequence[Node],
    room: Sequence[int],
    context: Context,
) -> tuple[list[Node], int | None]:
    """Return nodes whose views suppress no more than they may, and the first place of none."""
    found, rows, floor = list[Node](), base, base.node
    for place, (demand, start) in enumerate(zip(demands, nodes, strict=True)):
        node = tuple(max(own, low) for own, low in zip(start, floor, strict=True))
        if demand.costs is not None:
            part = Part(context, place / len(demands), (place + 1) / len(demands))
            node = _descended(rows, demand, room[place], node, floor, part)
        kept = _kept_above(rows, demand, room[place], node)
        if kept is None:
            return found, place
        rows = kept
        found.append(rows.node)
        floor = rows.node
    return found, None


def _kept_above(
    rows: DistinctRows, demand: Demand, allowed: int, node: Node
) -> DistinctRows | None:
    """Return rows as the view shows them that is not above its share, at a node or above it.

    While levels are looked for, cells are suppressed roughly; the view itself may need others.
    None where even the most general view suppresses too much.
    """
    top = tuple(each.height for each in rows.quasi_identifiers)
    while True:
        own = rows.joined(node)
        shown = own.shown(node, demand.k, demand.costs)
        if _suppressed(own, demand, shown) <= allowed:
            return replace(own, hidden=shown.hidden)
        if node == top:
            return None
        losses = own.losses(node, shown)
        axis = min((a for a in range(len(node)) if node[a] < top[a]), key=losses.__getitem__)
        node = (*node[:axis], node[axis] + 1, *node[axis + 1 :])


def _suppressed(rows: DistinctRows, demand: Demand, shown: ViewedRows) -> int:
    """Return how many cells a view suppresses, or rows where these are."""
    if demand.costs is None:
        return int(rows.counts[shown.suppressed].sum())
    return int(rows.counts @ cells_hidden(shown.hidden, len(rows.node)))


def _descended(
    rows: DistinctRows, demand: Demand, allowed: int, node: Node, floor: Node, context: Context
) -> Node:
    """Return a node at or below one, down to a floor, at which a view with cells loses less."""
    costs = np.array(demand.costs)

    def tried(at: Node) -> tuple[float, list[float]]:
        own = rows.joined(at)
        shown = own.shown(at, demand.k, demand.costs, roughly=True)
        losses = own.losses(at, shown)
        hidden = _suppressed(own, demand, shown)
        return (math.inf if hidden > allowed else float(costs @ losses)), losses

    least, losses = tried(node)
    top = tuple(each.height for each in rows.quasi_identifiers)
    while math.isinf(least) and node != top:
        # What others' views suppress already can leave too little room at the levels found.
        axis = min((a for a in range(len(node)) if node[a] < top[a]), key=losses.__getitem__)
        node = (*node[:axis], node[axis] + 1, *node[axis + 1 :])
        least, losses = tried(node)
    closed: set[int] = set()
    for step in itertools.count():
        open_ = [a for a in range(len(node)) if node[a] > floor[a] and a not in closed]
        if not open_:
            return node
        context.report(1 - 1 / (step + 1), "Showing single columns more finely")
        axis = max(open_, key=lambda a: (costs[a] * losses[a], -a))
        finer = (*node[:axis], node[axis] - 1, *node[axis + 1 :])
        loss, lost = tried(finer)
        if loss < least:
            node, least, losses = finer, loss, lost
        else:
            closed.add(axis)
    return node


def nodes_keeping(
    quasi_identifiers: Sequence[QuasiIdentifier],
    demand: Demand,
    context: Context,
    weights: Weights = None,
    most: int = LARGEST_LATTICE,
) -> NodeSet:
    """Return which nodes keep what is asked of a view by itself, counted in rows.

    Where a node does, all more general ones do. No more than `most` nodes are searched.

    Raises
    ------
    DiversityError
        As `find_levels`.
    """
    lattice = Lattice(tuple(each.height for each in quasi_identifiers))
    check_size(lattice, _OF_VIEWS, most)
    base = DistinctRows.of(quasi_identifiers, lattice.bottom, None, weights)
    check_demand(demand, base.rows)
    return _ChainSearch(
        base, base.hidden == WHOLE, [demand], [demand.allowed(base.rows)], None, context
    ).keeping()


def nested_allowances(allowed: Sequence[int]) -> list[int]:
    """Return how many rows each view may suppress, given that all later ones suppress them too."""
    found: list[int] = []
    for own in reversed(allowed):
        found.append(min(own, found[-1]) if found else own)
    return found[::-1]


def _nested_nodes(
    base: DistinctRows,
    demands: Sequence[Demand],
    allowed: Sequence[int],
    context: Context,
) -> list[Node] | None:
    """Return the nodes of a chain whose suppressed rows are nested and few enough, or None."""
    hidden, examples, rows = base.hidden == WHOLE, base.examples, base
    nodes: list[Node] = []
    search = _ChainSearch(base, hidden, demands, allowed, None, context)
    begun = (0, hidden)
    found = search.least()
    while found is not None:
        place, node = len(nodes), found[0]
        tried = rows.joined(node)
        after = tried.shown(node, demands[place].k).suppressed
        if int(tried.counts[after].sum()) <= allowed[place]:
            nodes.append(node)
            rows = replace(tried, hidden=np.where(after, WHOLE, np.uint64(0)))
            hidden = after[rows.place[examples]]
            found = found[1:]
            if not found:
                return nodes
            continue
        if begun[0] == place and begun[1] is hidden:
            search.refuse(node)
        else:
            left = demands[place:], allowed[place:]
            search = _ChainSearch(base, hidden, *left, nodes[-1], context)
            begun = (place, hidden)
        found = search.least()
    return None


def check_demand(demand: Demand, units: int) -> None:
    """Refuse a k or a share that no view of so many units can keep.

    Raises
    ------
    DiversityError
        Naming it.
    """
    if not 1 <= demand.k <= units:
        raise DiversityError(
            "k is {k}, and the table has {units} {units:record|records} or units that records"
            " belong to.",
            "Choose a k from 1 to that number.",
            k=demand.k,
            units=units,
        )
    if not 0 <= demand.suppression < 1:
        raise DiversityError(
            "The share of records that may be suppressed is {share:g}.",
            "Choose a share from 0 to below 1.",
            share=demand.suppression,
        )


class _SearchTakesLongError(Exception):
    """Too many combinations of levels had to be looked at too often."""


class _ChainSearch:
    """Which chain loses least, as far as its nodes were tested.

    Every node is taken to lose what its levels lose until it is tested; what is found can only be
    more. So a chain that loses least, and whose nodes are all tested, loses least of all chains.

    Parameters
    ----------
    base, hidden
        The distinct rows, and which of them are suppressed already, shape (T,).
    demands, allowed
        For each recipient, what the view has to keep, and how many rows it may suppress.
    floor
        The node that all views are at least as general as.
    context
        Progress and cancelling.
    """

    def __init__(
        self,
        base: DistinctRows,
        hidden: RowSet,
        demands: Sequence[Demand],
        allowed: Sequence[int],
        floor: Node | None,
        context: Context,
    ) -> None:
        quasi = base.quasi_identifiers
        counts = base.counts[~hidden]
        codes = [each[~hidden].astype(np.intp, copy=False) for each in base.codes]
        # Sums of whole numbers don't depend on the order of the rows.
        self._joining = [[np.bincount(level)[level] - 1 for level in q.levels] for q in quasi]
        self._cells = [base.rows * len(quasi) * max(len(q.levels[0]) - 1, 1) for q in quasi]
        already = int(base.counts[hidden].sum())
        self._ks = [demand.k for demand in demands]
        self._allowed = [each - already for each in allowed]
        self._context = context
        self._top = tuple(each.height for each in quasi)
        self._level_loss = []
        for joining, own, cells in zip(self._joining, codes, self._cells, strict=True):
            occurring = sums(own, counts, len(joining[0]))
            self._level_loss.append(np.array([int(occurring @ each) / cells for each in joining]))
        whole = np.zeros(tuple(level + 1 for level in self._top))
        for axis, loss in enumerate(self._level_loss):
            whole += loss.reshape([-1 if a == axis else 1 for a in range(whole.ndim)])
        self._losses = [whole.copy() for _ in demands]
        if floor is not None:
            outside = np.ones(whole.shape, dtype=np.bool_)
            outside[at_least(floor)] = False
            self._losses[0][outside] = math.inf
        self._looked_at = 0
        self._tested: set[Node] = set()
        self._grouping = Grouping(quasi, np.ones(1, dtype=np.int64), Need.SIZES)
        finest = Tuples(base.node, counts, None, None, lambda axis, some: codes[axis][some])
        if floor is not None:
            finest = self._grouping.roll_up(finest, floor)
        self._joined: list[Tuples] = [finest]
        self._joined_nodes: IntArray = np.array([finest.node])
        self._joined_counts: IntArray = np.array([finest.count])
        self._units = None if base.units is None else UnitCounts(base, hidden, context)

    def least(self) -> list[Node] | None:
        """Return the chain of tested nodes that loses least; None where there is none.

        Raises
        ------
        _SearchTakesLongError
            Once more was looked at than may be.
        """
        while True:
            self._looked_at += sum(losses.size for losses in self._losses)
            if self._looked_at > MOST_LOOKED_AT:
                raise _SearchTakesLongError
            nodes = self._least_so_far()
            if nodes is None or self._tested.issuperset(nodes):
                return nodes
            for place, node in enumerate(nodes):
                self._test(node)
                if math.isinf(self._losses[place][node]):
                    self._climb(node, place)

    def keeping(self) -> NodeSet:
        """Return which nodes keep what is asked of the first recipient."""
        losses = self._losses[0]
        kept: NodeSet = np.zeros(losses.shape, dtype=np.bool_)
        heights = Lattice(self._top).heights
        while (left := np.argwhere(~kept & np.isfinite(losses))).size:
            # From the middle, either way, most is known of the others.
            order = heights[tuple(left.T)]
            node = tuple(int(at) for at in left[np.argsort(order)[len(left) // 2]])
            self._test(node)
            if np.isfinite(losses[node]):
                kept[at_least(node)] = True
        return kept

    def refuse(self, node: Node) -> None:
        """Rule out a node for the first recipient."""
        self._losses[0][node] = math.inf

    def _least_so_far(self) -> list[Node] | None:
        """Return the chain that loses least as far as is known, by dynamic programming.

        What the first i views lose at least, by the node of the last of them; the least of all
        finer nodes is passed on along one axis after the other.
        """
        best = [self._losses[0]]
        for losses in self._losses[1:]:
            best.append(losses + _least_of_finer(best[-1]))
        nodes: list[Node] = []
        within: tuple[slice, ...] = (slice(None),) * len(self._top)
        for total in reversed(best):
            part = total[within]
            node = tuple(int(at) for at in np.unravel_index(int(part.argmin()), part.shape))
            if math.isinf(total[node]):
                return None
            nodes.append(node)
            within = at_most(node)
        return nodes[::-1]

    def _climb(self, node: Node, place: int) -> None:
        """From a node that a recipient can't have, rule out more general ones that lose little."""
        path = [node]
        while path[-1] != self._top:
            last = path[-1]
            _, axis = min(
                (float(self._level_loss[axis][level + 1] - self._level_loss[axis][level]), axis)
                for axis, level in enumerate(last)
                if level < self._top[axis]
            )
            path.append((*last[:axis], last[axis] + 1, *last[axis + 1 :]))
        low, high = 0, len(path) - 1
        while high - low > 1:
            middle = (low + high) // 2
            self._test(path[middle])
            if math.isinf(self._losses[place][path[middle]]):
                low = middle
            else:
                high = middle

    def _test(self, node: Node) -> None:
        """Find what a node loses to each recipient; rule out what is finer where it is too much."""
        if node in self._tested:
            return
        self._tested.add(node)
        if len(self._tested) % _REPORTED_EVERY == 0:
            self._context.report(
                0.5, Sentence("Tested {count:,} {count:node|nodes}", count=len(self._tested))
            )
        tuples = self._tuples(node)
        most = max(self._ks)
        rows = most if self._units is None else self._units.most_rows(most)
        small = np.flatnonzero(tuples.sizes < rows)
        suppressed = tuples.sizes[small]
        sizes = suppressed
        asked = zip(self._ks, self._allowed, strict=True)
        # Rows are no fewer than units, so they often settle it.
        if self._units is not None and any(suppressed[sizes < k].sum() <= a for k, a in asked):
            sizes = self._units.of(node, tuples.records(small))
        for losses, k, allowed in zip(self._losses, self._ks, self._allowed, strict=True):
            gone = sizes < k
            hidden = int(suppressed[gone].sum())
            if hidden > allowed:
                losses[at_most(node)] = math.inf
            elif hidden:
                losses[node] += self._lost(tuples, small[gone])

    def _lost(self, tuples: Tuples, suppressed: IntArray) -> float:
        """Return what suppressing some tuples of a node loses beside what its levels lose."""
        lost, sizes = 0.0, tuples.sizes[suppressed]
        for axis, codes in enumerate(tuples.records(suppressed)):
            joining = self._joining[axis][tuples.node[axis]]
            others = max(len(joining) - 1, 1)
            lost += int((others - joining.take(codes)) @ sizes) / self._cells[axis]
        return lost

    def _tuples(self, node: Node) -> Tuples:
        """Return a node's tuples, joined from the fewest that are known of a finer one."""
        finer = np.flatnonzero((self._joined_nodes <= node).all(axis=1))
        source = self._joined[int(finer[self._joined_counts[finer].argmin()])]
        if source.node == node:
            return source
        tuples = self._grouping.roll_up(source, node)
        if tuples.count < source.count // 2:
            self._joined.append(tuples)
            self._joined_nodes = np.vstack([self._joined_nodes, node])
            self._joined_counts = np.append(self._joined_counts, tuples.count)
        return tuples


def _least_of_finer(losses: Losses) -> Losses:
    """Return the least of each node and all finer ones, passed on along one axis after another."""
    least = losses.copy()
    for axis, levels in enumerate(losses.shape):
        along = least.reshape(math.prod(losses.shape[:axis]), levels, -1)
        # Level by level: numpy's accumulate goes cell by cell.
        for level in range(1, levels):
            np.minimum(along[:, level], along[:, level - 1], out=along[:, level])
    return least
