"""Find every safe node, and the minimal ones among them.

Incognito (LeFevre, DeWitt and Ramakrishnan, SIGMOD 2005) with the requirement check of Cheong, Wu
and Wong 2012, section 5.2. It rests on two properties of the criteria. *Generalization*: what is
safe stays so when levels rise. *Subset*: what is safe stays so when a quasi-identifier is dropped,
so a few of them that are unsafe together are unsafe among more. Here a dropped quasi-identifier is
one whose values are all alike, the highest level; a hierarchy that ends earlier is given that
level for the search. Then the lattices of all subsets lie inside one, and both properties say that
the safe nodes are closed upwards.

Nodes are taken where they settle most: when no record may be left out, a class that fails is
followed through the whole lattice (see `witnesses`), and only the minimal nodes that survive are
grouped; with records left out, those are grouped that have most open nodes above and below them,
each from the smallest of its specializations that was grouped before.

*Leaving out records.* For k-anonymity and distinct l-diversity (alone or beside others' tables) a
class that is kept is kept at every generalization, whatever joins it, so the records left out only
become fewer: both properties hold. For entropy and recursive diversity and for t-closeness they do
not: a good class can be joined with one that had been left out, and turn bad. But a class that
satisfies them has so many values at least (t-closeness: values with a share of 1 − t of the
records), which survives growth. Nodes are searched by that first, and each that remains is tested.

*Starring them.* Outlying records that stay, showing "*", are one more class. It shrinks as levels
rise: where classes survive growth it is good at all levels below one at which it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property
from typing import Final

import numpy as np

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.generalization.coded import CodedTable
from sfumato.engine.generalization.criteria import (
    Criterion,
    KAnonymity,
    Need,
    Suppressed,
    needs_of,
)
from sfumato.engine.generalization.distinct_rows import DistinctRows
from sfumato.engine.generalization.grouping import Grouping, RolledUpTuples, Tuples, UnitCounts
from sfumato.engine.generalization.lattice import (
    Lattice,
    Node,
    NodeSet,
    at_least,
    at_most,
    below_any,
    listed,
    meet,
    minimal,
    numbers_above,
    numbers_below,
    unrelated,
)
from sfumato.engine.generalization.verdict import NodeWitnesses, Verdict, judge

_NODES_EACH: Final = 32
"""One node is tested for so many open ones before they are counted again."""


@dataclass(frozen=True)
class SearchResult:
    """What is safe.

    Parameters
    ----------
    names
        The quasi-identifiers, in the order of a node's levels.
    lattice
        All nodes.
    safe
        Which of them satisfy the criteria, shape `lattice.shape`.
    examined
        How many nodes were grouped and tested by all criteria; the others follow from these, or
        from a part of what is asked.
    followed
        How many records' classes were followed through the lattice.
    """

    names: tuple[str, ...]
    lattice: Lattice
    safe: NodeSet = field(repr=False)
    examined: int
    followed: int

    @cached_property
    def minimal(self) -> tuple[Node, ...]:
        """The safe nodes none of whose specializations is safe, by average level."""
        return tuple(sorted(listed(minimal(self.safe)), key=lambda node: (sum(node), node)))

    @property
    def safe_count(self) -> int:
        """The number of safe nodes: the paper's published table candidates (section 6.2)."""
        return int(np.count_nonzero(self.safe))

    @property
    def minimum_average_level(self) -> float | None:
        """The lowest average level of a safe node (section 6.2); None where there is none."""
        if not self.minimal:
            return None
        return self.lattice.average_level(self.minimal[0])

    @property
    def lowest(self) -> tuple[Node, ...]:
        """The safe nodes with the lowest average level."""
        return tuple(node for node in self.minimal if sum(node) == sum(self.minimal[0]))

    def is_safe(self, node: Node) -> bool:
        """Return whether a node satisfies the criteria."""
        return bool(self.safe[node])

    def safe_nodes(self) -> list[Node]:
        """Return every safe node, by average level."""
        return sorted(listed(self.safe), key=lambda node: (sum(node), node))


