"""What recipients would see of an attribute's values, and what that tells, before any release.

What is released of some rows or of all is what a release would hold, made in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.analysis.utility.worth import ColumnWorth, columns_worth
from sfumato.analysis.utility.worth_figures import RecordsBehind, records_behind
from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import EstimationError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.values import Floats
from sfumato.engine.matrices.estimate import Target, estimate_frequencies, record_utility
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Adopted
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.combinations import combined, combined_column
from sfumato.engine.table.repeated_units import units_of
from sfumato.engine.table.table import Attribute, EncodedColumn, Table
from sfumato.project.adoption.rows import AdoptedReleaseReader, RowsToMatch
from sfumato.project.document.entry_plan import EntryPlan, plan_entry
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.byproducts import weight_column, weights_of
from sfumato.project.release.plan import RecordIds, Rows, record_ids_of, release_entry
from sfumato.project.release.release_columns import leaving_rows, material_with, plan_for
from sfumato.project.release.release_stream import drawn_groups
from sfumato.project.release.units import unit_ids_of

SAMPLE_ROWS = 200
CONFIDENCE_95 = 1.96

Positions = npt.NDArray[np.intp]


@dataclass(frozen=True)
class PreviewQuestion:
    """What is asked: a policy entry, and the recipient in sight.

    Parameters
    ----------
    document, table, keys
        Snapshots of the session's.
    entry
        The policy entry.
    columns
        The entry's attributes with their rows, by name.
    recipient
        Whose release is examined in full.
    folder
        The project's folder, where adopted files may have moved with it.
    places
        Where the table's rows stand in a longer one of which they are some, shape (n,); None
        where they are all.
    leaving
        Which of the rows leave, shape (k,), where that is known; else the rows themselves tell.
    rungs
        What earlier releases show of the rows, where that is known.
    """

    document: Document
    table: Table
    keys: KeyRing
    entry: PolicyEntry
    columns: Mapping[str, EncodedColumn]
    recipient: str
    folder: Path | None = None
    places: Positions | None = field(default=None, repr=False)
    leaving: Positions | None = field(default=None, repr=False)
    rungs: tuple[Adopted, ...] | None = field(default=None, repr=False)

    def rows_that_leave(self) -> Positions:
        """Return which rows leave, shape (k,); raises what `leaving_rows` does."""
        if self.leaving is not None:
            return self.leaving
        return leaving_rows(self.document, self.table, self.keys)

    def numbers_of(self, rows: Positions) -> tuple[int, ...]:
        """Return what number rows have in the whole table, from 1."""
        found = rows if self.places is None else self.places[rows]
        return tuple(int(row) + 1 for row in found)

    def record_ids(self, rows: Positions | None, context: Context) -> RecordIds:
        """Return the identifiers of rows, or of all; raises what `record_ids_of` does."""
        key, places = self.document.record_key, self.places
        if key is None and places is not None:
            rows = places if rows is None else places[rows]
        return record_ids_of(key, self.table, self.keys, context, rows)

    def with_groups_of(self, table: BatchedTable, context: Context) -> PreviewQuestion:
        """Return the same with what is dealt to the rows of groups, drawn from all rows in parts.

        Raises
        ------
        SfumatoError
            As a release does.
        """
        document, entry = self.document, self.entry
        summary = table.summary(document, Part(context, 0.0, 0.5), for_checks=False)
        material = material_with(document, summary.witnesses, summary.encoded)
        known = {attribute.name: attribute for attribute in self.attributes}
        level = plan_entry(document, entry, known, document.recipient(self.recipient))
        plan = plan_for(material, (level,), self.recipient)
        groups = {entry.key: summary.groups[entry.key]}
        found = drawn_groups(plan, self.keys, groups, table, Part(context, 0.5, 1.0))[entry.key]
        columns = {name: found.column(self.table, one) for name, one in self.columns.items()}
        return replace(self, columns=columns)

    def with_rungs_of(self, table: BatchedTable, context: Context) -> PreviewQuestion:
        """Return the same with what earlier releases show of the rows, matched in the longer table.

        Raises what `adopted` does.
        """
        assert self.places is not None
        found = self._rungs_in(table.to_match(context))
        return replace(self, rungs=tuple(one.at(self.places) for one in found))

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The entry's attributes."""
        return tuple(self.columns[name].attribute for name in self.entry.attributes)

    @cached_property
    def adopted(self) -> tuple[Adopted, ...]:
        """The earlier releases that the entry is fitted to, with all their rows.

        Raises
        ------
        AdoptionError
            If a file is gone, has changed, or does not match the table.
        """
        if self.rungs is not None:
            return self.rungs
        return self._rungs_in(RowsToMatch.of(self.table))

    def _rungs_in(self, table: RowsToMatch) -> tuple[Adopted, ...]:
        source = self.document.source
        folders = () if self.folder is None else (self.folder,)
        digest = "" if source is None else source.digest
        return AdoptedReleaseReader(table, folders, digest).of(
            self.entry.settings, self.attributes, Silent()
        )


