"""The lattice of full-domain generalizations: one node for each choice of levels.

A node is a vector of levels, one for each quasi-identifier, 0 being the values as they are
(LeFevre, DeWitt and Ramakrishnan, SIGMOD 2005). A set of nodes is a boolean array with one axis
for each quasi-identifier, so that "everything more general than this node" is a slice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Integers

Node = tuple[int, ...]
"""The level of each quasi-identifier."""

NodeSet = Flags
"""Which nodes belong to a set, one axis for each quasi-identifier."""

_LOOKED_AT: Final = 8
"""So many times as many nodes are looked at as are asked for, to find some that are unrelated."""


@dataclass(frozen=True)
class Lattice:
    """All nodes from the table as it is to the most general one.

    Parameters
    ----------
    top
        The highest level of each quasi-identifier.
    """

    top: Node

    @property
    def bottom(self) -> Node:
        """The node that generalizes nothing."""
        return (0,) * len(self.top)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of each quasi-identifier."""
        return tuple(level + 1 for level in self.top)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return math.prod(self.shape)

    @cached_property
    def heights(self) -> Integers:
        """The sum of the levels of every node, shape `shape`."""
        total = np.zeros(self.shape, dtype=np.int64)
        for axis, levels in enumerate(self.shape):
            total += np.arange(levels).reshape([-1 if a == axis else 1 for a in range(total.ndim)])
        return total

    def average_level(self, node: Node) -> float:
        """Return the average generalization level of a node (Cheong et al. 2012, section 6.2)."""
        return sum(node) / len(node)

    def parents(self, node: Node) -> tuple[Node, ...]:
        """Return the nodes that are one level more general in one quasi-identifier."""
        return tuple(
            (*node[:axis], level + 1, *node[axis + 1 :])
            for axis, level in enumerate(node)
            if level < self.top[axis]
        )

    def children(self, node: Node) -> tuple[Node, ...]:
        """Return the nodes that are one level more specific in one quasi-identifier."""
        return tuple(
            (*node[:axis], level - 1, *node[axis + 1 :])
            for axis, level in enumerate(node)
            if level > 0
        )

    def nodes(self) -> Iterator[Node]:
        """Return every node, the last quasi-identifier changing fastest."""
        return iter(np.ndindex(*self.shape))

    def __contains__(self, node: object) -> bool:
        return (
            isinstance(node, tuple)
            and len(node) == len(self.top)
            and all(0 <= level <= top for level, top in zip(node, self.top, strict=True))
        )


def at_least(node: Node) -> tuple[slice, ...]:
    """Return the index of a node and all its generalizations."""
    return tuple(slice(level, None) for level in node)


def at_most(node: Node) -> tuple[slice, ...]:
    """Return the index of a node and all its specializations."""
    return tuple(slice(None, level + 1) for level in node)


def below_any(nodes: NodeSet) -> NodeSet:
    """Return the nodes of a set with all their specializations."""
    closed = nodes
    for axis in range(nodes.ndim):
        flipped = np.flip(closed, axis)
        closed = np.flip(np.logical_or.accumulate(flipped, axis=axis), axis)
    return closed


def minimal(nodes: NodeSet) -> NodeSet:
    """Return the nodes of a set that have no other node of it among their specializations."""
    reached = nodes
    for axis in range(nodes.ndim):
        reached = np.logical_or.accumulate(reached, axis=axis)
    has_smaller = np.zeros_like(nodes)
    for axis in range(nodes.ndim):
        general = tuple(slice(1, None) if a == axis else slice(None) for a in range(nodes.ndim))
        special = tuple(slice(None, -1) if a == axis else slice(None) for a in range(nodes.ndim))
        has_smaller[general] |= reached[special]
    return nodes & ~has_smaller


def numbers_above(nodes: NodeSet) -> Integers:
    """Return how many nodes of a set generalize each node of the lattice, itself among them."""
    return np.flip(numbers_below(np.flip(nodes)))


def numbers_below(nodes: NodeSet) -> Integers:
    """Return how many nodes of a set each node of the lattice generalizes, itself among them."""
    found = nodes.astype(np.int64)
    for axis in range(nodes.ndim):
        np.cumsum(found, axis=axis, out=found)
    return found


def unrelated(worth: Integers, most: int) -> list[Node]:
    """Return nodes of which none generalizes another, those with the largest worth first.

    Parameters
    ----------
    worth
        Of each node of a lattice; nodes worth half of the largest or less are not returned.
    most
        How many at most.
    """
    flat = worth.ravel()
    looked_at = min(_LOOKED_AT * most, flat.size)
    best = np.argpartition(flat, flat.size - looked_at)[flat.size - looked_at :]
    best = best[np.lexsort((best, -flat[best]))]
    best = best[flat[best] * 2 > flat[best[0]]]
    related = np.zeros(worth.shape, dtype=np.bool_)
    found: list[Node] = []
    for place in np.transpose(np.unravel_index(best, worth.shape)).tolist():
        node = tuple(place)
        if related[node]:
            continue
        found.append(node)
        if len(found) == most:
            break
        related[at_least(node)] = related[at_most(node)] = True
    return found


def listed(nodes: NodeSet) -> list[Node]:
    """Return the nodes of a set as level vectors, the last quasi-identifier changing fastest."""
    return [tuple(int(level) for level in row) for row in np.argwhere(nodes)]


def meet(nodes: Sequence[Node]) -> Node:
    """Return the most general node that all of `nodes` generalize."""
    return tuple(map(min, zip(*nodes, strict=True)))
