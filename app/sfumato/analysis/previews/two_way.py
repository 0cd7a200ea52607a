"""The two-way table of a protected category and a second column, as a recipient estimates it.

Two columns whose rows are drawn independently are released through the product of their matrices,
P₁ ⊗ P₂: the shares of their combinations follow from those that are released as any attribute's do
(`sfumato.engine.matrices.estimate`). A column that leaves unperturbed has the identity for P₂.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Final, cast

import numpy as np
import pandas as pd

from sfumato.analysis.coarsening.view_checks import shown_to
from sfumato.analysis.previews.previewed_values import (
    Positions,
    PreviewQuestion,
    UtilityData,
    released_codes,
    true_codes,
    weighted_shares,
)
from sfumato.analysis.shown_columns import LeavingColumns, look_of
from sfumato.engine.core.columns import Codes, ColumnSpec, Kind, Role
from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Floats
from sfumato.engine.matrices.estimate import Target, estimate_frequencies
from sfumato.engine.matrices.matrix import DenseMatrix
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.combinations import combined, combined_codes
from sfumato.engine.table.table import Table, encode_column
from sfumato.project.document.entry_plan import plan_entry
from sfumato.project.document.model import PolicyEntry
from sfumato.project.release.byproducts import weight_column, weights_of
from sfumato.project.release.release_columns import material_of

MOST_CELLS: Final = 600
"""So many combinations of values are estimated at most: of more, few records are in each."""


@dataclass(frozen=True)
class _Side:
    """One of the two columns: its values, what is released of the rows, and by which matrix."""

    names: tuple[str, ...]
    true: Codes
    released: Codes
    entries: Floats


@dataclass(frozen=True)
class TwoWayTables:
    """What a recipient can estimate of an entry's values together with those of other columns.

    Parameters
    ----------
    question
        The policy entry, and the recipient in sight.
    beside
        The columns, or entries, that a table can be made with.
    """

    question: PreviewQuestion = field(repr=False)
    beside: tuple[str, ...]

    @classmethod
    def of(cls, question: PreviewQuestion) -> TwoWayTables:
        """Return the tables that can be made of an entry; none where rows are drawn together."""
        return cls(question, _columns_beside(question))

    def table(self, name: str, context: Context) -> UtilityData:
        """Return the true and the estimated share of each combination of values.

        Parameters
        ----------
        name
            One of `beside`.
        context
            Progress and cancelling.

        Raises
        ------
        SfumatoError
            If the shares can't be estimated.
        """
        question = self.question
        left = question.rows_that_leave()
        entries = {entry.key: entry for entry in question.document.policy}
        first = _randomised(question, left, Part(context, 0.0, 0.4))
        if name in entries:
            other = _other_question(question, entries[name])
            second = _randomised(other, left, Part(context, 0.4, 0.8))
            drawn = [question.entry, other.entry]
        else:
            second, drawn = _unperturbed(question, name, left), [question.entry]
        cells = len(first.names) * len(second.names)
        if cells > MOST_CELLS:
            raise EstimationError(
                "The two columns have {count} {count:combination|combinations} of values; a table"
                " shows {most} at most.",
                "Choose a column with fewer values.",
                count=cells,
                most=MOST_CELLS,
            )
        context.report(0.8, "Estimating the table")
        return _estimated(question, first, second, left, drawn)


def _estimated(
    question: PreviewQuestion,
    first: _Side,
    second: _Side,
    left: Positions,
    drawn: Sequence[PolicyEntry],
) -> UtilityData:
    """Return the shares of combinations, with intervals by unit where a unit shows one draw."""
    document = question.document
    sizes = [len(first.names), len(second.names)]
    matrix = DenseMatrix(np.kron(first.entries, second.entries).astype(np.float64))
    released = combined_codes([first.released, second.released], sizes)
    true = combined_codes([first.true, second.true], sizes)
    names = tuple(f"{one} · {other}" for one in first.names for other in second.names)
    unit = document.unit
    weight, weights = weight_column(document), weights_of(document, question.table)
    if weight is not None and weights is not None:
        together, people = 1 if unit is None else unit.most_rows, weights[left]
        shares = np.bincount(true, people, minlength=matrix.size) / people.sum()
        about = names, shares, question.recipient, weight.name
        return weighted_shares(about, released, people, matrix, together)
    once = unit is not None and any(unit.draws_once(one.attributes) for one in drawn)
    # Rows that share a draw tell more than one of them: at worst, no more.
    together = unit.most_rows if unit is not None and once else 1
    counts = np.bincount(released, minlength=matrix.size) / together
    estimate = estimate_frequencies(counts, matrix, target=Target.TABLE)
    return UtilityData(
        names,
        np.bincount(true, minlength=matrix.size) / len(true),
        estimate.frequencies,
        estimate.low,
        estimate.high,
        estimate.confidence,
        question.recipient,
    )


def _columns_beside(question: PreviewQuestion) -> tuple[str, ...]:
    """Return the columns a table can be made with: other entries, then what leaves unperturbed."""
    document, recipient = question.document, question.document.recipient(question.recipient)
    in_parts = question.places is not None
    if mechanism_called(question.entry.mechanism).needs_groups:
        return ()
    entries = [
        entry.key
        for entry in document.policy
        if entry.key != question.entry.key
        and entry.key in recipient.statements
        and not in_parts
        and not mechanism_called(entry.mechanism).needs_groups
        and all(_is_category(document.column(name)) for name in entry.attributes)
    ]
    coarsened = recipient.view is not None
    open_names = [
        spec.name
        for spec in document.columns
        if spec.name != document.record_key
        and (
            (spec.role is Role.INSENSITIVE and _is_category(spec))
            or (
                spec.role is Role.QUASI_IDENTIFIER
                # Of some rows alone a view can't be told.
                and ((coarsened and not in_parts) or (not coarsened and _is_category(spec)))
            )
        )
    ]
    return (*entries, *open_names)


def _is_category(spec: ColumnSpec) -> bool:
    return spec.kind is Kind.CATEGORICAL or spec.binning is not None


def _other_question(question: PreviewQuestion, entry: PolicyEntry) -> PreviewQuestion:
    """Return what is asked of another entry for the same recipient."""
    encoded = material_of(question.document, question.table).encoded
    columns = {name: encoded[name] for name in entry.attributes}
    return replace(question, entry=entry, columns=columns, rungs=None)


def _randomised(question: PreviewQuestion, left: Positions, context: Context) -> _Side:
    """Return an entry's values as they are and as they are released."""
    document, attributes = question.document, question.attributes
    known = {attribute.name: attribute for attribute in attributes}
    plan = plan_entry(document, question.entry, known, document.recipient(question.recipient))
    mechanism, domain = mechanism_called(plan.mechanism), combined(attributes).domain
    matrix = mechanism.matrix(plan.level, attributes, plan.settings)
    law = mechanism.estimate_law(plan.level, attributes, plan.settings)
    if matrix is None or domain is None or law is not None or matrix.shows_symbols:
        raise EstimationError(
            "No table can be estimated with {column}: its values are not replaced row by row.",
            "Choose another column.",
            column=question.entry.key,
        )
    if matrix.size > MOST_CELLS:
        raise _too_many(question.entry.key, matrix.size)
    released = released_codes(question, plan.level, left, context)
    true = cast(Codes, np.asarray(true_codes(question))[left])
    return _Side(domain.names, true, released, matrix.dense())


def _unperturbed(question: PreviewQuestion, name: str, left: Positions) -> _Side:
    """Return a column's values as the recipient sees them, in the rows that leave."""
    document, recipient = question.document, question.document.recipient(question.recipient)
    spec = document.column(name)
    if recipient.view is not None and spec.role is Role.QUASI_IDENTIFIER:
        columns = LeavingColumns(question.table, question.keys).of(document)
        looks = {look.name: look for look in shown_to(document, recipient, columns)}
        series = looks[name].shown(columns.table)
    else:
        series = look_of(spec).shown(question.table).iloc[left]
    kept = pd.DataFrame({name: series.reset_index(drop=True)})
    assert len(kept) == len(left)
    if kept[name].nunique() > MOST_CELLS:
        raise _too_many(name, int(kept[name].nunique()))
    found = encode_column(Table(kept), ColumnSpec(name, kind=Kind.CATEGORICAL))
    domain, codes = found.attribute.domain, cast(Codes, found.values)
    assert domain is not None
    return _Side(domain.names, codes, codes, np.eye(domain.size))


def _too_many(column: str, values: int) -> EstimationError:
    return EstimationError(
        "{column} has {count} {count:value|values}, too many for a table.",
        "Choose another column.",
        column=column,
        count=values,
    )
