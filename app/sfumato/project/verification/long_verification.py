"""Verifying a bundle against a table that is too long for memory.

The release is made again, in its own order, and compared with the bundle's data file row by row,
while both are read. A bundle is recognised by its digest or its identifier, and not by its values.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_bytes
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms.base import Check
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey, KeyRing
from sfumato.engine.table.combinations import Marks, value_marks
from sfumato.formats.bundles.reading import Bundle, data_batches, read_long_bundle
from sfumato.formats.errors import FileError
from sfumato.formats.formulas import rows_with_escapes, unescaped
from sfumato.formats.table_format import BATCH_ROWS, RowStream
from sfumato.project.adoption.rows import Rungs
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.document.model import Document
from sfumato.project.project_file import ProjectFile
from sfumato.project.publication.generalization_pipeline import prepare, published_rows
from sfumato.project.publication.prepared import ClassedRows, Prepared, PromisedRows
from sfumato.project.publication.publish import hierarchies_digest, rows_made
from sfumato.project.release.long_counts import (
    Buckets,
    RowsUnits,
    class_sizes,
    columns_of,
    put_marks,
    series_of,
)
from sfumato.project.release.long_leaving import leaving_rows
from sfumato.project.release.long_release import UNIT, drawn_groups, stream_of
from sfumato.project.release.long_table import LongTable
from sfumato.project.release.long_views import long_view
from sfumato.project.release.prepared import recall_summary
from sfumato.project.release.regenerate import PartOf, Regenerator
from sfumato.project.release.release_columns import material_with, plan_for
from sfumato.project.verification.chain import check_strangers, ladder_check, values_check
from sfumato.project.verification.recognition import Match, known_release
from sfumato.project.verification.rows import (
    check_shown_columns,
    check_smallest,
    differing_rows,
    records_check,
    unperturbed_check,
)
from sfumato.project.verification.verify import (
    VerificationReport,
    all_published,
    check_known_facts,
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
            return Check("Promises", False, error.sentence)
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
        told = _told(error)
        return (Check("Table", False, Sentence("It can't be made again. {error}", error=told)),)
    return (kept, _check_rows(bundle, made, compared))


def _told(error: Exception) -> Sentence:
    """Return why rows can't be made again or compared."""
    if isinstance(error, SfumatoError):
        return error.sentence
    return Sentence("Its values are of other types.")


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


class CountsRows(Protocol):
    """What a bundle's own rows are counted by."""

    def add(self, shown: pa.RecordBatch, whose: pa.Array | None = None) -> None:
        """Count rows, of these units where they are known."""


@dataclass
class Compared:
    """How a bundle's rows stand to those of the release made again.

    Parameters
    ----------
    found
        How many rows the bundle has.
    rows
        How many were compared, from the first on.
    differing
        For each column that both have, how many rows differ, and the first of them, from 1.
    counts
        Counts the bundle's own rows, too; None where nothing is asked of these.
    """

    found: int = 0
    rows: int = 0
    differing: dict[str, tuple[int, int]] = field(default_factory=dict)
    counts: CountsRows | None = None

    def see(self, shown: pa.RecordBatch, whose: pa.Array | None = None) -> None:
        """Count rows of the bundle, of these units where they are known."""
        self.found += len(shown)
        if self.counts is not None and len(shown):
            self.counts.add(shown, whose)

    def add(self, made: pa.RecordBatch, shown: pa.RecordBatch) -> None:
        """Compare as many rows of both."""
        whose = None
        if UNIT in made.schema.names:
            whose, made = made[UNIT], made.drop_columns(UNIT)
        self.see(shown, whose)
        for name in made.schema.names:
            if name in shown.schema.names:
                differ = np.flatnonzero(_differ(made[name], shown[name]))
                count, first = self.differing.get(name, (0, 0))
                if len(differ) and not count:
                    first = self.rows + int(differ[0]) + 1
                self.differing[name] = count + len(differ), first
        self.rows += len(made)

    def sentence(self, name: str) -> str:
        """Say how many rows of a column differ, and which is the first."""
        count, first = self.differing[name]
        return differing_rows(count, self.rows, first)


def compared_rows(
    again: RowStream,
    bundle: Bundle,
    folder: Path,
    room: Path,
    context: Context,
    counts: CountsRows | None,
) -> Compared:
    """Compare a bundle's rows with those made again, in whatever batches both come."""
    descriptor = bundle.descriptor
    if descriptor.escaped:
        again = rows_with_escapes(again)
    shown = data_batches(folder / descriptor.data_name, descriptor)
    found, held = Compared(counts=counts), pa.record_batch({})
    names = [field.column for field in descriptor.fields]
    for made in again.blocks(BATCH_ROWS, context, room):
        called = made.rename_columns(_called(made.schema.names, bundle))
        done = 0
        while done < len(called):
            if not len(held):
                held = next(shown, held)
                if not len(held):
                    break
            count = min(len(held), len(called) - done)
            found.add(called.slice(done, count), held.slice(0, count).select(names))
            held, done = held.slice(count), done + count
    for batch in itertools.chain([held], shown):
        found.see(batch.select(names) if len(batch) else batch)
    return found


