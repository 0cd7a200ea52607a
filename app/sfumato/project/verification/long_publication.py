"""Verifying a generalized table against a source table that is too long for memory."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from secrets import token_bytes

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms.base import Check
from sfumato.engine.randomness.keys import SECRET_BYTES, KeyRing
from sfumato.formats.bundles.reading import Bundle
from sfumato.formats.formulas import unescaped
from sfumato.project.project_file import ProjectFile
from sfumato.project.publication.classed_rows import ClassedRows
from sfumato.project.publication.counting import PromisedRows
from sfumato.project.publication.generalization_pipeline import prepare, published_rows
from sfumato.project.publication.prepared import Prepared
from sfumato.project.publication.publish import hierarchies_digest, rows_made
from sfumato.project.release.long_counts import RowsUnits, columns_of
from sfumato.project.release.long_table import LongTable
from sfumato.project.verification.long_comparison import Compared, compared_rows
from sfumato.project.verification.recognition import Match
from sfumato.project.verification.verify import (
    all_published,
    other_number,
    promises_kept,
    published_by,
)


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
            frame = frame.apply(_unescaped)
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
            return Check("Promises", False, str(error))
        return promises_kept(found, self._by_unit and not by_unit)


def check_long_publication(
    project: ProjectFile,
    table: LongTable,
    bundle: Bundle,
    match: Match,
    folder: Path,
    context: Context,
) -> tuple[Check, ...]:
    """Check a bundle in a folder as `check_publication` does, against a table of any length."""
    record = match.record
    assert record is not None
    document, facts = published_by(record, project.document)
    try:
        prepared = prepare(document, table, Part(context, 0.0, 0.4))
        made = published_rows(prepared, tuple(facts["levels"]))
        if hierarchies_digest(prepared.hierarchies) != facts["hierarchies"]:
            finding = (
                "It can't be made again: a hierarchy is not what it was when it was published."
            )
            return (Check("Table", False, finding),)
        with ExitStack() as stack:
            promises = _Promises(bundle, prepared, stack)
            keys = KeyRing(token_bytes(SECRET_BYTES))
            in_table = bool(record.rows_as_in_table)
            again = rows_made(made, project.keys, record.release_id, in_table, whose=keys)[1]
            part = Part(context, 0.4, 1.0)
            compared = compared_rows(again, bundle, folder, table.folder, part, promises)
            aligned = compared.found == compared.rows == made.rows
            kept = promises.check(aligned and document.unit is not None)
    except (SfumatoError, pa.ArrowException) as error:
        told = str(error) if isinstance(error, SfumatoError) else "Its values are of other types."
        return (Check("Table", False, Sentence("It can't be made again. {error}", error=told)),)
    return (kept, _check_rows(bundle, made, compared))


def _check_rows(bundle: Bundle, made: ClassedRows, compared: Compared) -> Check:
    """Check the rows against those of the table made again."""
    if [field.column for field in bundle.descriptor.fields] != list(made.columns):
        return Check("Table", False, "Its columns are not those that were published.")
    if compared.found != made.rows:
        return other_number(compared.found, made.rows)
    differing = [name for name, (count, _) in compared.differing.items() if count]
    if not differing:
        return all_published(made.rows)
    told = "; ".join(f"{name}: {compared.sentence(name)}" for name in differing)
    finding = Sentence("They are not those published: {difference}.", difference=told)
    return Check("Table", False, finding)


def _unescaped(column: pd.Series) -> pd.Series:
    """Return texts as they were before they were escaped."""
    if pd.api.types.is_numeric_dtype(column.dtype) and not isinstance(
        column.dtype, pd.CategoricalDtype
    ):
        return column
    return column.map(lambda value: unescaped(value) if isinstance(value, str) else value)
