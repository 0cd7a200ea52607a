"""Making a release: on the ladder of the releases before it, crash-safe, never overwriting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato import __version__
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.adoption import adopted_in
from sfumato.engine.mechanisms.base import Adopted
from sfumato.engine.randomness.keys import DerivedKeys
from sfumato.engine.randomness.row_order import release_order
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.contents import SeenView
from sfumato.formats.bundles.writing import BundleContents, Perturbation
from sfumato.formats.language import ENGLISH
from sfumato.formats.table_format import Rows as RowsToWrite
from sfumato.formats.table_format import RowStream
from sfumato.formats.tables import format_called
from sfumato.project.adoption.adopt import adoptions_to_record
from sfumato.project.adoption.rows import RowsToMatch, Rungs
from sfumato.project.document.entry_plan import EntryPlan, check_policy
from sfumato.project.document.model import Recipient
from sfumato.project.ledger import EntryKind
from sfumato.project.project_file import ProjectFile
from sfumato.project.recovery import AtStep, no_step
from sfumato.project.release.batches import table_of
from sfumato.project.release.brought_together import group_columns, mark_of, marks_as_told
from sfumato.project.release.bundle_making import Making, ReleaseOutcome, make_bundle, taking_turns
from sfumato.project.release.byproducts import byproducts_that_remain
from sfumato.project.release.long_leaving import leaving_rows
from sfumato.project.release.long_release import drawn_groups, fitted_rows, stream_of
from sfumato.project.release.long_table import LongTable, Summary, naming_rows
from sfumato.project.release.long_views import (
    LongView,
    counted_view,
    long_view,
    suppressed_in_parts,
)
from sfumato.project.release.plan import Plan, Releaser, Rows
from sfumato.project.release.pseudonyms import linking_limits
from sfumato.project.release.release_columns import (
    Material,
    check_columns,
    material_of,
    material_with,
    plan_for,
    released_specs,
    released_table,
)
from sfumato.project.release.release_compatibility import domain_fingerprints, edition_sentences
from sfumato.project.release.release_plan import ReleasePlan, bundle_name, plan_of
from sfumato.project.release.uniqueness import (
    AloneInRelease,
    alone_in_release,
    release_sentence,
)
from sfumato.project.release.units import promise_by_unit, told_of_unit
from sfumato.project.release.views import (
    Coarsened,
    Coarsening,
    as_labels,
    check_view,
    coarsened,
    coarsening_of,
    promise_of,
    suppressed_in,
    told_of,
)

__all__ = ["PreparedTable", "ReleaseOutcome", "make_release"]


def make_release(
    project: ProjectFile,
    table: Table | LongTable,
    recipient_name: str,
    out_folder: Path,
    format_name: str,
    context: Context,
    as_zip: bool = False,
    *,
    override: str = "",
    escape_formulas: bool = True,
    dcat: bool = False,
    at_step: AtStep = no_step,
    prepared: PreparedTable | None = None,
    accepted: Sequence[Mapping[str, str]] = (),
    rows_by: RowsBy | None = None,
) -> ReleaseOutcome:
    """Make one recipient's release and put its bundle into a folder.

    Parameters
    ----------
    project, table, recipient_name
        Open for writing, its saved document is what is released by; the source table, as the
        document's source was read; and one of the recipients.
    out_folder
        Where the bundle goes, under `bundle_name`; made where it is missing.
    format_name, as_zip
        ``csv``, ``parquet``, ``sav`` or ``dta``; and whether one zip file instead of a folder.
    context
        Progress and cancelling. A cancelled release leaves no file and no ledger entry.
    override, escape_formulas, dcat
        See `Making`.
    at_step, prepared, accepted, rows_by
        Told each step as it is done; what releases to others have prepared; what stays open, with
        the reasons, for the ledger; and what makes the rows of a long table in this process's
        place.

    Raises
    ------
    ReleaseError
        If there is no such recipient, no source table, or something under the bundle's name.
    LadderError
        If an attribute would leave the ladder of its earlier releases.
    SourceChanged
        If the table is another one than the project's, or than the first release's.
    CannotWrite, DiskFull
        If the folder does not take the bundle. Nothing of the release is left then.
    SfumatoError
        As `sfumato.project.release.release_columns.released_columns` and
        `sfumato.formats.bundles.writing.write_bundle`.
    """
    format_called(format_name)
    with taking_turns(project, context):
        prepared = prepared or prepared_of(project, table)
        plan = plan_of(project, table, recipient_name, override, prepared.material)
        name = bundle_name(plan, format_name)
        target = Path(out_folder).absolute() / (f"{name}.zip" if as_zip else name)
        making = making_of(project, plan, prepared, accepted, rows_by)
        making = replace(making, escape_formulas=escape_formulas, dcat=dcat)
        return make_bundle(project, making, target, format_name, context, as_zip, at_step)


def sent_plan(
    project: ProjectFile, plan: ReleasePlan, prepared: PreparedTable
) -> tuple[Plan, DerivedKeys]:
    """Return what a release that may be made is made by elsewhere: a plan, and its keys.

    Raises
    ------
    PolicyError
        If a record's release depends on other records.
    """
    made = plan_for(plan.material, plan.entries, plan.recipient.name, plan.coarsening)
    seen = prepared.seen(plan.coarsening)
    suppressed = None if seen is None else prepared.suppressed(seen)
    # By which ladder a release is known again says what is in the groups, to whoever guesses it.
    entries = tuple(replace(each, ladder="") for each in made.entries)
    made = replace(made, release_id=plan.release_id, suppressed=suppressed, entries=entries)
    made = replace(made, group_marks=prepared.group_marks(made))
    return made.with_keys(project.keys)


class PreparedTable:
    """What releases of a table have in common, whoever they are for: computed once.

    Parameters
    ----------
    project
        Whose saved document and keys count. Where the document changes, all is computed anew.
    table
        The source table.
    """

    def __init__(self, project: ProjectFile, table: Table) -> None:
        self._project, self._table = project, table
        self._document = project.document
        self._material: Material | None = None
        self._rows: Rows | None = None
        self._alone: dict[str, AloneInRelease | None] = {}
        self._seen: dict[str, Coarsened] = {}

    def material(self) -> Material:
        """Return every attribute of the policy, encoded; raises what `material_of` does."""
        if self._project.document != self._document:
            self._document, self._material = self._project.document, None
        if self._material is None:
            self._rows, self._alone, self._seen = None, {}, {}
            self._material = material_of(self._document, self._table)
        return self._material

    def rows(self, context: Context) -> Rows:
        """Return the rows with their identifiers and those of adopted releases.

        Raises the errors of `sfumato.project.adoption.rows.Rungs.of` and `Material.rows`.
        """
        material = self.material()
        if self._rows is None:
            rungs = _rungs(self._project, RowsToMatch.of(self._table))
            adopted = _adopted(material, rungs, Part(context, 0.0, 0.7))
            fitted = replace(material, adopted=adopted)
            self._rows = fitted.rows(self._project.keys, Part(context, 0.7, 1.0))
        return self._rows

    def seen(self, coarsening: Coarsening | None) -> Coarsened | None:
        """Return what a view makes of the table; raises what `coarsened` does."""
        if coarsening is None:
            return None
        material, name = self.material(), coarsening.own.recipient
        if name not in self._seen or self._seen[name].coarsening != coarsening:
            table = self.rows(Silent()).table
            self._seen[name] = coarsened(coarsening, material.document.columns, table)
        return self._seen[name]

    def suppressed(self, seen: Coarsened) -> tuple[str, ...]:
        """Return what a plan lists of the rows that a view suppresses, see `suppressed_in`."""
        return suppressed_in(seen, self.rows(Silent()).table, self._project.keys)

    def group_marks(self, plan: Plan) -> dict[str, str]:
        """Return by what a plan knows the groups of its entries again, see `mark_of`."""
        if not plan.groups:
            return {}
        table = self.rows(Silent()).table
        return marks_as_told(plan, mark_of(plan, table, self._project.keys))

    def alone(self, context: Context, recipient: Recipient) -> AloneInRelease | None:
        """Return how many records are unique on what a recipient sees unperturbed.

        Raises the errors of `coarsening_of` and `coarsened`.
        """
        document = self.material().document
        coarsening = coarsening_of(document, recipient)
        name = "" if coarsening is None else recipient.name
        if name not in self._alone:
            table = self.rows(Part(context, 0.0, 0.6)).table
            part = Part(context, 0.6, 1.0)
            self._alone[name] = alone_in_release(document, table, part, self.seen(coarsening))
        return self._alone[name]

    def released(
        self, plan: Plan, seen: Coarsened | None, context: Context
    ) -> tuple[pd.DataFrame, RowsToWrite]:
        """Return a plan's released rows, and in which order they are written.

        Raises the errors of `Releaser.release`.
        """
        rows, keys = self.rows(Part(context, 0.0, 0.1)), self._project.keys
        frame = plan.bind(keys).release(rows, Part(context, 0.1, 1.0), seen=seen)
        if plan.rows_as_in_table:
            return frame, None
        # Rows are put in order as they are written: another copy of them would be as long.
        key = keys.for_row_order(plan.release_id)
        return frame, release_order(rows.record_ids, key, Silent())


class PreparedLong(PreparedTable):
    """What releases of a table have in common that is too long for memory.

    Parameters
    ----------
    project, table
        See `PreparedTable`.
    """

    def __init__(self, project: ProjectFile, table: LongTable) -> None:
        self._project, self._long = project, table
        self._rungs = _rungs(project, table.to_match(Silent()))

    @property
    def _left(self) -> LongTable:
        """The rows that leave by the project's document."""
        return leaving_rows(self._long, self._project.document, self._project.keys, Silent())

    def summary(self, context: Context) -> Summary:
        """Return what is known of the table by the project's document."""
        return self._left.summary(self._project.document, context)

    def material(self) -> Material:
        """Return every attribute of the policy, and rows that show every sort of value."""
        document, summary = self._project.document, self.summary(Silent())
        check_policy(document)
        check_columns(document, summary.witnesses)
        return material_with(document, summary.witnesses, summary.encoded)

    def seen(self, coarsening: Coarsening | None) -> LongView | None:
        """Return what a view makes of the table; raises what `long_view` does."""
        if coarsening is None:
            return None
        columns = self.material().document.columns
        return long_view(self._left, columns, coarsening, Silent())

    def suppressed(self, seen: Coarsened) -> tuple[str, ...]:
        """Return what a plan lists of the rows that a view suppresses, found in one pass."""
        assert isinstance(seen, LongView)
        return suppressed_in_parts(seen, self._left, self._project.keys, Silent())

    def group_marks(self, plan: Plan) -> dict[str, str]:
        """Return by what a plan knows the groups of its entries again, found in one pass."""
        if not plan.groups:
            return {}
        names, found = group_columns(plan), np.zeros((len(plan.groups), 2), dtype=np.uint64)
        for batch, _ in self._left.read(names, "Looking at the groups", Silent()):
            table = table_of(batch, {name: plan.schema[name] for name in names})
            found += mark_of(plan, table, self._project.keys)
        return marks_as_told(plan, found)

    def alone(self, context: Context, recipient: Recipient) -> AloneInRelease | None:
        """Return how many records are unique on what a recipient sees unperturbed."""
        document = self.material().document
        if coarsening_of(document, recipient) is None:
            return self.summary(context).alone
        return counted_view(self._left, document, recipient, context).alone

    def released(
        self, plan: Plan, seen: Coarsened | None, context: Context
    ) -> tuple[pd.DataFrame, RowsToWrite]:
        """Return some released rows of every sort, and what makes all while they are written."""
        shown = seen if isinstance(seen, LongView) else None
        keys, left = self._project.keys, self._left
        summary = self.summary(Part(context, 0.0, 0.5))
        groups = drawn_groups(plan, keys, summary.groups, left, Part(context, 0.5, 0.8))
        adopted = _adopted(self.material(), self._rungs, Part(context, 0.8, 0.9))
        releaser = plan.bind(keys, shown, True, groups, adopted, placed=True)
        with naming_rows(summary.left_places):
            frame, _ = releaser.shown_alone(summary.left, summary.left_places)
        if len(plan.released) == 1 and not frame.isna().any(axis=None):
            frame = self._with_missing(frame, releaser, Part(context, 0.9, 1.0))
        return frame, stream_of(releaser, left)

    def _with_missing(
        self, frame: pd.DataFrame, releaser: Releaser, context: Context
    ) -> pd.DataFrame:
        """Return released rows of a single column with a missing value, where any row has one.

        As text, how such a column is written depends on that; and it is not known by the source
        table where a missing value is one of those that are drawn.
        """
        plan = releaser.plan
        domains = [plan.column(name).domain for name in plan.released]
        if any(domain is not None and None in domain.values for domain in domains):
            for batch, rows in self._left.read(tuple(plan.schema), "Looking at the rows", context):
                with naming_rows(rows):
                    shown, _ = releaser.shown_alone(table_of(batch, plan.schema), rows)
                if shown.isna().any(axis=None):
                    return pd.concat([frame, shown], ignore_index=True)
        return frame

    def made_by(self, rows_by: RowsBy, plan: Plan, keys: DerivedKeys) -> RowStream:
        """Return a plan's rows, which are made elsewhere while they are written."""
        left = self._left

        def made(context: Context, folder: Path) -> Iterator[pa.RecordBatch]:
            found = rows_by(plan, keys, Part(context, 0.0, 0.7), folder)
            return fitted_rows(plan, found, left, Part(context, 0.7, 1.0))

        return RowStream(left.rows, made)


