"""Records that are alone, counted in memory: what the count in batches is held against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.progress import Context
from sfumato.engine.table.combinations import Marks, add_marks, class_counts
from sfumato.engine.table.repeated_units import Codes, count_units, units_among, units_of
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document
from sfumato.project.release.byproducts import population_uniques, weight_column, weights_of
from sfumato.project.release.groups import is_known_to_others, public_names
from sfumato.project.release.plan import open_column
from sfumato.project.release.uniqueness import SampleUniques, one_of_each
from sfumato.project.release.views import Coarsened


def alone_in_release(
    document: Document, table: Table, context: Context, seen: Coarsened | None = None
) -> SampleUniques | None:
    """Count the records that are alone in what perturbed releases show unperturbed.

    Parameters
    ----------
    document, table
        What is decided, and the rows that leave.
    context
        Progress and cancelling.
    seen
        How coarsely the quasi-identifiers are shown to a recipient; None for as they are.

    Returns
    -------
    SampleUniques or None
        None where every column is perturbed or left out.

    Raises
    ------
    TableError
        If the table lacks such a column, or has no rows.
    DomainError
        If a row does not fit a column's bins.
    """
    names = public_names(document)
    if not names:
        return None
    shown = {} if seen is None else seen.columns

    def agreeing(columns: Sequence[str]) -> Marks:
        """Return one number a row, the same where rows agree on columns as they leave."""
        found = np.zeros(table.rows, dtype=np.uint64)
        for place, name in enumerate(columns):
            context.report(place / len(columns), "Counting unique records")
            spec = document.column(name)
            column = shown[name] if name in shown else open_column(table, spec)
            add_marks(found, column.rename(name))
        return found

    recipient = "" if seen is None else seen.coarsening.own.recipient
    unit, weight = document.unit, weight_column(document)
    units = None if unit is None else units_of(table, unit.columns)
    unique, alone, smallest = _unique_rows(agreeing(names), units, weight is not None)
    found = SampleUniques(names, table.rows, alone, smallest, recipient=recipient)
    if unit is not None and units is not None and unique is not None:
        counted = int(units.max()) + 1
        found = replace(found, unit=unit.name, units=counted, rows=int(unique.sum()))
    marked = tuple(n for n in names if is_known_to_others(document.column(n)))
    if len(marked) not in (0, len(names)):
        marked_alone = _unique_rows(agreeing(marked), units)[1]
        found = replace(found, marked=marked, marked_alone=marked_alone)
    context.report(1.0, "Unique records are counted")
    weights = weights_of(document, table)
    if weight is not None and weights is not None and unique is not None:
        chosen = unique if units is None else one_of_each(unique, units)
        expected = population_uniques(chosen, weights)
        found = replace(found, weight=weight.name, expected=expected)
    return found


def _unique_rows(
    marks: Marks, units: Codes | None, named: bool = False
) -> tuple[npt.NDArray[np.bool_] | None, int, int]:
    """Return which rows no other record or unit agrees with, how many, and the smallest class.

    Which rows they are is told where there are units, or where it is asked for (`named`).
    """
    if units is None and not named:
        marks.sort()
        sizes = class_counts(marks)
        return None, int(np.count_nonzero(sizes == 1)), int(sizes.min())
    classes, found = pd.factorize(marks)
    sizes = count_units(classes, units, len(found))
    unique = sizes[classes] == 1
    return unique, units_among(units, unique), int(sizes.min())