def search(
    table: CodedTable,
    criteria: Sequence[Criterion],
    context: Context,
    suppression: float = 0.0,
    suppressed: Suppressed = Suppressed.DROPPED,
) -> SearchResult:
    """Find every node that satisfies all criteria.

    Parameters
    ----------
    table
        Quasi-identifiers with their levels, and the sensitive attribute.
    criteria
        At least one.
    context
        Progress and cancelling.
    suppression
        The share of the records that may be left out, 0 to below 1, because they stand out.
    suppressed
        What becomes of them; starred ones are a class that has to satisfy the criteria as well.

    Returns
    -------
    SearchResult
        No node may be safe: see `explain_no_solution`.

    Raises
    ------
    DiversityError
        If there is no criterion, or one of them can't be satisfied by any generalization.
    """
    allowed = allowed_records(table, suppression)
    check_criteria(table, criteria, allowed)
    starred = bool(allowed) and suppressed is Suppressed.STARRED
    if allowed and not all(criterion.survives_growth for criterion in criteria):
        # No node follows from others, since records may be left out. But part of what is asked
        # survives growth, and what fails by that fails.
        least = [one.at_least(table.counts) for one in criteria]
        surviving = [one for one in least if one is not None]
        nodes = list(table.lattice.nodes())
        if surviving:
            before = _NodeSearch(table, surviving, allowed, Part(context, 0.0, 0.5))
            before.by_properties()
            nodes = [node for node in nodes if before.safe[node]]
        run = _NodeSearch(table, criteria, allowed, Part(context, 0.5, 1.0), starred)
        run.test_each(nodes)
    elif starred:
        run = _with_stars(table, criteria, allowed, context)
    else:
        run = _NodeSearch(table, criteria, allowed, context)
        run.by_properties()
    real = tuple(slice(None, levels) for levels in table.lattice.shape)
    safe = np.ascontiguousarray(run.safe[real])
    context.report(1.0, "All nodes are settled")
    return SearchResult(table.names, table.lattice, safe, run.examined, run.followed)


def _with_stars(
    table: CodedTable, criteria: Sequence[Criterion], allowed: int, context: Context
) -> _NodeSearch:
    """Search where outlying records stay as a class of their own, and classes survive growth."""
    few = _NodeSearch(table, criteria, allowed, Part(context, 0.0, 0.4))
    few.by_properties()
    none = _NodeSearch(table, criteria, 0, Part(context, 0.4, 0.6))
    none.by_properties()
    run = _NodeSearch(table, criteria, allowed, Part(context, 0.6, 1.0), starred=True)
    run.by_stars(few.safe & ~none.safe)
    run.safe |= none.safe
    run.examined += few.examined + none.examined
    return run


def allowed_records(table: CodedTable, suppression: float) -> int:
    """Return how many records may be left out; refuse a share outside 0 to below 1."""
    if not 0 <= suppression < 1:
        raise DiversityError(
            "The share of records that may be left out is {share:g}.",
            "Choose a share from 0 to below 1.",
            share=suppression,
        )
    # A share like 0.07 of 100 rows is meant as 7 rows, though the product is a little below.
    return int(suppression * table.rows + 1e-9)


def check_criteria(table: CodedTable, criteria: Sequence[Criterion], allowed: int = 0) -> None:
    """Refuse criteria that nothing can satisfy with so many records left out."""
    if not criteria:
        raise DiversityError(
            "No criterion is chosen.", "Choose at least one, such as distinct l-diversity."
        )
    for criterion in criteria:
        criterion.check(table.counts, allowed)
        if table.unit_rows is not None and isinstance(criterion, KAnonymity):
            criterion.check_units(int(table.unit_rows.sizes.sum()))


