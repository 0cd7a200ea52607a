"""Making a release: what it will be, that it may be made, and its files, crash-safe.

It stands on the ladder of the releases before it, and overwrites nothing.

A release can be made elsewhere: from a plan that anybody may see, and a file of the keys it needs.
Whoever holds both makes the release, and can tell which released values of the plan's attributes
are true. So they count as a release from the moment that they are made: the ledger has them before
they are there. The project's secret, from which all other keys follow, is in neither.
"""

from __future__ import annotations

import hmac
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from sfumato import __version__
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.randomness.keys import DerivedKeys
from sfumato.formats.bundles.contents import SeenView
from sfumato.formats.bundles.writing import BundleContents, BundleFiles, Perturbation
from sfumato.formats.files import write_whole
from sfumato.formats.language import ENGLISH
from sfumato.formats.table_format import RowStream
from sfumato.formats.tables import format_called
from sfumato.project.adoption.adopt import adoptions_to_record
from sfumato.project.approval import require_approval, source_in
from sfumato.project.document.entry_plan import EntryPlan, plan_release
from sfumato.project.document.model import (
    Document,
    Recipient,
    TableSource,
    canonical_json,
    to_plain,
)
from sfumato.project.errors import ReleaseError, SourceChanged
from sfumato.project.ledger import EntryKind, ReleaseRecord, order_to_tell
from sfumato.project.project_file import ProjectFile
from sfumato.project.recovery import AtStep, no_step
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.batched_views import BatchedView
from sfumato.project.release.bundle_making import (
    BundleSpec,
    ReleaseOutcome,
    complete,
    make_bundle,
    prepare,
    refuse_existing,
    take_back,
    taking_turns,
)
from sfumato.project.release.byproducts import (
    byproducts_that_remain,
    check_byproducts,
    exact_byproducts,
    linking_limits,
)
from sfumato.project.release.plan import Plan
from sfumato.project.release.prepared import PreparedTable, RowsBy
from sfumato.project.release.release_columns import (
    EncodedTable,
    plan_for,
    released_specs,
    released_table,
)
from sfumato.project.release.release_compatibility import (
    CONTRADICTED,
    check_crossing,
    check_exposure,
    check_ladders,
    check_source,
    crossing_views,
    domain_fingerprints,
    edition_sentences,
    exposed_columns,
)
from sfumato.project.release.uniqueness import release_sentence
from sfumato.project.release.units import not_promised_of_one, promise_by_unit, told_of_unit
from sfumato.project.release.views import (
    Coarsening,
    as_labels,
    check_view,
    coarsening_of,
    promise_of,
    told_of,
)
from sfumato.project.store.files import Staging

__all__ = ["PreparedTable", "ReleaseOutcome", "RowsBy", "make_release"]