def _called(names: Sequence[str], bundle: Bundle) -> list[str]:
    """Return how a release's columns are called, whether their names are escaped or not."""
    return [unescaped(name) if bundle.descriptor.escaped else name for name in names]


def _differ(made: pa.Array, shown: pa.Array) -> npt.NDArray[np.bool_]:
    """Return in which rows two arrays differ, shape (n,); an empty text is a missing value."""
    if _is_coded(made) and _is_coded(shown):
        return np.not_equal(_codes_of(made, shown), _codes_of(shown, shown))
    if pa.types.is_dictionary(made.type):
        made = made.dictionary_decode()
    if pa.types.is_dictionary(shown.type):
        shown = shown.dictionary_decode()
    if made.type != shown.type:
        try:
            made = made.cast(shown.type)
        except pa.ArrowException:
            made, shown = made.cast(pa.string()), shown.cast(pa.string())
    if pa.types.is_string(made.type):
        made, shown = (pc.if_else(pc.equal(each, ""), None, each) for each in (made, shown))
    unlike = pc.fill_null(pc.not_equal(made, shown), False)
    either = pc.xor(pc.is_null(made), pc.is_null(shown))
    found: npt.NDArray[np.bool_] = pc.or_(unlike, either).to_numpy(zero_copy_only=False)
    return found


def _is_coded(values: pa.Array) -> bool:
    kind = values.type
    return bool(pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type))


def _codes_of(values: pa.DictionaryArray, among: pa.DictionaryArray) -> npt.NDArray[np.int64]:
    """Return where texts stand among others: -1 where nowhere, -2 where missing or empty."""
    texts = values.dictionary
    places = pc.index_in(texts, value_set=among.dictionary).fill_null(-1)
    nothing = pc.fill_null(pc.equal(texts, ""), True).to_numpy(zero_copy_only=False)
    codes = np.append(np.where(nothing, -2, places.to_numpy()), -2)
    found: npt.NDArray[np.int64] = codes[values.indices.fill_null(-1).to_numpy()]
    return found


def verify_long(
    project: ProjectFile, table: LongTable, folder: Path, context: Context
) -> VerificationReport:
    """Examine a bundle in a folder as `verify_bundle` does, against a table of any length."""
    try:
        bundle = read_long_bundle(folder, Part(context, 0.0, 0.1))
    except FileError as error:
        return VerificationReport((Check("Files", False, error.sentence),))
    match = known_release(bundle, project.releases)
    examined = check_known_facts(project, table.rows, bundle, match)
    record = match.record
    if record is None:
        return VerificationReport(examined)
    document = record.policy or project.document
    if record.is_publication:
        found = check_long_publication(project, table, bundle, match, folder, Part(context, 0.1, 1))
        return VerificationReport((*examined, *found), record, match.recipient)
    table = leaving_rows(table, document, project.keys, Part(context, 0.1, 0.2))
    recall_summary(project.remembered, replace(document, source=project.document.source), table)
    table.for_release(document, Part(context, 0.2, 0.3), for_checks=False)  # is kept
    regenerator = _regenerator(project, table, document)
    try:
        by_unit = match.view is not None and table.units is not None
        again = _made_again(project, table, match, regenerator, Part(context, 0.3, 0.4))
        rest = Part(context, 0.4, 1.0)
        with ExitStack() as stack:
            classes = _classes_in(bundle, match, table, stack)
            compared = compared_rows(again, bundle, folder, table.folder, rest, classes)
            by_unit = by_unit and compared.found == compared.rows == table.rows
            smallest = None if classes is None else classes.smallest(compared.found, by_unit)
    except (SfumatoError, pa.ArrowException) as error:
        told = _told(error)
        finding = Sentence("It can't be compared. {error}", error=told)
        checks = (*examined, Check("Records", False, finding))
        return VerificationReport(checks, record, match.recipient)
    checks = (
        *examined,
        records_check(compared.found, table.rows, table.units is not None),
        *check_shown_columns(bundle, match, regenerator),
        _check_unperturbed(compared, match),
    )
    if match.view is not None and classes is not None and smallest is not None:
        k, what = match.view.own.k, Sentence("units" if by_unit else "records")
        checks += (check_smallest(classes.names, smallest, k, what),)
    for entry in match.plans:
        obstacle = regenerator.obstacle(entry)
        checks += (
            *_check_entry(entry, compared, obstacle),
            *check_strangers(entry, project.releases),
        )
    context.report(1.0, "Verified")
    return VerificationReport(checks, record, match.recipient)