def sample_positions(rows: int) -> Positions:
    """Return the positions of evenly spaced rows, at most `SAMPLE_ROWS`."""
    spaced = np.linspace(0, rows - 1, min(SAMPLE_ROWS, rows))
    return np.unique(spaced.round().astype(np.intp))


def released_of(
    question: PreviewQuestion,
    level: float,
    rows: Positions | None,
    context: Context,
    keys: KeyRing | None = None,
) -> Mapping[str, pd.Series]:
    """Return what is released at a level, by attribute.

    Parameters
    ----------
    question
        The policy entry and the table.
    level
        In the mechanism's unit.
    rows
        Which rows; all where None.
    context
        Progress and cancelling.
    keys
        Other keys than the question's: a release with noise of its own.
    """
    chosen = [question.columns[name] for name in question.entry.attributes]
    if rows is not None and any(column.groups is not None for column in chosen):
        # What a row shows depends on its whole group, so the whole table is released.
        whole = released_of(question, level, None, context, keys)
        return {name: column.iloc[rows] for name, column in whole.items()}
    entry, document, table = question.entry, question.document, question.table
    unit = document.unit
    once = unit is not None and unit.draws_once(entry.attributes)
    plan = EntryPlan(entry.attributes, entry.mechanism, entry.settings, {}, level, "", once)
    units = unit_ids_of(unit, table, question.keys) if once else None
    encoded, adopted = tuple(chosen), question.adopted
    if rows is not None:
        encoded = tuple(EncodedColumn(each.attribute, each.values[rows]) for each in chosen)
        adopted = tuple(one.at(rows) for one in adopted)
    asked = Rows(
        table,
        {column.attribute.name: column for column in encoded},
        question.record_ids(rows, context),
        {plan.key: adopted},
        units if units is None or rows is None else units[rows],
    )
    return release_entry(plan, asked, question.keys if keys is None else keys, context)


# ----- what is shown of values


@dataclass(frozen=True)
class UtilityData:
    """True shares and what a recipient estimates from a release.

    Parameters
    ----------
    names
        The domain's values, shape (m,).
    true, estimated
        Shares, shape (m,).
    low, high
        The ends of the estimates' intervals, shape (m,).
    confidence
        The intervals' confidence, e.g. 0.95.
    recipient
        Who gets the release.
    weight
        The column of sampling weights that the shares are estimated with; empty without any.
    """

    names: tuple[str, ...]
    true: Floats
    estimated: Floats
    low: Floats
    high: Floats
    confidence: float
    recipient: str
    weight: str = ""


@dataclass(frozen=True)
class SampleSeen:
    """What one recipient sees of the sample rows.

    Parameters
    ----------
    recipient
        The recipient.
    trust
        From 0 to 1.
    values
        The released values, as names.
    kept
        Whether each is the true one, shape (rows,).
    """

    recipient: str
    trust: float
    values: tuple[str, ...]
    kept: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Sample:
    """Some rows of one attribute, as they are and as each recipient sees them.

    Parameters
    ----------
    attribute
        Its name.
    rows
        The rows' numbers, from 1.
    true
        The true values, as names.
    seen
        Every recipient's view, the most trusted first.
    symbols
        Whether recipients see symbols in place of values.
    """

    attribute: str
    rows: tuple[int, ...]
    true: tuple[str, ...]
    seen: tuple[SampleSeen, ...]
    symbols: bool = False


@dataclass(frozen=True)
class EntryPreview:
    """Everything that is shown for one policy entry and recipient.

    Parameters
    ----------
    sample
        Before and after.
    domain
        The attribute's domain.
    frequencies
        The true shares, shape (m,).
    matrix
        The perturbation matrix; None where the mechanism has none for this domain, or its rows are
        symbols.
    utility
        True and estimated shares; None where nothing can be estimated.
    kept_share
        The expected share of records that show their true value; None where none shows a value.
    problem
        Why nothing can be estimated.
    worth
        What each column is worth to the recipient.
    """

    sample: Sample
    domain: Domain
    frequencies: npt.NDArray[np.float64]
    matrix: PerturbationMatrix | None
    utility: UtilityData | None
    kept_share: float | None
    problem: SfumatoError | None = None
    worth: tuple[ColumnWorth, ...] = ()


