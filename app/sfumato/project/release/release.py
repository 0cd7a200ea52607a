"""Making a release: on the ladder of the releases before it, crash-safe, never overwriting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sfumato import __version__
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.randomness.keys import DerivedKeys
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.contents import SeenView
from sfumato.formats.bundles.writing import BundleContents, Perturbation
from sfumato.formats.language import ENGLISH
from sfumato.formats.table_format import RowStream
from sfumato.formats.tables import format_called
from sfumato.project.adoption.adopt import adoptions_to_record
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.ledger import EntryKind
from sfumato.project.project_file import ProjectFile
from sfumato.project.recovery import AtStep, no_step
from sfumato.project.release.bundle_making import Making, ReleaseOutcome, make_bundle, taking_turns
from sfumato.project.release.byproducts import byproducts_that_remain
from sfumato.project.release.long_table import LongTable
from sfumato.project.release.plan import Plan
from sfumato.project.release.prepared import PreparedTable, RowsBy
from sfumato.project.release.pseudonyms import linking_limits
from sfumato.project.release.release_columns import (
    Material,
    plan_for,
    released_specs,
    released_table,
)
from sfumato.project.release.release_compatibility import domain_fingerprints, edition_sentences
from sfumato.project.release.release_plan import ReleasePlan, bundle_name, plan_of
from sfumato.project.release.uniqueness import (
    release_sentence,
)
from sfumato.project.release.units import promise_by_unit, told_of_unit
from sfumato.project.release.views import (
    Coarsened,
    as_labels,
    check_view,
    promise_of,
    told_of,
)

__all__ = ["PreparedTable", "ReleaseOutcome", "RowsBy", "make_release"]


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
        the reasons, for the ledger; and what makes the rows in this process's place.

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
        prepared = prepared or PreparedTable(project, table)
        plan = plan_of(project, prepared, recipient_name, override, Part(context, 0.0, 0.2))
        name = bundle_name(plan, format_name)
        target = Path(out_folder).absolute() / (f"{name}.zip" if as_zip else name)
        making = making_of(project, plan, prepared, accepted, rows_by)
        making = replace(making, escape_formulas=escape_formulas, dcat=dcat)
        context = Part(context, 0.2, 1.0)
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