def _made_again(
    project: ProjectFile,
    table: LongTable,
    match: Match,
    regenerator: Regenerator,
    context: Context,
) -> RowStream:
    """Return the rows of a release, to be made again by the policy that it was made by.

    What can't be made again is left out.
    """
    assert match.record is not None
    document, record = regenerator.document, match.record
    summary = table.for_release(document, Part(context, 0.0, 0.5), for_checks=False)
    material = material_with(document, summary.witnesses, summary.encoded)
    entries = [each for each in match.plans if not regenerator.obstacle(each)]
    left_out = {n for each in match.plans if each not in entries for n in each.attributes}
    plan = plan_for(material, entries, match.recipient, match.view)
    plan = replace(
        plan,
        released=tuple(name for name in plan.released if name not in left_out),
        release_id=record.release_id,
        rows_as_in_table=bool(record.rows_as_in_table),
    )
    seen = None
    if match.view is not None:
        seen = long_view(table, material.document.columns, match.view, Part(context, 0.5, 0.75))
    drawing = Part(context, 0.75, 1.0)
    groups = drawn_groups(plan, project.keys, summary.groups, table, drawing)
    adopted = {each.key: regenerator.rungs_of(each) for each in entries}
    releaser = plan.bind(project.keys, seen, True, groups, adopted, placed=True)
    units, whose = table.units, None
    if match.view is not None and units is not None:

        def whose(batch: pa.RecordBatch, rows: npt.NDArray[np.int64]) -> Marks:
            return units.of(batch, rows).units

    return stream_of(releaser, table, whose)


def _regenerator(project: ProjectFile, table: LongTable, document: Document) -> Regenerator:
    """Return what tells whether policy entries can be made again, by rows of every sort."""
    summary = table.for_release(document, Silent(), for_checks=False)
    grouped = {n: each for n, each in summary.encoded.items() if each.attribute.groups is not None}
    rungs = Rungs(table.to_match(Silent()), (project.path.parent,))
    part_of = PartOf(summary.places, rungs)
    given = (document, summary.witnesses, project.keys, (), project.document, grouped)
    return Regenerator(*given, part_of)


class ShownClasses:
    """Counts the classes of some columns in a bundle's rows.

    Parameters
    ----------
    names
        The columns.
    buckets
        Take hashed marks of the rows under a key that nobody keeps.
    by_unit
        Whether rows belong to units.
    """

    def __init__(self, names: Sequence[str], buckets: Buckets, by_unit: bool) -> None:
        self.names, self._buckets, self._by_unit = names, buckets, by_unit
        self._key = AttributeKey(token_bytes(SECRET_BYTES))

    def add(self, shown: pa.RecordBatch, whose: pa.Array | None = None) -> None:
        """Count rows, of these units where they are known."""
        marks = np.zeros(len(shown), dtype=np.uint64)
        for name in self.names:
            values = shown[name]
            if pa.types.is_dictionary(values.type):
                values = values.dictionary_decode()
            found, places = value_marks(series_of(values, name))
            marks += found if places is None else found[places]
        units = None
        if self._by_unit:
            numbers = np.zeros(len(shown), dtype=np.uint64) if whose is None else whose.to_numpy()
            units = RowsUnits(numbers, np.zeros(len(shown), dtype=np.int64))
        put_marks(self._buckets, marks, self._key, whose=units)

    def smallest(self, rows: int, by_unit: bool) -> int | None:
        """Return the rows, or units, of the smallest class, of so many rows; None without any."""
        if not rows:
            return None
        return class_sizes(self._buckets, rows, Silent(), self._key, by_unit).smallest


def _classes_in(
    bundle: Bundle, match: Match, table: LongTable, stack: ExitStack
) -> ShownClasses | None:
    """Return what counts the classes of the quasi-identifiers; None where a view shows none."""
    columns = [field.column for field in bundle.descriptor.fields]
    names = [] if match.view is None else [n for n in match.view.hierarchies if n in columns]
    if not names:
        return None
    buckets = stack.enter_context(Buckets(table.folder, table.rows))
    return ShownClasses(names, buckets, table.units is not None)


def _check_unperturbed(compared: Compared, match: Match) -> Check:
    perturbed = {name for plan in match.plans for name in plan.attributes}
    names = [name for name in compared.differing if name not in perturbed]
    findings = [f"{n}: {compared.sentence(n)}" for n in names if compared.differing[n][0]]
    return unperturbed_check(len(names), findings, match.view is not None)


def _check_entry(plan: EntryPlan, compared: Compared, obstacle: str) -> tuple[Check, ...]:
    """Check that a policy entry is on its ladder, and its values are those that the key gives."""
    on_ladder = ladder_check(plan, obstacle)
    if obstacle:
        return (on_ladder,)
    missing = [name for name in plan.attributes if name not in compared.differing]
    known = [name for name in plan.attributes if name not in missing]
    differing = [f"{n}: {compared.sentence(n)}" for n in known if compared.differing[n][0]]
    return (on_ladder, values_check(plan, compared.rows, missing, "; ".join(differing)))