def prepared_of(project: ProjectFile, table: Table | LongTable) -> PreparedTable:
    """Return what releases of a table have in common, however long it is."""
    if isinstance(table, LongTable):
        return PreparedLong(project, table)
    return PreparedTable(project, table)


def _rungs(project: ProjectFile, table: RowsToMatch) -> Rungs:
    """Return the adopted releases of a project, matched to its table as it is now."""
    source = project.document.source
    return Rungs(table, (project.path.parent,), "" if source is None else source.digest)


def _adopted(material: Material, rungs: Rungs, context: Context) -> dict[str, tuple[Adopted, ...]]:
    """Return the rows of all adopted releases, by the key of the policy entry."""
    entries = [each for each in material.document.policy if adopted_in(each.settings)]
    found = {}
    for place, entry in enumerate(entries):
        part = Part(context, place / len(entries), (place + 1) / len(entries))
        attributes = [material.attributes[name] for name in entry.attributes]
        found[entry.key] = rungs.of(entry.settings, attributes, part)
    return found


def making_of(
    project: ProjectFile,
    plan: ReleasePlan,
    prepared: PreparedTable,
    accepted: Sequence[Mapping[str, str]],
    rows_by: RowsBy | None = None,
) -> Making:
    """Return a release that may be made, see `make_release`.

    Raises
    ------
    SfumatoError
        As `check_view` and `PreparedTable.seen`.
    """
    kept = {"accepted": [dict(each) for each in accepted]} if accepted else {}
    if (seen := prepared.seen(plan.coarsening)) is not None:
        check_view(seen)
    elsewhere = None
    if rows_by is not None:
        assert isinstance(prepared, PreparedLong)
        elsewhere = prepared.made_by(rows_by, *sent_plan(project, plan, prepared))
    return Making(
        document=plan.document,
        source=plan.source,
        recipient=plan.recipient.name,
        release_id=plan.release_id,
        contents=partial(_contents, project, plan, prepared, elsewhere),
        details={**_details(plan, prepared), **kept},
        contradictions=plan.contradictions,
        override=plan.override,
        before=[
            (EntryKind.ADOPTED, adoption)
            for adoption in adoptions_to_record(plan.document, project.ledger.entries)
        ],
    )