def make_release(
    project: ProjectFile,
    table: BatchedTable,
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
        See `BundleSpec`.
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
        As `PreparedTable` and `sfumato.formats.bundles.writing.write_bundle`.
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
) -> BundleSpec:
    """Return a release that may be made, see `make_release`.

    Raises
    ------
    SfumatoError
        As `check_view` and `PreparedTable.seen`.
    """
    kept: dict[str, Any] = require_approval(project, plan.recipient.name)
    if accepted:
        kept["accepted"] = [dict(each) for each in accepted]
    if (seen := prepared.seen(plan.coarsening)) is not None:
        check_view(seen)
    elsewhere = None
    if rows_by is not None:
        elsewhere = prepared.made_by(rows_by, *sent_plan(project, plan, prepared))
    return BundleSpec(
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
    left_out = frozenset() if seen is None else seen.left_out
    # Counting takes memory, and is done before what is released does.
    alone = prepared.alone(Part(context, 0.0, 0.4), plan.recipient)
    made_by = plan_for(plan.material, plan.entries, plan.recipient.name, plan.coarsening)
    made_by = replace(made_by, release_id=plan.release_id)
    frame, order = prepared.released(made_by, seen, Part(context, 0.4, 1.0))
    specs = released_specs(document, table)
    editions = edition_sentences(document, plan.material.attributes, project.releases)
    contradicted = plan.contradictions.keys() - exact_byproducts(document).keys()
    perturbations = tuple(_perturbation(entry, plan.material) for entry in plan.entries)
    symbols = {name for one in perturbations if one.symbols for name in one.attributes}
    return BundleContents(
        table=released_table(document, table, frame, coarser | symbols, coarser - left_out),
        columns=tuple(as_labels(spec) if name in coarser else spec for name, spec in specs),
        perturbations=perturbations,
        recipient=plan.recipient.name,
        title=document.title,
        release_id=plan.release_id,
        version=__version__,
        limits=(
            *((CONTRADICTED,) if contradicted else ()),
            *byproducts_that_remain(document, (plan.recipient,)),
            *(() if alone is None else (release_sentence(alone),)),
            *not_promised_of_one(document, plan.entries, plan.material.attributes),
            *editions,
            *linking_limits(document, plan.recipient.name),
        ),
        rows_as_in_table=bool(document.rows_as_in_table),
        view=None if seen is None else _view(seen),
        unit=told_of_unit(document, plan.entries),
        order=elsewhere or order,
        language=plan.recipient.language or ENGLISH,
        terms=document.terms,
    )


def _view(seen: BatchedView) -> SeenView:
    """Return what a recipient is told of how coarsely quasi-identifiers are shown."""
    levels = {name: (seen.coarsening.level(name), high) for name, high in seen.highest.items()}
    view = seen.view
    unit = " + ".join(seen.coarsening.unit or ())
    promise = promise_of(seen.coarsening)
    cells = None
    if view.cells_apart:
        cells = {
            name: view.starred_in(axis) for axis, name in enumerate(seen.coarsening.hierarchies)
        }
    told = seen.commonest()
    return SeenView(levels, view.k, view.suppressed_rows, promise, unit, cells, told)


def _perturbation(entry: EntryPlan, material: EncodedTable) -> Perturbation:
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
        symbols=mechanism.shown_domain(attributes, entry.settings),
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


@dataclass(frozen=True)
class ReleasePlan:
    """A release that may be made: everything but its files.

    Parameters
    ----------
    source
        The source table's place and digest.
    material
        The table, encoded by the document of this moment.
    recipient
        Who gets the release.
    entries
        The policy entries with their levels and ladders.
    coarsening
        How coarsely the recipient sees the quasi-identifiers; None for as they are.
    release_id
        From `release_id_of`.
    contradictions
        Columns that are released otherwise than before, see `exposed_columns`, entries that
        would tell exact statistics, see `exact_byproducts`, and views that earlier ones cross, see
        `crossing_views`.
    override
        The custodian's reason for releasing them in spite of that.
    """

    source: TableSource
    material: EncodedTable
    recipient: Recipient
    entries: tuple[EntryPlan, ...]
    coarsening: Coarsening | None
    release_id: str
    contradictions: Mapping[str, str]
    override: str

    @property
    def document(self) -> Document:
        """The document that the release is made by."""
        return self.material.document


def plan_of(
    project: ProjectFile,
    prepared: PreparedTable,
    recipient_name: str,
    override: str,
    context: Context,
) -> ReleasePlan:
    """Plan a release, and refuse one that must not be made.

    Parameters are those of `sfumato.project.release.release.make_release`.

    Raises
    ------
    ReleaseError
        If there is no source table or no such recipient.
    LadderError, SourceChanged
        If it would not stand beside the releases made before.
    SfumatoError
        As `PreparedTable.material`.
    """
    document = project.document
    source = source_of(document, prepared.table)
    recipient = _recipient_called(document, recipient_name)
    require_approval(project, recipient_name)  # before the table is encoded
    releases = project.releases
    check_source(document, source, releases)
    material = prepared.material(context)
    entries = plan_release(document, material.attributes, recipient)
    check_ladders(document, entries, domain_fingerprints(material.attributes), releases)
    coarsening = coarsening_of(document, recipient)
    exposed, exact = exposed_columns(document, releases), exact_byproducts(document)
    crossing = crossing_views(document, prepared.left, source, recipient.name, coarsening, releases)
    override = override.strip()
    if not override:
        check_exposure(exposed)
        check_byproducts(exact)
        check_crossing(crossing)
    contradictions = {**exposed, **exact, **crossing}
    release_id = release_id_of(project, document, recipient_name, entries)
    return ReleasePlan(
        source, material, recipient, entries, coarsening, release_id, contradictions, override
    )


def bundle_name(plan: ReleasePlan, format_name: str) -> str:
    """Return the bundle's name: title, recipient, identifier and format, fit for any disk."""
    return bundle_stem(plan.document, plan.recipient, plan.release_id, format_name)


def bundle_stem(document: Document, recipient: Recipient, release_id: str, format_name: str) -> str:
    """Return the name of a bundle for a recipient; see `bundle_name`."""
    parts = [
        _fit_for_names(document.title),
        _fit_for_names(recipient.name),
        release_id[:8],
        format_name,
    ]
    return "-".join(part for part in parts if part)


def release_id_of(
    project: ProjectFile, document: Document, recipient_name: str, entries: Sequence[EntryPlan]
) -> str:
    """Return a release's identifier: the same for the same data for the same recipient.

    It stands in the bundle, so it is keyed: a plain digest of the source table would let a
    recipient who guesses the table confirm the guess.

    Parameters
    ----------
    project
        Whose identity and secret count.
    document
        Whose columns and source digest count.
    recipient_name, entries
        For whom, and at which levels.

    Raises the errors of `coarsening_of`.
    """
    source = document.source
    coarsening = coarsening_of(document, _recipient_called(document, recipient_name))
    content = {
        "project": project.project_id,
        "recipient": recipient_name,
        "entries": [[list(e.attributes), e.mechanism, e.level, e.ladder] for e in entries],
        "columns": to_plain(document.columns),
        "source": None if source is None else [source.digest, source.rows],
        "row_order": order_to_tell(document.rows_as_in_table)["order"],
        # Releases from before there were views keep their identifiers.
        **({} if coarsening is None else {"view": coarsening.to_dict()}),
    }
    if document.unit is not None:
        content["unit"] = to_plain(document.unit)
    key = project.secret.derive("release identifier")
    return hmac.new(key, canonical_json(content).encode(), "sha256").hexdigest()[:32]


def source_of(document: Document, table: BatchedTable) -> TableSource:
    """Return the document's source, where the table can be it.

    Raises
    ------
    ReleaseError
        If the document has none.
    SourceChanged
        If the table has another number of rows.
    """
    source = source_in(document)
    if source.rows != table.rows:
        raise SourceChanged(
            "The table has {found} {found:row|rows}, and the project's source table has"
            " {expected}.",
            "Open the table that the project was made for, or accept this one as a new edition.",
            found=table.rows,
            expected=source.rows,
        )
    return source


def _recipient_called(document: Document, name: str) -> Recipient:
    try:
        return document.recipient(name)
    except KeyError:
        known = ", ".join(recipient.name for recipient in document.recipients)
        raise ReleaseError(
            "The project has no recipient called {name}.",
            "Its recipients are: {known}." if known else "Add recipients under Policy.",
            name=name,
            known=known,
        ) from None


def _fit_for_names(text: str) -> str:
    """Return a text without what some file system refuses in a name."""
    kept = [c if c.isalnum() else "-" for c in unicodedata.normalize("NFC", text)]
    return "-".join(part for part in "".join(kept).split("-") if part)[:40]


PLAN_FORMAT: Final = "plan and keys"
"""What the ledger has in the place of a data file's format."""


def make_plan(
    project: ProjectFile,
    table: BatchedTable,
    recipient_name: str,
    plan_path: Path,
    keys_path: Path,
    context: Context,
    *,
    override: str = "",
    accepted: Sequence[Mapping[str, str]] = (),
) -> ReleaseRecord:
    """Write a plan and its keys for a recipient; return what the ledger has of them.

    Parameters and errors are those of `sfumato.project.release.release.make_release`, with the
    two files in the bundle's place.

    Raises
    ------
    PolicyError
        If a record's release depends on other records: it can't be made row by row then.
    """
    plan_path, keys_path = plan_path.absolute(), keys_path.absolute()
    with taking_turns(project, context):
        for path in (plan_path, keys_path):
            refuse_existing(path)
        prepared = PreparedTable(project, table)
        release = plan_of(project, prepared, recipient_name, override, context)
        plan, keys = sent_plan(project, release, prepared)
        content = f"{plan.to_json()}\n".encode()
        files = BundleFiles({plan_path.name: sha256(content).hexdigest()})
        making = making_of(project, release, prepared, accepted)
        staging = Staging.beside(plan_path, release.release_id, recipient_name, as_zip=True)
        number = prepare(project, making, staging, PLAN_FORMAT, files, pending=False)
        staging = staging.recorded(files.digest, number)
        try:
            write_whole(keys_path, keys.to_bytes())
            write_whole(plan_path, content)
        except BaseException:
            keys_path.unlink(missing_ok=True)
            take_back(project, staging, "its files could not be written")
            raise
        complete(project, staging)
    return next(record for record in project.releases if record.number == number)