def compute_preview(question: PreviewQuestion, context: Context) -> EntryPreview:
    """Compute what the preview shows.

    Raises
    ------
    SfumatoError
        If the policy entry can't be applied to the table.
    """
    attribute = combined(question.attributes)
    domain = attribute.domain
    if domain is None:
        raise TypeError("the preview shows categorical attributes")
    sample = sample_of(question, domain, Part(context, 0.0, 0.2))
    plan = plan_entry(
        question.document,
        question.entry,
        {a.name: a for a in question.attributes},
        question.document.recipient(question.recipient),
    )
    mechanism = mechanism_called(plan.mechanism)
    matrix = mechanism.matrix(plan.level, question.attributes, plan.settings)
    if matrix is not None and matrix.size != domain.size:
        matrix = None
    frequencies = attribute.frequencies
    values = None if matrix is None or matrix.shows_symbols else matrix
    preview = EntryPreview(
        sample,
        domain,
        frequencies,
        values,
        utility=None,
        kept_share=record_utility(frequencies, values) if values is not None else None,
        worth=worth_of(question),
    )
    if matrix is None:
        return preview
    if question.places is not None and mechanism.needs_groups:
        return replace(preview, problem=_too_few_copies())
    return _with_estimates(question, plan, matrix, preview, context)


def _with_estimates(
    question: PreviewQuestion,
    plan: EntryPlan,
    matrix: PerturbationMatrix,
    preview: EntryPreview,
    context: Context,
) -> EntryPreview:
    """Return a preview with shares as recipients estimate them, or why they can't."""
    mechanism, domain = mechanism_called(plan.mechanism), preview.domain
    try:
        weighted = _weighted(question, plan, matrix, Part(context, 0.2, 1.0))
    except EstimationError as error:
        return replace(preview, problem=error)
    if weighted is not None:
        return replace(preview, utility=weighted)
    counts = _released_counts(question, plan.level, matrix.outcomes, Part(context, 0.2, 1.0))
    try:
        law = mechanism.estimate_law(plan.level, question.attributes, plan.settings)
        estimate = estimate_frequencies(counts, matrix, target=Target.TABLE, law=law)
    except EstimationError as error:
        return replace(preview, problem=error)
    true = preview.frequencies if question.places is None else _shares(question, domain.size)
    utility = UtilityData(
        domain.names,
        true,
        estimate.frequencies,
        estimate.low,
        estimate.high,
        estimate.confidence,
        question.recipient,
    )
    return replace(preview, utility=utility)


def worth_of(question: PreviewQuestion) -> tuple[ColumnWorth, ...]:
    """Return what the entry's columns are worth to the recipient; nothing where rows don't tell."""
    document, first = question.document, question.attributes[0]
    document = replace(document, policy=(question.entry,))
    if question.places is None:
        behind = records_behind(document, question.table)
    elif document.unit is not None or weight_column(document) is not None:
        return ()
    else:
        behind = RecordsBehind.of_rows(
            first.present if first.counts is None else int(first.counts.sum())
        )
    known = {attribute.name: attribute for attribute in question.attributes}
    return columns_worth(document, document.recipient(question.recipient), known, behind)[0]


def _too_few_copies() -> EstimationError:
    return EstimationError(
        "Records are released by groups, and some rows of a table that is read in parts tell too"
        " little of values that are copied within them.",
        "The policy says how well shares can be estimated from all rows.",
    )


def _shares(question: PreviewQuestion, size: int) -> Floats:
    """Return the values' shares in the question's rows, of which a release is estimated."""
    codes = np.asarray(true_codes(question))
    shares: Floats = np.bincount(codes, minlength=size) / len(codes)
    return shares


def _weighted(
    question: PreviewQuestion, plan: EntryPlan, matrix: PerturbationMatrix, context: Context
) -> UtilityData | None:
    """Return shares of the population as recipients estimate them; None without weights.

    Each released row is an unbiased guess of which value is true, a column of P⁻¹; its weighted
    mean and the error of that are those of the recipients' guide: both sampling and perturbation.
    """
    document, table = question.document, question.table
    attribute = combined(question.attributes)
    column, weights = weight_column(document), weights_of(document, table)
    mechanism = mechanism_called(plan.mechanism)
    law = mechanism.estimate_law(plan.level, question.attributes, plan.settings)
    if column is None or weights is None or attribute.domain is None or law is not None:
        return None
    left = question.rows_that_leave()
    codes = released_codes(question, plan.level, left, context)
    together = document.unit.most_rows if document.unit is not None and plan.by_unit else 1
    own = np.asarray(true_codes(question))
    true = np.bincount(own, weights, minlength=attribute.domain.size) / weights.sum()
    about = attribute.domain.names, true, question.recipient, column.name
    return weighted_shares(about, codes, weights[left], matrix, together)


