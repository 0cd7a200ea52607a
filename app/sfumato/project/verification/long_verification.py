"""Verifying a bundle against a table that is too long for memory.

The release is made again, in its own order, and compared with the bundle's data file row by row,
while both are read. A bundle is recognised by its digest or its identifier, and not by its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from secrets import token_bytes

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms.base import Check
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey
from sfumato.engine.table.combinations import Marks, value_marks
from sfumato.formats.bundles.reading import Bundle, read_long_bundle
from sfumato.formats.errors import FileError
from sfumato.formats.table_format import RowStream
from sfumato.project.adoption.rows import Rungs
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.document.model import Document
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.long_counts import (
    Buckets,
    RowsUnits,
    class_sizes,
    put_marks,
    series_of,
)
from sfumato.project.release.long_leaving import leaving_rows
from sfumato.project.release.long_release import drawn_groups, stream_of
from sfumato.project.release.long_table import LongTable
from sfumato.project.release.long_views import long_view
from sfumato.project.release.regenerate import PartOf, Regenerator
from sfumato.project.release.release_columns import material_with, plan_for
from sfumato.project.verification.chain import check_strangers
from sfumato.project.verification.long_comparison import Compared, compared_rows
from sfumato.project.verification.long_publication import check_long_publication
from sfumato.project.verification.recognition import Match, known_release
from sfumato.project.verification.rows import check_shown_columns, check_smallest
from sfumato.project.verification.verify import VerificationReport, check_known_facts


def verify_long(
    project: ProjectFile, table: LongTable, folder: Path, context: Context
) -> VerificationReport:
    """Examine a bundle in a folder as `verify_bundle` does, against a table of any length."""
    try:
        bundle = read_long_bundle(folder, Part(context, 0.0, 0.1))
    except FileError as error:
        return VerificationReport((Check("Files", False, str(error)),))
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
    table.summary(document, Part(context, 0.2, 0.3), for_checks=False)  # is kept
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
        told = str(error) if isinstance(error, SfumatoError) else "Its values are of other types."
        finding = Sentence("It can't be compared. {error}", error=told)
        checks = (*examined, Check("Records", False, finding))
        return VerificationReport(checks, record, match.recipient)
    checks = (
        *examined,
        _check_records(compared, table),
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
    summary = table.summary(document, Part(context, 0.0, 0.5), for_checks=False)
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
    summary = table.summary(document, Silent(), for_checks=False)
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


def _check_records(compared: Compared, table: LongTable) -> Check:
    title, found, rows = "Records", compared.found, table.rows
    where = Sentence("the source table")
    if table.units is not None:
        where = Sentence("the source table that may leave")
    if found == rows:
        finding = Sentence(
            "It has all {found:,} {found:record|records} of {where}.", found=found, where=where
        )
        return Check(title, True, finding)
    if found > rows:
        more = "It has {found:,} {found:record|records}, {more:,} more than {where}."
        return Check(title, False, Sentence(more, found=found, more=found - rows, where=where))
    fewer = "It has {found:,} {found:record|records} of {source:,}: {lost:,} {lost:is|are} missing"
    return Check(title, False, Sentence(fewer, found=found, source=rows, lost=rows - found))


def _check_unperturbed(compared: Compared, match: Match) -> Check:
    perturbed = {name for plan in match.plans for name in plan.attributes}
    names = [name for name in compared.differing if name not in perturbed]
    findings = [f"{n}: {compared.sentence(n)}" for n in names if compared.differing[n][0]]
    if findings:
        said = Sentence("They are not as in the source table ({names}).", names="; ".join(findings))
        if match.view is not None:
            said = Sentence("They are not as released ({names}).", names="; ".join(findings))
        return Check("Unperturbed columns", False, said)
    if not names:
        return Check("Unperturbed columns", True, "It has none.")
    if match.view is not None:
        said = Sentence("All {names} are as the recipient's view shows them.", names=len(names))
        return Check("Unperturbed columns", True, said)
    said = Sentence("All {names} are as in the source table.", names=len(names))
    return Check("Unperturbed columns", True, said)


def _check_entry(plan: EntryPlan, compared: Compared, obstacle: str) -> tuple[Check, ...]:
    """Check that a policy entry is on its ladder, and its values are those that the key gives."""
    ladder, values = (
        Sentence("{key}: ladder", key=plan.key),
        Sentence("{key}: values", key=plan.key),
    )
    if obstacle:
        finding = Sentence("It can't be made again. {obstacle}", obstacle=obstacle)
        return (Check(ladder, False, finding),)
    same = Check(ladder, True, "By the policy of its release, it is made again on the same ladder.")
    missing = [name for name in plan.attributes if name not in compared.differing]
    if missing:
        lacking = Sentence("It has no column {names}.", names=", ".join(missing))
        return (same, Check(values, False, lacking))
    differing = [name for name in plan.attributes if compared.differing[name][0]]
    if differing:
        finding = Sentence(
            "They are not those that the key gives: {difference}.",
            difference="; ".join(f"{name}: {compared.sentence(name)}" for name in differing),
        )
        return (same, Check(values, False, finding))
    finding = Sentence("All {rows:,} are those that the key gives.", rows=compared.rows)
    return (same, Check(values, True, finding))
