"""What a generalized table loses, and the table itself beside the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.generalization.checker import PublicationCheck
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.publication import (
    Loss,
    Publication,
    Suppressed,
    equivalence_classes,
    loss_of_classes,
)
from sfumato.engine.generalization.risk import Risk
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document
from sfumato.project.publication.generalization_pipeline import (
    Prepared,
    Searched,
    decided_in,
    published_table,
)
from sfumato.project.publication.population import PopulationFound, read_population, risks_of
from sfumato.project.release.uniqueness import AloneInPublication, alone_in_publication

CHEAP_CELLS = 1_500_000
"""Up to so many public cells are searched without being asked: it takes a moment."""


@dataclass(frozen=True)
class Measured:
    """What one node loses, and its smallest class.

    Parameters
    ----------
    node
        Its levels.
    loss
        What it loses.
    smallest
        The records of its smallest class that is published; 0 where none is.
    """

    node: Node
    loss: Loss
    smallest: int


@dataclass(frozen=True)
class View:
    """The published table of a node beside the table it was made from.

    Parameters
    ----------
    publication, check
        The table, and what an independent check of it found.
    before, after
        The same rows, before and after; what is left out shows nothing after.
    grouped
        The order of the rows that puts classes together.
    risks
        The risk of being found, before and after.
    population
        The population that it was measured in; None where none is known.
    population_problem
        Why it could not be measured by what is known of the population.
    distinct
        For each public column its different values, before and after.
    alone
        The records that are alone by columns it shows exactly; None where it shows none so.
    """

    publication: Publication
    check: PublicationCheck
    before: pd.DataFrame = field(repr=False)
    after: pd.DataFrame = field(repr=False)
    grouped: npt.NDArray[np.int64] = field(repr=False)
    risks: tuple[Risk, Risk]
    population: PopulationFound | None
    population_problem: SfumatoError | None
    distinct: Mapping[str, tuple[int, int]]
    alone: AloneInPublication | None

    @property
    def left_out(self) -> int:
        """The number of records that are not published, or starred."""
        return self.publication.classes.suppressed


def is_cheap(document: Document, table: Table) -> bool:
    """Return whether a search takes a moment only, so that it can start by itself."""
    decided = decided_in(document)
    cells = table.rows * len(decided.quasi_identifiers)
    steady = all(choice.build().survives_growth for choice in decided.criteria)
    return cells <= (CHEAP_CELLS if steady or not decided.suppression else CHEAP_CELLS // 30)


def measure(found: Prepared, nodes: Sequence[Node], context: Context) -> tuple[Measured, ...]:
    """Measure what nodes lose."""
    measured = []
    for number, node in enumerate(nodes):
        context.report(number / len(nodes), "Measuring what is lost")
        classes = equivalence_classes(found.coded, node, found.criteria)
        kept = classes.units[classes.kept]
        loss = loss_of_classes(found.coded, node, classes)
        measured.append(Measured(node, loss, int(kept.min()) if len(kept) else 0))
    return tuple(measured)


def look(
    document: Document,
    table: Table,
    searched: Searched,
    node: Node,
    known: PopulationFound | None,
    context: Context,
) -> View:
    """Make the published table of a node, check it, and measure the risk before and after.

    Parameters
    ----------
    document, table, searched, node
        What is published, and from what.
    known
        A population that was read before by the same hierarchies.
    context
        Progress and cancelling.

    Raises
    ------
    DiversityError
        If the node is not safe, or the starred records by themselves are not.
    """
    context.report(0.0, "Making the table")
    publication, check = published_table(document, table, searched, node)
    context.report(0.6, "Comparing with the original")
    names = list(decided_in(document).quasi_identifiers)
    shown = [name for name in table.columns if name in publication.frame.columns]
    before = table.frame[shown]
    after = publication.frame[shown]
    if publication.suppressed is Suppressed.DROPPED and len(after) < len(before):
        after = after.reindex(before.index)
    kept = publication.frame
    alone = alone_in_publication(document, table, publication, Part(context, 0.6, 0.7))
    context.report(0.7, "Measuring the risk")
    risks, population, problem = _risks(document, table, searched, publication, known, context)
    return View(
        publication,
        check,
        before.reset_index(drop=True),
        after.reset_index(drop=True),
        np.argsort(publication.classes.of_row, kind="stable").astype(np.int64),
        risks,
        population,
        problem,
        {
            name: (int(before[name].nunique(dropna=False)), int(kept[name].nunique(dropna=False)))
            for name in names
        },
        alone,
    )


def _risks(
    document: Document,
    table: Table,
    searched: Searched,
    publication: Publication,
    known: PopulationFound | None,
    context: Context,
) -> tuple[tuple[Risk, Risk], PopulationFound | None, SfumatoError | None]:
    """Measure the risk; where the population can't be used, without it, and say why."""
    prepared, made = searched.prepared, (publication.classes, publication.node)
    decided = decided_in(document)
    try:
        population = known
        if known is None or known.file != decided.population:
            population = read_population(document, table, prepared, Part(context, 0.7, 0.9))
        risks = risks_of(document, table, prepared, made[0], population, made[1])
        return risks, population, None
    except SfumatoError as problem:
        alone = replace(decided, population=None, sampling_fraction=None)
        document = replace(document, generalization=alone)
        risks = risks_of(document, table, prepared, made[0], None, made[1])
        return risks, None, problem.with_traceback(None)
