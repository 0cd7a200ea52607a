"""Verifying a generalized table: its rows are made again, and its promises computed from them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from secrets import token_bytes
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence, as_sentence, listed
from sfumato.engine.generalization.checker import PublicationCheck, PublishedRows
from sfumato.engine.mechanisms.base import Check
from sfumato.engine.randomness.keys import SECRET_BYTES, KeyRing
from sfumato.formats.bundles.contents import BundleError
from sfumato.formats.bundles.reading import Bundle, data_batches
from sfumato.formats.table_format import RowStream
from sfumato.project.document.generalization import Generalization, criteria_asked
from sfumato.project.document.model import Document, from_plain
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.project_file import ProjectFile
from sfumato.project.publication.followed import FOLLOWED, FollowedEditions, publications_in
from sfumato.project.publication.generalization_pipeline import prepare, published_rows
from sfumato.project.publication.prepared import (
    ClassedRows,
    Prepared,
    PromisedRows,
    decided_in,
)
from sfumato.project.publication.publish import hierarchies_digest, rows_made
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.bucket_counts import RowsUnits, columns_of
from sfumato.project.verification.compared import (
    BundleComparison,
    all_rows_within,
    compared_rows,
    unescaped_texts,
)


def check_publication(
    project: ProjectFile,
    table: BatchedTable,
    bundle: Bundle,
    record: ReleaseRecord,
    folder: Path,
    context: Context,
) -> tuple[Check, ...]:
    """Check a bundle against the publication that the ledger knows it as.

    Its rows are compared with the table made again, and its promises are computed anew from
    its own rows.

    Parameters
    ----------
    project, table
        The project, and its source table.
    bundle, folder
        The bundle, and where its files are.
    record
        The publication of the ledger that it was recognised as.
    context
        Progress and cancelling.

    Raises
    ------
    BundleError
        If the data can't be read.
    """
    try:
        return _checks(project, table, bundle, record, folder, context)
    except BundleError:
        raise
    except SfumatoError as error:
        told = error.sentence
        return (Check("Table", False, Sentence("It can't be made again. {error}", error=told)),)


def _checks(
    project: ProjectFile,
    table: BatchedTable,
    bundle: Bundle,
    record: ReleaseRecord,
    folder: Path,
    context: Context,
) -> tuple[Check, ...]:
    """Compare all rows; see `check_publication`."""
    if record.details.get(FOLLOWED, {}).get("edition", 1) > 1:
        return _checks_of_edition(project, bundle, record, folder)
    document, facts = _published_by(record, project.document)
    prepared, room = prepare(document, table, Part(context, 0.0, 0.4)), table.folder
    comparing, rest = Part(context, 0.4, 0.9), Part(context, 0.9, 1.0)
    with ExitStack() as stack:
        promises = _Promises(bundle, prepared, stack)
        if hierarchies_digest(prepared.hierarchies) != facts["hierarchies"]:
            none = RowStream(0, lambda *_: iter([]))
            compared_rows(none, bundle, folder, room, comparing, counts=promises)
            said = "It can't be made again: a hierarchy is not what it was when it was published."
            return (promises.check(False), Check("Table", False, said))
        made = published_rows(prepared, tuple(facts["levels"]))
        keys, in_table = KeyRing(token_bytes(SECRET_BYTES)), bool(record.rows_as_in_table)
        again = rows_made(made, project.keys, record.release_id, in_table, whose=keys)[1]
        both = (again, bundle, folder, room)
        together = (made.columns,)
        comparison = compared_rows(*both, comparing, together=together, counts=promises)
        kept = promises.check(comparison.whole and document.unit is not None)
        same = comparison.whole and comparison.all_alike
        within = not same and all_rows_within(*both, rest)
    return (kept, _check_rows(list(bundle.table.columns), made, comparison, within))


def _checks_of_edition(
    project: ProjectFile, bundle: Bundle, record: ReleaseRecord, folder: Path
) -> tuple[Check, ...]:
    """Compare an edition that follows others with what the ledger has of all of them.

    No row of a source table is a row of it.
    """
    document, facts = _published_by(record, project.document)
    sensitive, quasi = facts["sensitive"], facts["quasi_identifiers"]
    rows, names = PublishedRows(quasi, sensitive), [*quasi, sensitive]
    for batch in data_batches(folder / bundle.descriptor.data_name, bundle.descriptor):
        frame = columns_of(batch, [name for name in names if name in batch.schema.names]).frame
        rows.add(frame.apply(unescaped_texts) if bundle.descriptor.escaped else frame)
    kept = promises_kept(rows.checked(criteria_asked(decided_in(document))), False)
    until = [each for each in publications_in(project.releases) if each.number <= record.number]
    domain = document.column(sensitive).domain
    texts = {} if domain is None else dict(zip(domain.values, domain.names, strict=True))
    shown = {
        labels: {texts.get(value, str(value)): count for value, count in own.items()}
        for labels, own in rows.labelled("").classes.items()
    }
    entered = {
        tuple("(missing)" if label is None else str(label) for label in labels): dict(own)
        for labels, own in FollowedEditions.of(until).counts.items()
    }
    if shown != entered:
        said = "Its records are not those that entered until this edition."
        return (kept, Check("Table", False, said))
    number = sum(sum(own.values()) for own in shown.values())
    told = "All {rows:,} {rows:record is|records are} of those that entered until this edition."
    return (kept, Check("Table", True, Sentence(told, rows=number)))


def _check_rows(
    columns: list[str], made: ClassedRows, comparison: BundleComparison, within: bool
) -> Check:
    """Check the rows against those of the table made again, `within` which all may be."""
    title, found, rows = "Table", comparison.found, comparison.leaving
    if columns != list(made.columns):
        return Check(title, False, "Its columns are not those that were published.")
    if comparison.whole and comparison.all_alike:
        said = "All {rows:,} {rows:row is the one that was|rows are those that were} published."
        return Check(title, True, Sentence(said, rows=rows))
    if within:
        what = "in another order" if found == rows else "but not all of them"
        return Check.failed(title, "Its rows are those that were published, {what}.", what=what)
    if found != rows:
        said = "It has {found:,} {found:row|rows}; {made:,} {made:was|were} published."
        return Check(title, False, Sentence(said, found=found, made=rows))
    difference = comparison.differing[made.columns].sentence
    said = "They are not those published: {difference}."
    return Check(title, False, Sentence(said, difference=difference))


def _published_by(record: ReleaseRecord, today: Document) -> tuple[Document, dict[str, Any]]:
    """Return what a publication was made by, and what the ledger keeps of its generalization."""
    facts: dict[str, Any] = record.details["generalization"]
    decided = replace(from_plain(Generalization, facts["decided"]), node=None)
    return replace(record.policy or today, generalization=decided), facts


class _Promises:
    """Counts a bundle's own rows, by which what was promised is checked."""

    def __init__(self, bundle: Bundle, prepared: Prepared, stack: ExitStack) -> None:
        decided = prepared.decided
        self._names = (*decided.quasi_identifiers, decided.sensitive)
        self._escaped = bundle.descriptor.escaped
        self._by_unit = prepared.document.unit is not None
        self._rows = PromisedRows(prepared, stack)
        self._problem: SfumatoError | None = None

    def add(self, shown: pa.RecordBatch, whose: pa.Array | None = None) -> None:
        """Count rows, of these units where they are known."""
        frame = columns_of(shown, [n for n in self._names if n in shown.schema.names]).frame
        if self._escaped:
            frame = frame.apply(unescaped_texts)
        numbers = np.zeros(len(shown), dtype=np.uint64) if whose is None else whose.to_numpy()
        units = RowsUnits(numbers, np.zeros(len(shown), dtype=np.int64))
        try:
            self._rows.add(frame, units)
        except SfumatoError as error:
            self._problem = error.with_traceback(None)

    def check(self, by_unit: bool) -> Check:
        """Return what was found; units are counted where it is known whose all rows are."""
        try:
            if self._problem is not None:
                raise self._problem
            found = self._rows.checked(by_unit)
        except SfumatoError as error:
            return Check("Promises", False, error.sentence)
        return promises_kept(found, self._by_unit and not by_unit)


def promises_kept(found: PublicationCheck, in_records: bool) -> Check:
    """Say whether rows keep what was promised; units may have been counted `in_records` only."""
    title = "Promises"
    failing = [as_sentence(c.criterion.title) for c in found.criteria if not c.holds]
    if failing:
        return Check(title, False, Sentence("Its rows don't keep {names}.", names=listed(failing)))
    kept = listed([as_sentence(c.criterion.title) for c in found.criteria])
    said = "Its {rows:,} {rows:row|rows} in {classes:,} {classes:class|classes} keep {kept}."
    if in_records:
        said = (
            "Its {rows:,} {rows:row|rows} in {classes:,} {classes:class|classes} keep {kept}, k"
            " counted in records only."
        )
    detail = {"rows": found.rows, "classes": found.classes, "kept": kept}
    return Check(title, True, Sentence(said, **detail))