RowsBy = Callable[[Plan, DerivedKeys, Context, Path], Iterator[pa.RecordBatch]]
"""What makes a plan's rows of the source table in this process's place, see `RowStream`."""


def _contents(
    project: ProjectFile,
    plan: ReleasePlan,
    prepared: PreparedTable,
    elsewhere: RowStream | None,
    context: Context,
) -> BundleContents:
    """Compute what a release's bundle holds."""
    document, table = plan.document, plan.material.table
    seen = prepared.seen(plan.coarsening)
    coarser = frozenset() if seen is None else seen.changed
    # Counting takes memory, and is done before what is released does.
    alone = prepared.alone(Part(context, 0.0, 0.4), plan.recipient)
    made_by = plan_for(plan.material, plan.entries, plan.recipient.name, plan.coarsening)
    made_by = replace(made_by, release_id=plan.release_id)
    frame, order = prepared.released(made_by, seen, Part(context, 0.4, 1.0))
    specs = released_specs(document, table)
    editions = edition_sentences(document, plan.material.attributes, project.releases)
    return BundleContents(
        table=released_table(document, table, frame, coarser),
        columns=tuple(as_labels(spec) if name in coarser else spec for name, spec in specs),
        perturbations=tuple(_perturbation(entry, plan.material) for entry in plan.entries),
        recipient=plan.recipient.name,
        title=document.title,
        release_id=plan.release_id,
        version=__version__,
        limits=(
            *byproducts_that_remain(document),
            *(() if alone is None else (release_sentence(alone),)),
            *editions,
            *linking_limits(document, plan.recipient.name),
        ),
        rows_as_in_table=bool(document.rows_as_in_table),
        view=None if seen is None else _view(seen),
        unit=told_of_unit(document, plan.entries),
        order=elsewhere or order,
        language=plan.recipient.language or ENGLISH,
    )


