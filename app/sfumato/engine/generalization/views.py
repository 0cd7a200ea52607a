"""What one recipient's view has to keep, and what it comes to in a table.

What views are, and how they form a chain, is told in `sfumato.engine.generalization.chain`.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Integers
from sfumato.engine.generalization.cells import (
    WHOLE,
    CellCosts,
    CellMasks,
    cells_hidden,
    hides,
)
from sfumato.engine.generalization.coded import QuasiIdentifier
from sfumato.engine.generalization.distinct_rows import DistinctRows, RowSet, ViewedRows, Weights
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.table.repeated_units import Units


@dataclass(frozen=True)
class Demand:
    """What one recipient's view has to keep.

    Parameters
    ----------
    k
        The units of the smallest class, suppressed rows included; 1 asks for nothing. A row is a
        unit of its own where nothing else is said.
    suppression
        The largest share of the rows that may be suppressed, 0 to below 1; of the cells where
        these are suppressed.
    costs
        What suppressing a cell of each quasi-identifier costs; None where rows are suppressed.
    """

    k: int
    suppression: float = 0.0
    costs: CellCosts = None

    def allowed(self, rows: int) -> int:
        """Return how many of a table's rows may be suppressed; fewer than k can't hide together."""
        # A share like 0.07 of 100 rows is meant as 7 rows, though the product is a little below.
        allowed = int(self.suppression * rows + 1e-9)
        return allowed if allowed >= self.k else 0

    def allowed_cells(self, rows: int, columns: int) -> int:
        """Return how many of the quasi-identifiers' cells may be suppressed."""
        return int(self.suppression * rows * columns + 1e-9)


Found = TypeVar("Found")


def _digest(hidden: RowSet) -> str:
    """Return what tells rows from others; empty where there are none."""
    return hashlib.sha256(np.packbits(hidden).tobytes()).hexdigest() if hidden.any() else ""


@dataclass(frozen=True)
class View:
    """What one recipient sees of the quasi-identifiers.

    Parameters
    ----------
    node
        The level of each quasi-identifier.
    k
        What was asked of it.
    hidden
        The cells of each row that show "*" since too few rows would share what it shows, shape
        (n,).
    sizes
        The units of every class, that of the suppressed rows included, shape (C,).
    unique, unique_rows
        How many units are alone in a class: the sample uniques; and how many rows they have there.
    loss
        For a cell, the share of its attribute's other values that it could also be; averaged over
        all cells. 0 where nothing is generalized, 1 where everything is "*".
    weights
        How many rows each one of `hidden` stands for, shape (n,); None for one each.
    """

    node: Node
    k: int
    hidden: CellMasks = field(repr=False)
    sizes: Integers = field(repr=False)
    unique: int
    unique_rows: int
    loss: float
    weights: Weights = field(repr=False, default=None)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.hidden) if self.weights is None else int(self.weights.sum())

    @property
    def smallest(self) -> int:
        """The units of the smallest class."""
        return int(self.sizes.min())

    @property
    def suppressed(self) -> RowSet:
        """The rows that show "*" for every quasi-identifier, shape (n,)."""
        return self.hidden == WHOLE

    @property
    def hides(self) -> bool:
        """Whether any cell is suppressed."""
        return bool(self.hidden.any())

    def hides_in(self, column: int) -> RowSet:
        """Return which rows show "*" for a quasi-identifier, by its place, shape (n,)."""
        return hides(self.hidden, column)

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """A digest of the rows that show "*" for each quasi-identifier; empty where none does."""
        return self._each(lambda column: _digest(self.hides_in(column)), "")

    @cached_property
    def starred(self) -> tuple[int, ...]:
        """How many rows show "*" for each quasi-identifier."""
        return self._each(self.starred_in, 0)

    def _each(self, find: Callable[[int], Found], none: Found) -> tuple[Found, ...]:
        """Return what is found of every quasi-identifier: once where whole rows are hidden."""
        columns = range(len(self.node))
        if not self.hides:
            return tuple(none for _ in columns)
        if self.cells_apart:
            return tuple(map(find, columns))
        return (find(0),) * len(columns)

    @property
    def suppressed_cells(self) -> int:
        """How many cells are suppressed, those of suppressed rows among them."""
        cells = cells_hidden(self.hidden, len(self.node))
        return int(cells.sum() if self.weights is None else self.weights @ cells)

    @property
    def cells_apart(self) -> bool:
        """Whether any row has a suppressed cell beside others that are shown."""
        return bool(((self.hidden != 0) & (self.hidden != WHOLE)).any())

    def starred_in(self, column: int) -> int:
        """How many rows show "*" for a quasi-identifier, by its place."""
        some = self.hides_in(column)
        return int(np.count_nonzero(some) if self.weights is None else self.weights[some].sum())

    @property
    def rows_with_cells(self) -> int:
        """How many rows have a suppressed cell."""
        some = self.hidden != 0
        return int(np.count_nonzero(some) if self.weights is None else self.weights[some].sum())

    @property
    def suppressed_rows(self) -> int:
        """How many rows are suppressed."""
        if self.weights is not None:
            return int(self.weights[self.suppressed].sum())
        return int(np.count_nonzero(self.suppressed))

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.sizes)


