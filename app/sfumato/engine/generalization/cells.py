"""Suppress single cells, so that every class has k records: which cells, and as few as possible.

A class is the records that show the same, "*" being a value of its own. Records that are alike are
treated alike, so classes are joined and never split, and what is hidden of a record follows from
what it shows alone. That makes it a problem of joining: every class that is too small is given a
*pattern* (what it still shows), and a pattern stands where the classes that chose it have k records
together. The fewest cells are NP-hard to find. Here classes choose patterns greedily, cheapest
first, and then change places as long as that saves anything.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from sfumato.engine.core.values import Flags, Floats, Integers
from sfumato.engine.generalization.coded import IntArray
from sfumato.engine.table.combinations import marks_of_numbers

CellMasks = npt.NDArray[np.uint64]
"""Which cells of rows are hidden, shape (T,): bit j is set where column j shows "*"."""
CellCosts = Sequence[float] | None
"""What hiding a cell of each column costs, above 0; None where only whole rows are hidden."""

WHOLE: Final = np.uint64((1 << 64) - 1)
"""Where all cells are hidden, however many there are."""

MOST_COLUMNS: Final = 62
"""So many columns have a bit each; one more is kept for whole rows."""

_WORK: Final = 1 << 23
"""Classes times patterns that are weighed."""
_EXACT: Final = 1_000
"""Classes times patterns that are solved at a time, as an integer program."""
_TURNS: Final = 6
"""So often at most, and only where this is enough for all classes once."""
_FEWEST: Final = 8
"""Fewer classes at a time save too little."""
_NODES: Final = 200
"""No more branches of such a program are looked at."""
_EXCHANGES: Final = 1_200
"""Classes that change places are looked at so often at most, so that large tables end in time."""
_KEPT: Final = 64
"""So many answers are kept: a search for levels comes back to the same classes again and again."""
_MOST_KEPT: Final = 1 << 13
"""Answers for more classes are not, for the room that they take."""


def hides(hidden: CellMasks, axis: int) -> Flags:
    """Return where a column's cell is hidden, shape (T,)."""
    if axis >= MOST_COLUMNS:
        return hidden == WHOLE
    found: Flags = (hidden >> np.uint64(axis)) & np.uint64(1) == 1
    return found


def as_whole(hidden: CellMasks, columns: int) -> CellMasks:
    """Return the same cells, rows of which all are hidden as such."""
    if columns > MOST_COLUMNS:
        return hidden
    full = np.uint64((1 << columns) - 1)
    return np.where(hidden & full == full, WHOLE, hidden)


def of_columns(hidden: CellMasks, chosen: Sequence[int]) -> CellMasks:
    """Return which cells are hidden of some columns, in their order."""
    if not hidden.any():
        return hidden
    found = np.zeros(len(hidden), dtype=np.uint64)
    for place, axis in enumerate(chosen[:MOST_COLUMNS]):
        found |= hides(hidden, axis).astype(np.uint64) << np.uint64(place)
    return np.where(hidden == WHOLE, WHOLE, as_whole(found, len(chosen)))


def cells_hidden(hidden: CellMasks, columns: int) -> Integers:
    """Return how many cells of each row are hidden, shape (T,)."""
    found = np.bitwise_count(hidden).astype(np.int64)
    return np.where(hidden == WHOLE, columns, found)


def hide_cells(
    codes: Sequence[IntArray],
    hidden: CellMasks,
    counts: Integers,
    k: int,
    costs: Floats,
    roughly: bool = False,
) -> CellMasks:
    """Return which cells of classes to hide, so that every class has k records.

    Parameters
    ----------
    codes
        What each class shows, one column for each quasi-identifier, each of shape (T,); no two
        classes show the same.
    hidden
        The cells that are hidden already and stay so.
    counts
        How many records, or units, each class has, shape (T,).
    k
        The least that a class may have.
    costs
        What hiding a cell of each column costs, shape (Q,), above 0.
    roughly
        Whether a quick answer is enough, which loses no less than another one.

    Returns
    -------
    numpy.ndarray
        The hidden cells, those of before among them, shape (T,). Where there are fewer than k
        records in all, nothing helps, and all cells of all classes are hidden.
    """
    if not (counts < k).any():
        return hidden
    if int(counts.sum()) < k:
        return np.full(len(counts), WHOLE)
    asked = _Asked(codes, hidden, counts, k, costs, roughly)
    return _kept(asked) if len(counts) <= _MOST_KEPT else _joined(asked)