def _view(seen: Coarsened) -> SeenView:
    """Return what a recipient is told of how coarsely quasi-identifiers are shown."""
    levels = {name: (seen.coarsening.level(name), high) for name, high in seen.highest.items()}
    view = seen.view
    unit = " + ".join(seen.coarsening.unit or ())
    return SeenView(levels, view.k, view.suppressed_rows, promise_of(seen.coarsening), unit)


def _perturbation(entry: EntryPlan, material: Material) -> Perturbation:
    mechanism = mechanism_called(entry.mechanism)
    attributes = [material.attributes[name] for name in entry.attributes]
    return Perturbation(
        attributes=entry.attributes,
        mechanism=entry.mechanism,
        title=mechanism.title,
        summary=mechanism.summary,
        published=mechanism.published(entry.level, attributes, entry.settings),
        promise=promise_by_unit(material.document, entry, attributes),
        channel=mechanism.channel(entry.level, attributes, entry.settings),
    )


def _details(plan: ReleasePlan, prepared: PreparedTable) -> dict[str, Any]:
    """Return what the ledger keeps of a release beside what it keeps of every bundle."""
    perturbed = {name for entry in plan.entries for name in entry.attributes}
    specs = released_specs(plan.document, plan.material.table)
    released = [name for name, spec in specs if spec.as_pseudonym is None]
    return {
        "entries": [entry.to_dict() for entry in plan.entries],
        "domains": domain_fingerprints(plan.material.attributes),
        "open_columns": [name for name in released if name not in perturbed],
        **({} if (seen := prepared.seen(plan.coarsening)) is None else {"view": told_of(seen)}),
    }
