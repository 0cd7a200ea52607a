"""Remedies that are searched for: what leaves nobody unique, and what suits earlier releases.

Columns are left out until nobody is unique, or coarsened with the quasi-identifiers, which may keep
most of them. A view is made so coarse that it can stand beside those that were released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.analysis.coarsening.views import (
    FEW_COLUMNS,
    with_levels,
    with_proposed_hierarchies,
)
from sfumato.analysis.findings import (
    Decided,
    Examined,
    Remedy,
    RemedyKind,
    said_together,
    unique_then,
)
from sfumato.engine.core.columns import Kind, Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Silent
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.generalization.coded import QuasiIdentifier
from sfumato.engine.generalization.distinct_rows import DistinctRows
from sfumato.engine.generalization.many_columns import nodes_of_many
from sfumato.engine.generalization.views import Demand
from sfumato.engine.table.combinations import marks_of
from sfumato.project.document.model import Document
from sfumato.project.release.release_compatibility import coarsening_at, crossing_views
from sfumato.project.release.table_survey import Survey
from sfumato.project.release.views import Coarsening, cell_costs, coarsening_of, quasi_identifiers

_MOST_ROWS: Final = 1 << 18
"""Of longer tables, nothing is searched while somebody waits."""


def sufficing_drop(examined: Examined, before: int) -> Remedy | None:
    """Return which columns to leave out so that nobody is unique; None where that is not found.

    Columns are kept one by one: those that are important, and of the others those that tell much
    for the classes they make. What a view shows more coarsely than the table stays.

    Parameters
    ----------
    examined
        For whom.
    before
        How many are unique today.
    """
    known = examined.columns
    own = [look for look in examined.shown if not look.view]
    if not own or known.table.rows > _MOST_ROWS:
        return None
    key = ("sufficing", frozenset(look.bare for look in examined.shown))
    names = known.keep(key, lambda: _dropped(examined))
    if not names or len(names) == len(examined.shown):
        return None
    figures = unique_then(before, 0)
    return Remedy(
        RemedyKind.DROP,
        Sentence("Drop {column}: {figures}", column=listed(names), figures=figures),
        names[0],
        before=before,
        after=0,
        columns=names,
    )


def made_quasi_identifiers(examined: Examined, columns: Sequence[str]) -> Remedy | None:
    """Return the remedy of columns that would have to be left out; None where there is no view.

    What it leaves unique is not said, since other columns may leave beside the classes.

    Parameters
    ----------
    examined
        For whom.
    columns
        Columns without which nobody is unique.
    """
    document = examined.document
    known = {*quasi_identifiers(document), *columns}
    if examined.recipient.view is None or not columns or len(known) > FEW_COLUMNS:
        return None
    if any(document.column(name).role is not Role.INSENSITIVE for name in columns):
        return None
    words = "Treat {columns} as {count:a quasi-identifier|quasi-identifiers} too"
    told = Sentence(words, columns=listed(columns), count=len(columns))
    return Remedy(RemedyKind.QUASI_IDENTIFIER, told, columns[0], columns=tuple(columns))


def randomised(examined: Examined, columns: Sequence[str], before: int) -> Remedy | None:
    """Return the remedy that measurements leave with noise, which would have to be left out.

    Nobody finds a record by what others hardly know and nobody sees as it is. What else would have
    to be left out still is. None where no column is a measurement.

    Parameters
    ----------
    examined
        For whom.
    columns
        Columns without which nobody is unique.
    before
        How many are unique today.
    """
    measured = tuple(name for name in columns if _is_measurement(examined, name))
    others = tuple(name for name in columns if name not in measured)
    if not measured:
        return None
    figures = unique_then(before, 0)
    known = {"columns": listed(measured), "count": len(measured), "figures": figures}
    words = (
        "Mark {columns} as sensitive, so that {count:it leaves|they leave} randomised: {figures}"
    )
    told = Sentence(words, **known)
    protecting = Remedy(
        RemedyKind.PROTECT, told, measured[0], before=before, after=0, columns=measured
    )
    if not others:
        return protecting
    words = (
        "Mark {columns} as sensitive, so that {count:it leaves|they leave} randomised, and drop"
        " {others}: {figures}"
    )
    told = Sentence(words, others=listed(others), **known)
    dropped = Remedy(RemedyKind.DROP, told, others[0], columns=others)
    both = (protecting, dropped)
    return replace(
        protecting, deed=RemedyKind.TOGETHER, words=told, columns=tuple(columns), parts=both
    )


def _is_measurement(examined: Examined, name: str) -> bool:
    """Return whether a column is one of numbers that others hardly know, by its role."""
    spec = examined.document.column(name)
    measured = spec.kind is Kind.NUMERIC and spec.binning is None
    return spec.role is Role.INSENSITIVE and measured


def with_quasi_identifiers(document: Document, source: Survey, columns: Sequence[str]) -> Document:
    """Return the document in which columns are quasi-identifiers, with proposed hierarchies."""
    for name in columns:
        spec = replace(document.column(name), role=Role.QUASI_IDENTIFIER)
        document = document.with_column(spec)
    return with_proposed_hierarchies(document, source)[0]


def _dropped(examined: Examined) -> tuple[str, ...]:
    known = examined.columns
    own = [look for look in examined.shown if not look.view]
    costs = [*cell_costs([look.name for look in own], examined.document.importance)]
    # Whoever a column's value singles out is unique beside whatever else is shown, so it tells
    # nothing that may stay. Most columns of a wide table need not be looked at any closer.
    nothing = np.zeros(known.table.rows, dtype=np.int8)
    quasi = [
        _all_or_nothing(look.name, nothing if known.singles_out(look) else known.codes(look))
        for look in own
    ]
    if coarsened := [look for look in examined.shown if look.view]:
        shown = [look.shown(known.table).rename(look.name) for look in coarsened]
        marks = pd.factorize(marks_of(shown, known.table.rows))[0]
        quasi.append(_all_or_nothing("", marks))
        # It stays, so it counts for more than all others.
        costs.append(1_000.0 * sum(costs))
    rows = DistinctRows.of(quasi, (0,) * len(quasi), known.units)
    nodes = nodes_of_many(rows, [Demand(2, 0.0)], [0], costs, Silent())
    if nodes is None or (coarsened and nodes[0][-1]):
        return ()
    return tuple(look.name for look, level in zip(own, nodes[0], strict=False) if level)


def _all_or_nothing(name: str, codes: npt.NDArray[np.integer]) -> QuasiIdentifier:
    """Return a column that is shown as it is, or not at all."""
    ground = codes
    if codes.min(initial=0) < 0:
        ground = np.where(codes < 0, np.int32(codes.max() + 1), codes)
    values = np.arange(int(ground.max(initial=0)) + 1)
    return QuasiIdentifier(name, ground, (values, np.zeros_like(values)))


def as_coarse_as_released(decided: Decided, coarsening: Coarsening | None) -> tuple[Remedy, ...]:
    """Return what shows each column as coarsely as every earlier release did; empty if in vain.

    Parameters
    ----------
    decided
        For whom, and what was released.
    coarsening
        Their view, which crosses an earlier one; None for quasi-identifiers as they are.
    """
    document, whose, releases = decided.document, decided.recipient.name, decided.releases
    earlier = [coarsening_at(each) for each in releases if each.counts and not each.is_publication]
    views = [view for view in (coarsening, *earlier) if view is not None]
    parts = list[Remedy]()
    try:
        for name in quasi_identifiers(document):
            level = max((view.level(name) for view in views), default=0)
            if level > (0 if coarsening is None else coarsening.level(name)):
                document, others = with_levels(document, whose, {name: level})
                raised = (RemedyKind.RAISE, "", name)
                parts.append(Remedy(*raised, recipient=whose, level=level, followed=others))
        view = coarsening_of(document, document.recipient(whose))
    except SfumatoError:
        return ()
    if not parts or crossing_views(document, None, document.source, whose, view, releases):
        return ()
    words = Sentence("{deeds}", deeds=said_together(parts))
    if len(parts) == 1:
        return (replace(parts[0], words=words),)
    names = tuple(one.column for one in parts)
    together = (RemedyKind.TOGETHER, words, names[0])
    return (Remedy(*together, columns=names, parts=tuple(parts)),)