class _Asked:
    """What `hide_cells` is asked, alike where it is asked the same; parameters as it has them."""

    def __init__(
        self,
        codes: Sequence[IntArray],
        hidden: CellMasks,
        counts: Integers,
        k: int,
        costs: Floats,
        roughly: bool,
    ) -> None:
        self.codes, self.hidden, self.counts = codes, hidden, counts
        self.k, self.costs, self.roughly = k, costs, roughly
        parts = [np.ascontiguousarray(part, dtype=np.int64) for part in (*codes, counts)]
        seen = hashlib.blake2b(hidden.tobytes() + costs.tobytes(), digest_size=16)
        for part in parts:
            seen.update(part.tobytes())
        self._key = (seen.digest(), len(counts), len(codes), k, roughly)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@functools.lru_cache(maxsize=_KEPT)
def _kept(asked: _Asked) -> CellMasks:
    found = _joined(asked)
    found.flags.writeable = False
    return found


def _joined(asked: _Asked) -> CellMasks:
    """Return which cells to hide of classes some of which are too small, and not all together."""
    codes, hidden, counts, k, costs = (
        asked.codes,
        asked.hidden,
        asked.counts,
        asked.k,
        asked.costs,
    )
    full = np.uint64((1 << len(codes)) - 1)
    found, small = hidden & full, counts < k
    # In an order of their own, so that nothing depends on the order of the table's rows. Classes
    # that are large enough may have to join others, the small ones first.
    order = np.lexsort((*codes[::-1], found, np.where(small, 0, counts)))
    room = max(_WORK >> len(codes), 2 * int(small.sum()), k)
    chosen = order[:room]
    parts = [
        marks_of_numbers(axis, int(column.max(initial=0)) + 1)[column[chosen]]
        for axis, column in enumerate(codes)
    ]
    masks = _masks(parts, found[chosen], costs)
    search = _PatternSearch(parts, found[chosen], counts[chosen], k, costs, masks)
    search.choose()
    if not asked.roughly:
        search.exchange()
        search.polish()
    found[chosen] |= search.masks[search.choice]
    return as_whole(found, len(codes))


