"""What a generalized table loses, and the table itself beside the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.analysis.answers import Severity
from sfumato.analysis.findings import Finding
from sfumato.analysis.guarantee import asked_instead
from sfumato.analysis.readiness.verdicts import Readiness
from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import joined
from sfumato.engine.generalization.checker import PublicationCheck
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.publication import (
    Loss,
    equivalence_classes,
    loss_of_classes,
)
from sfumato.engine.generalization.risk import Risk
from sfumato.project.document.model import Document
from sfumato.project.publication.generalization_pipeline import (
    Searched,
    looked_at,
    published_rows,
)
from sfumato.project.publication.population import PopulationFound, read_population, risks_of
from sfumato.project.publication.prepared import ClassedRows, Prepared, counted_rows, decided_in
from sfumato.project.publication.publish import publication_of
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.bucket_counts import CountedOpenColumn, series_of
from sfumato.project.release.uniqueness import AloneInPublication, publication_limits

PUBLIC: Final = "public"
"""Whom a check before publishing is about."""

CHEAP_CELLS = 1_500_000
"""Up to so many public cells are searched without being asked: it takes a moment."""


@dataclass(frozen=True)
class NodeMeasure:
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
class PublishedView:
    """The published table of a node beside the table it was made from.

    Parameters
    ----------
    made, check
        What makes the rows, and what an independent check of all of them found.
    before, after
        The same rows, before and after; what is left out shows nothing after. Of a table with more
        rows than are drawn evenly (`SAMPLE`), these.
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

    made: ClassedRows
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
        return self.made.classes.suppressed


def is_cheap(document: Document, table: BatchedTable) -> bool:
    """Return whether a search takes a moment only, so that it can start by itself."""
    decided = decided_in(document)
    steady = all(choice.build().survives_growth for choice in decided.criteria)
    most = CHEAP_CELLS if steady or not decided.suppression else CHEAP_CELLS // 30
    return table.held_rows(most / max(len(decided.quasi_identifiers), 1)) is not None


def measure(found: Prepared, nodes: Sequence[Node], context: Context) -> tuple[NodeMeasure, ...]:
    """Measure what nodes lose."""
    measured = []
    for number, node in enumerate(nodes):
        context.report(number / len(nodes), "Measuring what is lost")
        classes = equivalence_classes(found.coded, node, found.criteria)
        kept = classes.units[classes.kept]
        loss = loss_of_classes(found.coded, node, classes)
        measured.append(NodeMeasure(node, loss, int(kept.min()) if len(kept) else 0))
    return tuple(measured)


def look(
    document: Document,
    searched: Searched,
    node: Node,
    known: PopulationFound | None,
    context: Context,
) -> PublishedView:
    """Make the published table of a node, check it, and measure the risk before and after.

    Parameters
    ----------
    document, searched, node
        What is published; only what is known of the population may have changed since the search.
    known
        A population that was read before by the same hierarchies.
    context
        Progress and cancelling.

    Raises
    ------
    DiversityError
        If the node is not safe, or the starred records by themselves are not.
    """
    prepared = replace(searched.prepared, document=document)
    made = published_rows(prepared, node)
    counted = counted_rows(made, Part(context, 0.0, 0.5))
    drawn = looked_at(document, prepared.table, Part(context, 0.5, 0.6)).sample
    shown, left = made.published(drawn)
    after = shown.reset_index(drop=True)
    if len(left) < drawn.rows:
        after = after.set_axis(left).reindex(np.arange(drawn.rows))
    risks, population, problem = _risks(document, made, known, Part(context, 0.6, 0.9))
    return PublishedView(
        made,
        counted.check,
        drawn.frame[list(made.columns)].reset_index(drop=True),
        after,
        np.argsort(made.classes_of(drawn), kind="stable").astype(np.int64),
        risks,
        population,
        problem,
        _distinct(made, Part(context, 0.9, 1.0)),
        counted.alone,
    )


def check_publication(document: Document, table: BatchedTable, context: Context) -> Readiness:
    """Return what a check before publishing finds.

    Parameters
    ----------
    document, table, context
        What is published, the rows, and progress.
    """
    try:
        found = publication_of(document, table.whole, context)
    except SfumatoError as error:
        problem = Finding("Criteria", Severity.GRAVE, error.sentence, refuses=True)
        return Readiness(PUBLIC, (problem,))
    limits = publication_limits(document, found.alone, advice=True)
    kept = joined("Every class of people alike keeps:", *asked_instead(document))
    return Readiness(
        PUBLIC,
        (
            *(Finding("What is not promised", Severity.CAUTION, text) for text in limits),
            Finding("Criteria", Severity.GOOD, kept),
        ),
    )


def _distinct(made: ClassedRows, context: Context) -> dict[str, tuple[int, int]]:
    """Return how many different values each public column has, before and after."""
    names = list(made.changed)
    columns = {name: CountedOpenColumn(ColumnSpec(name, Role.INSENSITIVE)) for name in names}
    for batch, _ in made.prepared.table.read(names, "Comparing with the original", context):
        for name, column in columns.items():
            column.marks(series_of(batch[name], name), count=True)
    found = {name: column.facts() for name, column in columns.items()}
    return {
        name: (facts.distinct + bool(facts.missing), len(made.labels(name)))
        for name, facts in found.items()
    }


def _risks(
    document: Document, made: ClassedRows, known: PopulationFound | None, context: Context
) -> tuple[tuple[Risk, Risk], PopulationFound | None, SfumatoError | None]:
    """Measure the risk; where the population can't be used, without it, and say why."""
    decided = decided_in(document)
    reading, measuring = Part(context, 0.0, 0.4), Part(context, 0.4, 1.0)
    try:
        population = known
        if known is None or known.file != decided.population:
            population = read_population(document, made.prepared, reading)
        return risks_of(document, made, population, measuring), population, None
    except SfumatoError as problem:
        alone = replace(decided, population=None, sampling_fraction=None)
        document = replace(document, generalization=alone)
        return risks_of(document, made, None, measuring), None, problem.with_traceback(None)