class _NodeSearch:
    """The state of one search: which nodes are known to be safe, and which not to be."""

    def __init__(
        self,
        table: CodedTable,
        criteria: Sequence[Criterion],
        allowed: int,
        context: Context,
        starred: bool = False,
    ) -> None:
        quasi = [each.with_one_group_on_top() for each in table.quasi_identifiers]
        needs = needs_of(criteria) | (Need.SIZES if allowed else Need.NOTHING)
        self._starred = starred
        self._context = context
        self._criteria = tuple(criteria)
        self._allowed = allowed
        self._survives_growth = all(criterion.survives_growth for criterion in criteria)
        self._quasi = quasi
        self._lattice = Lattice(tuple(each.height for each in quasi))
        units = None
        if table.units is not None:
            apart = DistinctRows.of(quasi, self._lattice.bottom, table.units, table.weights)
            units = UnitCounts(apart, None, Silent())
        self._grouping = Grouping(quasi, table.counts, needs, units)
        self._rows = self._grouping.rows(table)
        self._witnesses = NodeWitnesses(quasi, table, criteria)
        self.safe: NodeSet = np.zeros(self._lattice.shape, dtype=np.bool_)
        self.unsafe: NodeSet = np.zeros(self._lattice.shape, dtype=np.bool_)
        self.examined = 0
        self.followed = 0

    def by_properties(self) -> None:
        """Settle every node by testing few."""
        if not self._allowed and self._witnesses.affordable:
            self._report()
            for record in self._witnesses.seeds():
                self._follow(record)
            self._settle_within(self._rows, (None,) * len(self._quasi))
        else:
            self._settle_by_halves()

    def by_stars(self, nodes: NodeSet) -> None:
        """Settle nodes at which some records are starred, as few as may be.

        Where classes survive growth, finer levels star these records and more. So their class
        satisfies the criteria there if it does here.
        """
        self.unsafe = ~nodes
        self._settle_by_halves()
        self.safe &= nodes

    def test_each(self, nodes: list[Node]) -> None:
        """Test each of some nodes by itself, and conclude nothing about others."""
        for node, tuples in self._rolled_up(self._rows, nodes):
            self.safe[node] = self._judge(tuples).safe
        self.unsafe = ~self.safe

    def _settle_within(self, source: Tuples, fixed: tuple[int | None, ...]) -> None:
        """Settle all nodes with some levels fixed, the more specific ones first.

        A node is tested only once all its specializations are known to be unsafe. Levels are fixed
        one by one, so that nodes that agree in some share the roll-up to these.
        """
        region = tuple(slice(None) if at is None else slice(at, at + 1) for at in fixed)
        offset = np.array([at or 0 for at in fixed])
        while True:
            still_open = np.argwhere(~(self.safe[region] | self.unsafe[region]))
            if not len(still_open):
                return
            lowest = still_open.min(axis=0) + offset
            common = tuple(int(level) for level in lowest)
            alone = self._is_open(common)
            if alone or self._grouping.may_join(source, common):
                source = self._rolled(source, common)
            if not alone:
                break
            self._settle(common, source, witnesses=True)
        highest = still_open.max(axis=0) + offset
        axis = self._most_joining([common, tuple(int(level) for level in highest)])
        for level in range(common[axis], int(highest[axis]) + 1):
            self._settle_within(source, (*fixed[:axis], level, *fixed[axis + 1 :]))

    def _rolled(self, source: Tuples, node: Node) -> Tuples:
        """Return the tuples of a node; the rows themselves are not grouped yet at the bottom."""
        if node == source.node and source is not self._rows:
            return source
        return self._grouping.roll_up(source, node)

    def _settle_by_halves(self) -> None:
        """Test the nodes that settle most others, whichever way they turn out."""
        base = self._grouping.roll_up(self._rows, self._lattice.bottom)
        rolled = RolledUpTuples(self._grouping, base, self._lattice)
        while True:
            still_open = ~(self.safe | self.unsafe)
            number = int(np.count_nonzero(still_open))
            if not number:
                return
            above, below = numbers_above(still_open), numbers_below(still_open)
            rolled.forget(above == 0)
            settled = np.where(still_open, np.minimum(above, below), 0)
            for node in unrelated(settled, max(1, number // _NODES_EACH)):
                if self._is_open(node):
                    self._settle(node, rolled.of(node), witnesses=False)

    def _is_open(self, node: Node) -> bool:
        """Return whether nothing is known about a node yet."""
        return not (self.safe[node] or self.unsafe[node])

    def _settle(self, node: Node, tuples: Tuples, witnesses: bool) -> None:
        """Test a node, and mark all that follows from it."""
        verdict = self._judge(tuples)
        if self._starred:
            settled = (self.safe, at_most) if verdict.safe else (self.unsafe, at_least)
            settled[0][settled[1](node)] = True
            return
        if verdict.safe:
            self.safe[at_least(node)] = True
            return
        self.unsafe[at_most(node)] = True
        if not witnesses:
            return
        records = tuples.records(verdict.violating)
        number = self._witnesses.most_isolated(records, node)
        self._follow([int(codes[number]) for codes in records])

    def _follow(self, record: Sequence[int]) -> None:
        """Rule out the nodes at which a record's class violates the criteria."""
        self.followed += 1
        ruled_out = ~self._witnesses.allowed(record)
        # Where classes survive growth the record's own verdicts are closed already.
        self.unsafe |= ruled_out if self._survives_growth else below_any(ruled_out)

    def _judge(self, tuples: Tuples) -> Verdict:
        """Test the tuples of one node."""
        self.examined += 1
        self._report()
        return judge(self._grouping, tuples, self._criteria, self._allowed, self._starred)

    def _report(self) -> None:
        """Say how much of the lattice is settled."""
        settled = int(np.count_nonzero(self.safe)) + int(np.count_nonzero(self.unsafe))
        self._context.report(
            min(1.0, settled / self._lattice.size), f"Tested {self.examined} nodes"
        )

    def _rolled_up(
        self,
        source: Tuples,
        nodes: list[Node],
    ) -> Iterator[tuple[Node, Tuples]]:
        """Yield the tuples of each node, sharing roll-ups between nodes that are alike.

        The nodes are parted by their level in one quasi-identifier after the other, the one that
        joins most tuples first; each part is rolled up to what its nodes have in common.
        """
        if not nodes:
            return
        common = meet(nodes)
        source = self._rolled(source, common)
        if len(nodes) == 1:
            yield common, source
            return
        axis = self._most_joining(nodes)
        for level in sorted({node[axis] for node in nodes}, reverse=True):
            part = [node for node in nodes if node[axis] == level]
            yield from self._rolled_up(source, part)

    def _most_joining(self, nodes: list[Node]) -> int:
        """Return the quasi-identifier whose levels among the nodes differ most in size."""
        ratios = [
            quasi.sizes[min(levels)] / quasi.sizes[max(levels)] if len(set(levels)) > 1 else 0.0
            for quasi, levels in zip(self._quasi, zip(*nodes, strict=True), strict=True)
        ]
        return int(np.argmax(ratios))
