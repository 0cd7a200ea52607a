"""Make the table that is published: generalized values, outlying records left out.

Which of several safe nodes is published is decided by what the table loses. All measures but the
average level come in the forms that anonymization tools report: Iyengar's loss (KDD 2002), the
discernibility of Bayardo and Agrawal (ICDE 2005), and the non-uniform entropy of Gionis and Tassa
(TKDE 2009). Where no node is safe, it is told why, and what would help.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property

import numpy as np
import scipy

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Flags, Integers
from sfumato.engine.core.wording import Sentence, as_sentence, listed
from sfumato.engine.generalization.coded import (
    CodedTable,
    IntArray,
    QuasiIdentifier,
    summed,
)
from sfumato.engine.generalization.criteria import Criterion, NonCentralizedDiversity, Suppressed
from sfumato.engine.generalization.grouping import frequencies, sizes
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.others import HolderClasses, minimal_sets
from sfumato.engine.generalization.search import SearchResult, allowed_records, check_criteria
from sfumato.engine.generalization.verdict import broken_by_stars, kept_classes
from sfumato.engine.table.repeated_units import UnitRows, count_units, units_among


@dataclass(frozen=True)
class EquivalenceClasses:
    """The classes of a node, outlying ones included.

    Parameters
    ----------
    of_row
        Each row's class, shape (T,), numbered by first row.
    counts
        Frequencies of the sensitive values in each class, shape (C, m), sparse.
    kept
        Whether a class is published as it is, shape (C,).
    whose
        Whose the records of each row are; None where they stand alone.
    """

    of_row: IntArray = field(repr=False)
    counts: scipy.sparse.csr_array = field(repr=False)
    kept: Flags = field(repr=False)
    whose: UnitRows | None = field(default=None, repr=False)

    @cached_property
    def sizes(self) -> Integers:
        """The number of records in each class, shape (C,)."""
        return sizes(self.counts)

    @cached_property
    def units(self) -> Integers:
        """The number of units in each class, shape (C,); of records where they stand alone."""
        if self.whose is None:
            return self.sizes
        found = np.zeros(len(self.kept), dtype=np.int64)
        for rows, units in self.whose.parts():
            found += count_units(self.of_row[rows], units, len(self.kept))
        return found

    @property
    def kept_rows(self) -> Flags:
        """Whether each row is published with its class, shape (T,)."""
        return self.kept[self.of_row]

    @property
    def suppressed(self) -> int:
        """The number of records that stand out."""
        return int(self.sizes[~self.kept].sum())


def equivalence_classes(
    table: CodedTable, node: Node, criteria: Sequence[Criterion] = ()
) -> EquivalenceClasses:
    """Return the classes of a node, and which of them the criteria keep.

    Parameters
    ----------
    table
        The table.
    node
        The level of each quasi-identifier.
    criteria
        What a class must satisfy; with none, all are kept.

    Raises
    ------
    DiversityError
        If the table's lattice has no such node.
    """
    if node not in table.lattice:
        raise DiversityError(
            "The table's hierarchies have no levels {node}.",
            "Choose a node of the lattice: at most {top}.",
            node=node,
            top=table.lattice.top,
        )
    of_row, number = table.class_codes(node)
    counts = frequencies(of_row, table.sensitive, table.records, (number, table.size))
    kept = np.ones(number, dtype=np.bool_)
    classes = EquivalenceClasses(of_row, counts, kept, table.unit_rows)
    if not criteria:
        return classes
    units = None if table.units is None else classes.units
    return replace(classes, kept=kept_classes(criteria, counts, table.counts, units))


def published_classes(
    table: CodedTable,
    node: Node,
    criteria: Sequence[Criterion],
    suppression: float = 0.0,
    suppressed: Suppressed = Suppressed.DROPPED,
) -> EquivalenceClasses:
    """Return the classes of a node whose table may be published.

    Parameters
    ----------
    table
        The table.
    node
        The level of each quasi-identifier.
    criteria
        What it has to satisfy.
    suppression
        The share of the records that may be left out.
    suppressed
        What becomes of them.

    Raises
    ------
    DiversityError
        If the node does not satisfy the criteria, or the starred records by themselves do not.
    """
    allowed = allowed_records(table, suppression)
    check_criteria(table, criteria, allowed)
    classes = equivalence_classes(table, node, criteria)
    if classes.suppressed > allowed or not classes.kept.any():
        raise DiversityError(
            "At this node {rows} {rows:record stands|records stand} out, and {allowed} may be left"
            " out.",
            "Choose a safe node, or let more records be left out.",
            rows=classes.suppressed,
            allowed=allowed,
        )
    broken = _broken_by(suppressed, classes, criteria)
    if broken is not None:
        raise DiversityError(
            "With the {rows} starred {rows:record|records} as a class of their own the table"
            " does not keep {criterion}.",
            "Leave these records out instead of starring them.",
            rows=classes.suppressed,
            criterion=as_sentence(broken.title),
        )
    return classes


def _broken_by(
    suppressed: Suppressed, classes: EquivalenceClasses, criteria: Sequence[Criterion]
) -> Criterion | None:
    """Return a criterion that starred records, as a class of their own, do not satisfy."""
    if suppressed is not Suppressed.STARRED or not classes.suppressed:
        return None
    if classes.whose is None:
        return broken_by_stars(criteria, classes.counts, classes.kept)
    gone = ~classes.kept_rows
    hidden = sum(units_among(units, gone[rows]) for rows, units in classes.whose.parts())
    return broken_by_stars(criteria, classes.counts, classes.kept, classes.units, hidden)


@dataclass(frozen=True)
class Loss:
    """What one node loses.

    Parameters
    ----------
    average_level
        The mean of the levels (Cheong et al. 2012, section 6.2).
    generalization
        For a cell, the share of its attribute's other values that it could also be; averaged over
        all cells. 0 where nothing is generalized, 1 where everything is "*".
    discernibility
        The sum of the squared class sizes; a record that stands out counts the whole table.
    average_discernibility
        The same for each record: how many records it can't be told from.
    entropy
        The bits that are missing to restore a cell, as a share of those in the whole column;
        averaged over the columns. 0 where nothing is generalized, 1 where everything is "*".
    classes
        The number of equivalence classes that are published.
    suppressed
        The number of records that stand out.
    """

    average_level: float
    generalization: float
    discernibility: int
    average_discernibility: float
    entropy: float
    classes: int
    suppressed: int


@dataclass(frozen=True)
class NodeChoice:
    """A node with what it loses."""

    node: Node
    loss: Loss


def loss_of(table: CodedTable, node: Node, criteria: Sequence[Criterion] = ()) -> Loss:
    """Measure what a node loses.

    Parameters
    ----------
    table
        The table.
    node
        The level of each quasi-identifier.
    criteria
        What decides which records stand out; with none, no record does.
    """
    return loss_of_classes(table, node, equivalence_classes(table, node, criteria))


def loss_of_classes(table: CodedTable, node: Node, classes: EquivalenceClasses) -> Loss:
    """Measure what a node loses whose classes are known already."""
    kept = None if classes.kept.all() else classes.kept_rows
    cells, bits = [], []
    for quasi, level in zip(table.quasi_identifiers, node, strict=True):
        cells.append(_could_be(table, quasi, level, kept))
        bits.append(_missing_bits(table, quasi, level, kept))
    sizes = classes.sizes
    squares = int((sizes[classes.kept] ** 2).sum()) + classes.suppressed * table.rows
    return Loss(
        table.lattice.average_level(node),
        float(np.mean(cells)),
        squares,
        squares / table.rows,
        float(np.mean(bits)),
        int(classes.kept.sum()),
        classes.suppressed,
    )


def choose(
    table: CodedTable,
    result: SearchResult,
    criteria: Sequence[Criterion],
    context: Context,
) -> NodeChoice | None:
    """Return the node to publish: the lowest average level, and among equals the least loss.

    Parameters
    ----------
    table
        The table that was searched.
    result
        What was found.
    criteria
        The criteria of the search.
    context
        Progress and cancelling.

    Returns
    -------
    NodeChoice
        None where no node is safe.
    """
    return min(
        rank(table, result.lowest, criteria, context),
        key=lambda choice: (choice.loss.generalization, choice.loss.discernibility, choice.node),
        default=None,
    )


def rank(
    table: CodedTable,
    nodes: Sequence[Node],
    criteria: Sequence[Criterion],
    context: Context,
) -> list[NodeChoice]:
    """Return nodes with their losses, by average level and then by generalization loss."""
    choices = []
    for number, node in enumerate(nodes):
        context.report(number / len(nodes), "Measuring what the nodes lose")
        choices.append(NodeChoice(node, loss_of(table, node, criteria)))
    return sorted(choices, key=lambda c: (c.loss.average_level, c.loss.generalization, c.node))


def _could_be(table: CodedTable, quasi: QuasiIdentifier, level: int, kept: Flags | None) -> float:
    """Return the average share of the other values that a cell of one column could also be."""
    per_row = quasi.could_be[level].take(quasi.codes)
    shares = per_row if kept is None else np.where(kept, per_row, 1.0)
    return float(shares.dot(table.records)) / table.rows


def _missing_bits(
    table: CodedTable, quasi: QuasiIdentifier, level: int, kept: Flags | None
) -> float:
    """Return the bits that are missing to restore one column, as a share of all its bits."""
    ground = summed(quasi.codes, table.weights, len(quasi.levels[0]))
    present = np.maximum(ground, 1)
    groups = quasi.levels[level]
    within = np.maximum(np.bincount(groups, weights=ground)[groups], 1)
    all_bits = np.log2(table.rows / present)
    whole = float((ground * all_bits).sum())
    if whole <= 0:
        return 0.0
    bits = np.log2(within / present)
    if kept is None:
        return float((ground * bits).sum()) / whole
    per_row = np.where(kept, bits.take(quasi.codes), all_bits.take(quasi.codes))
    return float(per_row.dot(table.records)) / whole


_MOST_DROPPED = 3
"""Quasi-identifiers that are looked at together."""


@dataclass(frozen=True)
class NoSolution:
    """What stands in the way, when not even the highest levels are safe.

    Parameters
    ----------
    rows
        Records in the table.
    standing_out
        Records that stand out at the highest levels.
    allowed
        Records that may be left out.
    failing
        The criteria that fail there, each looked at by itself.
    dropping
        The smallest choices of quasi-identifiers whose removal, or one more level with a single
        group, gives a solution.
    without_holder
        Other holders without whose table there is a solution.
    without_stars
        Whether there is one once the starred records are left out instead.
    """

    rows: int
    standing_out: int
    allowed: int
    failing: tuple[str, ...]
    dropping: tuple[tuple[str, ...], ...]
    without_holder: tuple[str, ...]
    without_stars: bool = False

    @property
    def advice(self) -> tuple[str, ...]:
        """What would help, in plain words."""
        advice = [
            Sentence(
                "Give {names} one more level with a single group, or leave {count:it|them} out.",
                names=listed(names),
                count=len(names),
            )
            for names in self.dropping
        ]
        if self.allowed < self.standing_out < self.rows:
            advice.append(
                Sentence(
                    "Let {standing_out} {standing_out:record|records} be left out; now it is"
                    " {allowed}.",
                    standing_out=self.standing_out,
                    allowed=self.allowed,
                )
            )
        if self.without_stars:
            advice.append(Sentence("Leave these records out instead of starring them."))
        advice += [
            Sentence("Without the table of {holder} there is a solution.", holder=holder)
            for holder in self.without_holder
        ]
        return tuple(advice)


def explain_no_solution(
    table: CodedTable,
    criteria: Sequence[Criterion],
    suppression: float = 0.0,
    holders: Sequence[HolderClasses] = (),
    suppressed: Suppressed = Suppressed.DROPPED,
) -> NoSolution:
    """Return what stands in the way of a solution.

    Parameters
    ----------
    table, criteria, suppression
        What was searched without finding a safe node.
    holders
        The other holders' tables behind a `NonCentralizedDiversity`.
    suppressed
        What becomes of records that stand out.

    Raises
    ------
    DiversityError
        If a criterion can't be satisfied by any generalization; the error says why.
    """
    allowed = allowed_records(table, suppression)
    in_the_way = _holders_in_the_way(table, criteria, allowed, holders)
    if not in_the_way:
        check_criteria(table, criteria, allowed)
    standing_out = _standing_out(table, criteria)
    failing = tuple(c.title for c in criteria if _standing_out(table, [c]) > allowed)
    return NoSolution(
        table.rows,
        standing_out,
        allowed,
        failing,
        _droppings(table, criteria, allowed, suppressed),
        in_the_way,
        suppressed is Suppressed.STARRED and _solved(table, criteria, allowed),
    )


def _standing_out(table: CodedTable, criteria: Sequence[Criterion]) -> int:
    """Return the records that stand out at the highest levels."""
    return equivalence_classes(table, table.lattice.top, criteria).suppressed


def _solved(
    table: CodedTable,
    criteria: Sequence[Criterion],
    allowed: int,
    suppressed: Suppressed = Suppressed.DROPPED,
) -> bool:
    """Return whether the highest levels are safe."""
    classes = equivalence_classes(table, table.lattice.top, criteria)
    few = classes.suppressed <= allowed and bool(classes.kept.any())
    return few and _broken_by(suppressed, classes, criteria) is None


def _droppings(
    table: CodedTable, criteria: Sequence[Criterion], allowed: int, suppressed: Suppressed
) -> tuple[tuple[str, ...], ...]:
    """Return the smallest choices of quasi-identifiers that stand in the way."""
    several = [q.name for q in table.quasi_identifiers if q.sizes[-1] > 1]
    for number in range(1, min(len(several), _MOST_DROPPED) + 1):
        found = tuple(
            names
            for names in itertools.combinations(several, number)
            if _solved(_without(table, names), criteria, allowed, suppressed)
        )
        if found:
            return found
    return ()


def _without(table: CodedTable, names: tuple[str, ...]) -> CodedTable:
    """Return the table with all values of some quasi-identifiers alike."""
    quasi = [
        replace(q, levels=(np.zeros_like(q.levels[0]),), codes=np.zeros_like(q.codes), labels=())
        if q.name in names
        else q
        for q in table.quasi_identifiers
    ]
    return replace(table, quasi_identifiers=tuple(quasi))


def _holders_in_the_way(
    table: CodedTable,
    criteria: Sequence[Criterion],
    allowed: int,
    holders: Sequence[HolderClasses],
) -> tuple[str, ...]:
    """Return the holders without whose table there is a solution."""
    found = []
    for number, holder in enumerate(holders):
        rest = minimal_sets([*holders[:number], *holders[number + 1 :]], table.size)
        relaxed = [
            replace(each, others=rest) if isinstance(each, NonCentralizedDiversity) else each
            for each in criteria
        ]
        if _standing_out(table, relaxed) <= allowed:
            found.append(holder.holder)
    return tuple(found)
