"""What a release will be, and that it may be made, before any file of it exists."""

from __future__ import annotations

import hmac
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfumato.engine.core.progress import Context
from sfumato.engine.table.table import Table
from sfumato.project.document.entry_plan import EntryPlan, plan_release
from sfumato.project.document.model import Document, Recipient, Source
from sfumato.project.document.serialise import canonical_json, to_plain
from sfumato.project.errors import ReleaseError, SourceChanged
from sfumato.project.ledger import order_to_tell
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.byproducts import check_byproducts, exact_byproducts
from sfumato.project.release.long_table import LongTable
from sfumato.project.release.prepared import PreparedTable
from sfumato.project.release.release_columns import Material
from sfumato.project.release.release_compatibility import (
    check_crossing,
    check_exposure,
    check_ladders,
    check_source,
    crossing_views,
    domain_fingerprints,
    exposed_columns,
)
from sfumato.project.release.views import Coarsening, coarsening_of


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

    source: Source
    material: Material
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
    releases = project.releases
    check_source(document, source, releases)
    material = prepared.material(context)
    entries = plan_release(document, material.attributes, recipient)
    check_ladders(document, entries, domain_fingerprints(material.attributes), releases)
    coarsening = coarsening_of(document, recipient)
    exposed, exact = exposed_columns(document, releases), exact_byproducts(document)
    crossing: Mapping[str, str] = {}
    if coarsening is not None:
        crossing = crossing_views(document, prepared.left, source, coarsening, releases)
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


def source_of(document: Document, table: Table | LongTable) -> Source:
    """Return the document's source, where the table can be it.

    Raises
    ------
    ReleaseError
        If the document has none.
    SourceChanged
        If the table has another number of rows.
    """
    source = document.source
    if source is None:
        raise ReleaseError(
            "The project has no source table.", "Open the table under Data, then release."
        )
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
