"""Incognito as one writes it down first: each node of each subset's lattice by a pandas groupby."""

from __future__ import annotations

import itertools

import pandas as pd

from sfumato.engine.generalization.coded import CodedTable
from sfumato.engine.generalization.lattice import Node


def incognito(table: CodedTable, least: int) -> set[Node]:
    """Return the safe nodes for distinct l-diversity, by the generalization and subset property."""
    columns = {
        (axis, level): codes[quasi.codes]
        for axis, quasi in enumerate(table.quasi_identifiers)
        for level, codes in enumerate(quasi.levels)
    }
    sensitive = table.sensitive
    safe: dict[tuple[int, ...], set[Node]] = {}
    for number in range(1, len(table.quasi_identifiers) + 1):
        for axes in itertools.combinations(range(len(table.quasi_identifiers)), number):
            safe[axes] = _safe_nodes(table, axes, columns, sensitive, least, safe)
    return safe[tuple(range(len(table.quasi_identifiers)))]


def _safe_nodes(table, axes, columns, sensitive, least, safe) -> set[Node]:
    found: set[Node] = set()
    tops = [table.quasi_identifiers[axis].height for axis in axes]
    nodes = itertools.product(*(range(top + 1) for top in tops))
    for node in sorted(nodes, key=sum):
        below = [
            (*node[:i], level - 1, *node[i + 1 :]) for i, level in enumerate(node) if level > 0
        ]
        if any(child in found for child in below):
            found.add(node)
            continue
        if len(axes) > 1 and any(
            (*node[:i], *node[i + 1 :]) not in safe[*axes[:i], *axes[i + 1 :]]
            for i in range(len(axes))
        ):
            continue
        keys = [columns[axis, level] for axis, level in zip(axes, node, strict=True)]
        if pd.Series(sensitive).groupby(keys, sort=False).nunique().min() >= least:
            found.add(node)
    return found