def weighted_shares(
    about: tuple[tuple[str, ...], Floats, str, str],
    codes: npt.NDArray[np.unsignedinteger],
    weights: Floats,
    matrix: PerturbationMatrix,
    together: int,
) -> UtilityData:
    """Return shares of the population as they are estimated from released rows with weights.

    Parameters
    ----------
    about
        The values' names, their true shares, the recipient, and the column of weights.
    codes, weights
        What each row shows, and how many people it stands for, shape (n,).
    matrix
        By which values are replaced.
    together
        How many rows belong together at most.
    """
    names, true, recipient, column = about
    weight = weights / weights.sum()
    once, squared = (
        np.bincount(codes, weight**power, minlength=matrix.outcomes).astype(np.float64)
        for power in (1, 2)
    )
    estimated = matrix.solve(once)
    spread = matrix.apply_squared_inverse(squared) - 2 * estimated * matrix.solve(squared)
    rows = len(codes)
    variance = np.maximum(spread + estimated**2 * squared.sum(), 0.0) * rows / (rows - 1)
    half = CONFIDENCE_95 * np.sqrt(together * variance)
    low, high = estimated - half, estimated + half
    return UtilityData(names, true, estimated, low, high, 0.95, recipient, column)


def sample_of(question: PreviewQuestion, domain: Domain, context: Context) -> Sample:
    """Return evenly spaced rows as they are and as every recipient with a level sees them."""
    left = question.rows_that_leave()
    rows = left[sample_positions(len(left))]
    attribute = combined(question.attributes)
    true = np.asarray(true_codes(question))[rows]
    known = {a.name: a for a in question.attributes}
    seen: list[SampleSeen] = []
    symbols = None
    for recipient in question.document.recipients:
        context.report(len(seen) / len(question.document.recipients), "Releasing sample rows")
        try:
            plan = plan_entry(question.document, question.entry, known, recipient)
            released = released_codes(question, plan.level, rows, Silent())
        except SfumatoError:
            continue  # the policy says what is wrong with this recipient's level
        mechanism = mechanism_called(plan.mechanism)
        symbols = mechanism.shown_domain(question.attributes, plan.settings)
        names = tuple((symbols or domain).names[code] for code in released)
        same = released == true if symbols is None else np.zeros(len(true), dtype=np.bool_)
        seen.append(SampleSeen(recipient.name, mechanism.trust(plan.level), names, same))
    return Sample(
        attribute.name,
        question.numbers_of(rows),
        tuple(domain.names[code] for code in true),
        tuple(sorted(seen, key=lambda view: -view.trust)),
        symbols=symbols is not None,
    )


def _released_counts(
    question: PreviewQuestion, level: float, outcomes: int, context: Context
) -> npt.NDArray[np.int64]:
    """Return how often each value, or symbol, is released in the whole table, shape (outcomes,).

    Where rows belong to units: of as many units, or of the rows that leave.
    """
    codes = released_codes(question, level, _drawn(question), context)
    return np.bincount(codes, minlength=outcomes).astype(np.int64)


def _drawn(question: PreviewQuestion) -> Positions | None:
    """Return the rows whose draws count: one of a unit, or those that leave; None for all."""
    document, table = question.document, question.table
    if document.unit is None:
        return None
    if document.unit.draws_once(question.entry.attributes):
        return np.unique(units_of(table, document.unit.columns), return_index=True)[1]
    return question.rows_that_leave()


def released_codes(
    question: PreviewQuestion, level: float, rows: Positions | None, context: Context
) -> npt.NDArray[np.unsignedinteger]:
    """Return the codes that are released of the entry's attribute, or of its combinations.

    Of some rows, or of all where `rows` is None.
    """
    released = released_of(question, level, rows, context)
    mechanism = mechanism_called(question.entry.mechanism)
    return mechanism.shown_codes(question.attributes, released, question.entry.settings)


def true_codes(question: PreviewQuestion) -> npt.NDArray[np.generic]:
    """Return the true codes of the entry's attribute, or of its combinations, shape (n,)."""
    columns = [question.columns[name] for name in question.entry.attributes]
    return combined_column(columns).values
