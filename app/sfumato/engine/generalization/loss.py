"""What a generalized table has lost, and which safe node to publish.

All measures but the average level come in the forms that anonymization tools report: Iyengar's loss
(KDD 2002), the discernibility of Bayardo and Agrawal (ICDE 2005), and the non-uniform entropy of
Gionis and Tassa (TKDE 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.progress import Context
from sfumato.engine.generalization.coded import CodedTable, QuasiIdentifier
from sfumato.engine.generalization.criteria import Criterion
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.publication import EquivalenceClasses, equivalence_classes
from sfumato.engine.generalization.search import SearchResult


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
class Choice:
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
        cells.append(_could_be(quasi, level, kept))
        bits.append(_missing_bits(quasi, level, kept))
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
) -> Choice | None:
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
    Choice
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
) -> list[Choice]:
    """Return nodes with their losses, by average level and then by generalization loss."""
    choices = []
    for number, node in enumerate(nodes):
        context.report(number / len(nodes), "Measuring what the nodes lose")
        choices.append(Choice(node, loss_of(table, node, criteria)))
    return sorted(choices, key=lambda c: (c.loss.average_level, c.loss.generalization, c.node))


def _could_be(quasi: QuasiIdentifier, level: int, kept: npt.NDArray[np.bool_] | None) -> float:
    """Return the average share of the other values that a cell of one column could also be."""
    others = len(quasi.levels[0]) - 1
    if others == 0:
        return 0.0
    groups = quasi.levels[level]
    share = (np.bincount(groups)[groups] - 1) / others
    per_row = share.take(quasi.codes)
    return float((per_row if kept is None else np.where(kept, per_row, 1.0)).mean())


def _missing_bits(quasi: QuasiIdentifier, level: int, kept: npt.NDArray[np.bool_] | None) -> float:
    """Return the bits that are missing to restore one column, as a share of all its bits."""
    ground = np.bincount(quasi.codes, minlength=len(quasi.levels[0]))
    present = np.maximum(ground, 1)
    groups = quasi.levels[level]
    within = np.maximum(np.bincount(groups, weights=ground)[groups], 1)
    all_bits = np.log2(len(quasi.codes) / present)
    whole = float((ground * all_bits).sum())
    if whole <= 0:
        return 0.0
    bits = np.log2(within / present)
    if kept is None:
        return float((ground * bits).sum()) / whole
    per_row = np.where(kept, bits.take(quasi.codes), all_bits.take(quasi.codes))
    return float(per_row.sum()) / whole