def views_of(
    quasi_identifiers: Sequence[QuasiIdentifier],
    nodes: Sequence[Node],
    ks: Sequence[int],
    units: Units = None,
    weights: Weights = None,
    costs: Sequence[CellCosts] | None = None,
) -> tuple[View, ...]:
    """Return the views of a chain, the most trusted first.

    Rows whose class has fewer than k units are suppressed, beside those suppressed before. Where
    all of these are of fewer than k, the smallest class joins them. Which rows these are follows
    from the view before alone.

    Parameters
    ----------
    quasi_identifiers
        With every level that the nodes name.
    nodes
        The levels of each view; none may fall from one to the next.
    ks
        The k of each view.
    units, weights
        Each row's unit, shape (n,), None where rows stand alone; and how many rows of the table
        each stands for, None for one each.
    costs
        What suppressing a cell costs in each view, None where it suppresses rows; None where all
        do.

    Raises
    ------
    DiversityError
        If the nodes are no chain.
    """
    for before, after in itertools.pairwise(nodes):
        for quasi, fine, coarse in zip(quasi_identifiers, before, after, strict=True):
            if coarse < fine:
                raise DiversityError(
                    "{column} is at level {coarse} for a recipient who is trusted less than one"
                    " at level {fine}.",
                    "Raise the level of the less trusted recipient, or lower the other's.",
                    column=quasi.name,
                    coarse=coarse,
                    fine=fine,
                )
    if not nodes:
        return ()
    rows = DistinctRows.of(quasi_identifiers, nodes[0], units, weights)
    return views_below(rows, nodes, ks, costs or [None] * len(ks))


def views_below(
    rows: DistinctRows, nodes: Sequence[Node], ks: Sequence[int], costs: Sequence[CellCosts]
) -> tuple[View, ...]:
    """Return the views of a chain of distinct rows at its first node or below."""
    views = []
    for node, k, own in zip(nodes, ks, costs, strict=True):
        rows = rows.joined(node)
        view, rows = view_of(rows, k, own)
        views.append(view)
    return tuple(views)


def view_of(rows: DistinctRows, k: int, costs: CellCosts = None) -> tuple[View, DistinctRows]:
    """Return the view of rows at their own levels, and these rows with what it hides hidden."""
    shown = rows.shown(rows.node, k, costs)
    return view_as(rows, k, shown), replace(rows, hidden=shown.hidden)


def view_as(rows: DistinctRows, k: int, shown: ViewedRows) -> View:
    """Return the view of rows at their own levels that shows them like that."""
    return View(
        rows.node,
        k,
        shown.hidden[rows.place],
        rows.sizes(shown),
        *rows.unique(shown),
        rows.loss(rows.node, shown),
        rows.weights,
    )