def _masks(parts: Sequence[npt.NDArray[np.uint64]], hidden: CellMasks, costs: Floats) -> CellMasks:
    """Return the sets of columns that may be hidden together, the cheapest first, all at the end.

    All sets where these are few enough; else the small ones, those that begin with the columns
    that tell most apart, and those that are hidden already.
    """
    columns = len(parts)
    most = max(_WORK // max(len(hidden), 1), 2 * columns)
    found = {(1 << columns) - 1, *np.unique(hidden).tolist()}
    if 1 << columns <= most:
        found |= set(range(1 << columns))
    else:
        telling = [len(np.unique(part)) / cost for part, cost in zip(parts, costs, strict=True)]
        chain = 0
        for axis in np.argsort(telling, kind="stable")[::-1].tolist():
            found |= {1 << axis, chain | 1 << axis}
            chain |= 1 << axis
        for size in range(2, columns):
            sets = list(itertools.combinations(range(columns), size))
            if len(found) + len(sets) > most:
                break
            found |= {sum(1 << axis for axis in chosen) for chosen in sets}
        found |= {0}
    cost = {mask: _cost(mask, costs) for mask in found}
    return np.array(sorted(found, key=lambda mask: (cost[mask], mask)), dtype=np.uint64)


def _cost(mask: int, costs: Floats) -> float:
    return float(sum(cost for axis, cost in enumerate(costs) if mask >> axis & 1))


class _PatternSearch:
    """Which pattern each of some classes shows.

    Parameters
    ----------
    parts
        A mark of what each class shows in each column, each of shape (F,).
    hidden, counts, k, costs
        As `hide_cells` has them, of these classes.
    masks
        The sets of columns that may be hidden, by what they cost, all of them last.
    """

    def __init__(
        self,
        parts: Sequence[npt.NDArray[np.uint64]],
        hidden: CellMasks,
        counts: Integers,
        k: int,
        costs: Floats,
        masks: CellMasks,
    ) -> None:
        self.masks = masks
        self._counts, self._k = counts.astype(np.int64), k
        self._cost = np.array([_cost(int(mask), costs) for mask in masks])
        self._patterns = np.full((len(counts), len(masks)), -1, dtype=np.int32)
        number = 0
        for at, mask in enumerate(masks.tolist()):
            key = np.zeros(len(counts), dtype=np.uint64)
            for axis, part in enumerate(parts):
                if not mask >> axis & 1:
                    key += part
            fits = (hidden & ~np.uint64(mask)) == 0
            own = pd.factorize(key)[0]
            together = np.bincount(own, weights=np.where(fits, self._counts, 0))
            stands = together >= k
            names = np.where(stands, number + np.cumsum(stands) - 1, -1)
            self._patterns[:, at] = np.where(fits, names[own], -1)
            number += int(stands.sum())
        self._sizes = np.zeros(number, dtype=np.int64)
        self.choice = np.full(len(counts), len(masks) - 1, dtype=np.intp)

    def choose(self) -> None:
        """Choose the cheapest patterns, and of these the ones in which most can stand together."""
        left = np.arange(len(self._counts))
        _, starts = np.unique(self._cost, return_index=True)
        for first, last in zip(starts, [*starts[1:], len(self._cost)], strict=True):
            left = self._choose_among(left, slice(int(first), int(last)))
            if not len(left):
                break
        else:
            self._hide_all_of(left)

    def _choose_among(self, left: IntArray, among: slice) -> IntArray:
        """Let classes choose patterns that cost the same; return those for whom none stands."""
        while len(left):
            patterns = self._patterns[left, among]
            able = patterns >= 0
            if not able.any():
                break
            flat = np.where(able, patterns, 0)
            counts = self._counts[left]
            possible = np.bincount(
                flat[able], np.broadcast_to(counts[:, None], flat.shape)[able], len(self._sizes)
            )
            # Whoever has joined already is there, too.
            possible += self._sizes
            sizes = np.where(able, possible[flat], 0)
            best = sizes.argmax(axis=1)
            rows = np.arange(len(left))
            wanted = flat[rows, best]
            stands = sizes[rows, best] >= self._k
            if not stands.any():
                break
            chosen = np.bincount(wanted[stands], counts[stands], len(self._sizes)) + self._sizes
            joins = stands & (chosen[wanted] >= self._k)
            if not joins.any():
                # They are torn between patterns: the one that most want is given to all it can.
                target = int(wanted[stands][chosen[wanted[stands]].argmax()])
                where = flat == target
                joins = (where & able).any(axis=1)
                best = (where & able).argmax(axis=1)
                wanted = np.full(len(left), target)
            np.add.at(self._sizes, wanted[joins], counts[joins])
            self.choice[left[joins]] = best[joins] + among.start
            left = left[~joins]
        return left

    def _hide_all_of(self, left: IntArray) -> None:
        """Hide all cells of the classes that are left, and of others where these are too few."""
        last = len(self.masks) - 1
        self.choice[left] = last
        pattern = int(self._patterns[0, last])
        self._sizes[pattern] += int(self._counts[left].sum())
        while self._sizes[pattern] < self._k:
            own = self._own(np.arange(len(self._counts)))
            added = (self._cost[last] - self._cost[self.choice]) * self._counts
            price = np.bincount(own, added, len(self._sizes))
            price[(self._sizes == 0) | (np.arange(len(price)) == pattern)] = np.inf
            self._move(np.flatnonzero(own == int(price.argmin())), last)

    def _own(self, rows: IntArray) -> IntArray:
        found: IntArray = self._patterns[rows, self.choice[rows]].astype(np.intp)
        return found

    def _move(self, rows: IntArray, to: IntArray | int) -> None:
        """Give classes other patterns, of one set of columns."""
        counts = self._counts[rows]
        np.subtract.at(self._sizes, self._own(rows), counts)
        self.choice[rows] = to
        np.add.at(self._sizes, self._own(rows), counts)

    def exchange(self) -> None:
        """Let classes change places as long as that saves anything."""
        self._own_pattern = self._own(np.arange(len(self._counts)))
        self._left = _EXCHANGES
        while (self._take_open() | self._open_others()) and self._left > 0:
            pass

    def _take_open(self) -> bool:
        """Let classes take cheaper patterns that stand already; return whether any did."""
        best = self._cheapest_open(np.arange(len(self._counts)), ())
        gain = (self._cost[self.choice] - self._cost[best]) * self._counts
        changed = False
        for row in np.argsort(-gain, kind="stable")[: int((gain > 0).sum())].tolist():
            self._left -= 1
            target = int(self._patterns[row, best[row]])
            if self._sizes[target] + self._counts[row] < self._k:
                continue
            changed |= self._try(np.array([row]), int(best[row]))
        return changed

    def _open_others(self) -> bool:
        """Let patterns stand that nobody shows, where that saves anything; return whether any."""
        changed = False
        for at in range(len(self.masks)):
            rows = np.flatnonzero(self._patterns[:, at] >= 0)
            patterns, places = np.unique(self._patterns[rows, at], return_inverse=True)
            gain = self._cost[self.choice[rows]] - self._cost[at]
            saved = np.bincount(places, np.maximum(gain, 0) * self._counts[rows], len(patterns))
            order = np.argsort(places, kind="stable")
            ends = np.cumsum(np.bincount(places, minlength=len(patterns)))
            for which in np.argsort(-saved, kind="stable").tolist():
                if saved[which] <= 0 or self._left <= 0:
                    break
                self._left -= 1
                members = rows[order[ends[which - 1] if which else 0 : ends[which]]]
                changed |= self._try(self._joining(members, at), at)
        return changed

    def _joining(self, rows: IntArray, to: int) -> IntArray:
        """Return the classes that save by a pattern, and as many others as it needs to stand."""
        gain = self._cost[self.choice[rows]] - self._cost[to]
        joins = gain > 0
        missing = self._k - int(self._counts[rows[joins]].sum())
        missing -= int(self._sizes[self._patterns[rows[0], to]])
        if missing > 0:
            others = np.flatnonzero(~joins & (self._own_pattern[rows] != self._patterns[rows, to]))
            loss = -gain[others] * self._counts[rows[others]]
            for place in others[np.argsort(loss, kind="stable")].tolist():
                joins[place] = True
                missing -= int(self._counts[rows[place]])
                if missing <= 0:
                    break
        return rows[joins]

    def _try(self, rows: IntArray, to: int) -> bool:
        """Give classes one cheaper pattern, and those that they leave behind others, if it saves.

        Where it costs more to find places for those who are left behind than is saved, whoever
        would leave them stays with them.
        """
        if not len(rows):
            return False
        sources = self._own_pattern[rows]
        target = int(self._patterns[rows[0], to])
        moves: list[tuple[IntArray, IntArray | int]] = []
        saved, joining = 0.0, int(self._sizes[target])
        left = np.unique(sources).tolist()
        for source in left:
            going = rows[sources == source]
            gain = self._gain(going, to)
            remaining = int(self._sizes[source] - self._counts[going].sum())
            if remaining:
                stays = self._own_pattern == source
                stays[going] = False
                rest = np.flatnonzero(stays)
                instead = self._cheapest_open(rest, left)
                comes = (self._patterns[rest, to] == target) & ((instead < 0) | (to < instead))
                instead[comes] = to
                more = self._gain(rest, instead) if (instead >= 0).all() else -np.inf
                if remaining >= self._k:
                    goes = more > 0
                else:
                    some = self._spared(going, source)
                    own_gain = self._gain(some, to)
                    goes = gain + more > own_gain
                    if not goes:
                        going, gain = some, own_gain
                if goes:
                    moves.append((rest, instead))
                    gain += more
                    joining += int(
                        self._counts[rest[self._patterns[rest, instead] == target]].sum()
                    )
            moves.append((going, to))
            saved, joining = saved + gain, joining + int(self._counts[going].sum())
        if saved <= 1e-9 or joining < self._k:
            return False
        for group, place in moves:
            np.subtract.at(self._sizes, self._own_pattern[group], self._counts[group])
            self.choice[group] = place
            self._own_pattern[group] = self._own(group)
            np.add.at(self._sizes, self._own_pattern[group], self._counts[group])
        return True

    def _gain(self, rows: IntArray, to: IntArray | int) -> float:
        """Return what classes save that take other patterns."""
        return float((self._cost[self.choice[rows]] - self._cost[to]) @ self._counts[rows])

    def _spared(self, rows: IntArray, source: int) -> IntArray:
        """Return some of the classes of a pattern that it can spare."""
        spare, found = int(self._sizes[source]) - self._k, []
        for row in rows[np.argsort(-self._counts[rows], kind="stable")].tolist():
            if self._counts[row] <= spare:
                spare -= int(self._counts[row])
                found.append(row)
        return np.array(found, dtype=np.intp)

    def _cheapest_open(self, rows: IntArray, closed: Sequence[int]) -> IntArray:
        """Return the cheapest pattern of each class that stands with it; -1 where none does."""
        room = np.empty(len(self._sizes) + 1, dtype=np.int64)
        room[:-1] = self._sizes
        # What stands with nobody: what is closed, and -1, which finds the last.
        room[[*closed, -1]] = -self._k - self._counts[rows].max(initial=0)
        found = room[self._patterns[rows]] >= (self._k - self._counts[rows])[:, None]
        best = found.argmax(axis=1)
        return np.where(found[np.arange(len(rows)), best], best, -1)

    def polish(self) -> None:
        """Choose anew, as well as can be, for some classes at a time that are much alike."""
        classes = len(self._counts)
        width = _EXACT // len(self.masks)
        if classes <= width:
            self._solve(np.arange(classes))
        if classes <= width or width < _FEWEST or classes > _TURNS * width:
            return
        for turn in range(min(_TURNS, 2 * classes // width + 1)):
            dear = (self._cost[self.choice] * self._counts).argsort(kind="stable")[::-1]
            seed = int(dear[(turn * width // 2) % classes])
            alike = ((self._patterns == self._patterns[seed]) & (self._patterns[seed] >= 0)).sum(
                axis=1
            )
            self._solve(np.argsort(-alike, kind="stable")[:width])

    def _solve(self, rows: IntArray) -> None:
        """Choose the patterns of some classes by an integer program, those of others being kept."""
        counts, patterns = self._counts[rows], self._patterns[rows]
        others = self._sizes.copy()
        np.subtract.at(others, self._own_pattern[rows], counts)
        own, masks = np.nonzero(patterns >= 0)
        names, places = np.unique(patterns[own, masks], return_inverse=True)
        cost, taken = _cheapest(
            counts.tobytes(),
            own.astype(np.int64).tobytes(),
            places.astype(np.int64).tobytes(),
            (self._cost[masks] * counts[own]).tobytes(),
            others[names].tobytes(),
            self._k,
        )
        if cost > self._cost[self.choice[rows]] @ counts - 1e-6:
            return
        chosen = np.frombuffer(taken, dtype=np.int64)
        self._move(rows[own[chosen]], masks[chosen])
        self._own_pattern[rows] = self._own(rows)


@functools.lru_cache(maxsize=256)
def _cheapest(
    counted: bytes, owners: bytes, patterns: bytes, losses: bytes, standing: bytes, k: int
) -> tuple[float, bytes]:
    """Give every class one of the patterns that it may choose, as cheaply as possible.

    Planning asks for the same rows again after each edit it tries, and an answer takes up to
    seconds, so the latest are kept: hence bytes, of int64 for F classes and what these may choose:
    whose each choice is, which pattern, what it costs (float64), and how many records of other
    classes stand in each pattern.

    Returns
    -------
    tuple of float and bytes
        What the choices cost that are made, and which these are; infinity where none was found.
    """
    counts, own = np.frombuffer(counted, dtype=np.int64), np.frombuffer(owners, dtype=np.int64)
    places, stands = np.frombuffer(patterns, dtype=np.int64), np.frombuffer(standing, np.int64)
    choices, known = len(own), len(stands)
    costs = np.append(np.frombuffer(losses), np.zeros(known))
    one = scipy.sparse.csr_array(
        (np.ones(choices), (own, np.arange(choices))), shape=(len(counts), choices + known)
    )
    # A pattern that stands has k records; whoever shows one that does not stand makes it.
    enough = scipy.sparse.csr_array(
        (
            np.append(counts[own].astype(float), np.minimum(stands - k, 0).astype(float)),
            (np.append(places, np.arange(known)), np.arange(choices + known)),
        ),
        shape=(known, choices + known),
    )
    wants = np.flatnonzero(stands[places] < k)
    made = scipy.sparse.csr_array(
        (
            np.append(np.ones(len(wants)), -np.ones(len(wants))),
            (np.tile(np.arange(len(wants)), 2), np.append(wants, choices + places[wants])),
        ),
        shape=(len(wants), choices + known),
    )
    found = scipy.optimize.milp(
        costs,
        integrality=np.ones(choices + known, dtype=np.int64),
        bounds=scipy.optimize.Bounds(np.append(np.zeros(choices), (stands > 0) & (stands < k)), 1),
        constraints=[
            scipy.optimize.LinearConstraint(one, 1, 1),
            scipy.optimize.LinearConstraint(enough, 0, np.inf),
            scipy.optimize.LinearConstraint(made, -np.inf, 0),
        ],
        options={"node_limit": _NODES},
    )
    if found.x is None:
        return np.inf, b""
    return float(found.fun), np.flatnonzero(found.x[:choices] > 0.5).tobytes()
