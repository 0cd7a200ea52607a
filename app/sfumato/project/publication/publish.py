"""Publishing a generalized table: checked from its own rows, crash-safe, never side by side.

A generalized table shows true sensitive values, so it must not stand beside perturbed releases
of the same records, nor beside another generalization that could be intersected with it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from sfumato import __version__
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.generalization.hierarchies import Hierarchy
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.publication import Suppressed
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.combinations import Marks
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.contents import Generalized
from sfumato.formats.bundles.writing import BundleContents
from sfumato.formats.hierarchies import table_of
from sfumato.formats.language import spoken
from sfumato.formats.table_format import RowStream
from sfumato.formats.tables import format_called
from sfumato.project.document.generalization import Generalization
from sfumato.project.document.model import Document, Recipient, Source, canonical_json, to_plain
from sfumato.project.ledger import ReleaseRecord, order_to_tell
from sfumato.project.project_file import ProjectFile
from sfumato.project.publication.generalization_pipeline import (
    Searched,
    chosen_node,
    in_parts,
    looked_at,
    published_rows,
    refuse_no_solution,
    search_table,
)
from sfumato.project.publication.population import read_population, risks_of, told
from sfumato.project.publication.prepared import ClassedRows, counted_rows, decided_in
from sfumato.project.recovery import AtStep, no_step
from sfumato.project.release.batches import schema_of
from sfumato.project.release.bundle_making import Making, ReleaseOutcome, make_bundle, taking_turns
from sfumato.project.release.byproducts import labels_from_rows, labels_sentence
from sfumato.project.release.long_release import stream_of
from sfumato.project.release.long_table import LongTable, Witnesses
from sfumato.project.release.plan import Plan
from sfumato.project.release.release import bundle_stem, source_of
from sfumato.project.release.release_compatibility import (
    CONTRADICTED,
    check_exposure,
    check_source,
    rows_of,
)
from sfumato.project.release.uniqueness import (
    AloneInPublication,
    publication_limits,
    told_alone,
)
from sfumato.project.release.units import Places, units_in

PUBLIC: Final = "the public"
"""For whom a table is published."""

LIMITS: Final = (
    "Whoever knows more about a person than these columns say (somebody in the same group, a"
    " value that is ruled out) can narrow the person's value further.",
    "The sensitive values that occur in a group are shown, and how often; if one of them is much"
    " more frequent, it is much more probable.",
    "That somebody is in the table stays visible.",
)


@dataclass(frozen=True)
class Published:
    """What will be published, before any file of it exists.

    Parameters
    ----------
    document
        What it is made by.
    decided
        What is decided about it.
    searched
        The search that found its node.
    made
        The classes of the node, by which its rows are made.
    risk
        How likely somebody is found in it (`sfumato.project.publication.population.told`).
    alone
        The records that are alone by columns it shows exactly; None where it shows none so.
    """

    document: Document
    decided: Generalization
    searched: Searched
    made: ClassedRows
    risk: dict[str, Any]
    alone: AloneInPublication | None

    @property
    def node(self) -> Node:
        """The level of each quasi-identifier."""
        return self.made.node


def publish_table(
    project: ProjectFile,
    table: Table | LongTable,
    out_folder: Path,
    format_name: str,
    context: Context,
    as_zip: bool = False,
    *,
    override: str = "",
    escape_formulas: bool = True,
    dcat: bool = False,
    at_step: AtStep = no_step,
) -> ReleaseOutcome:
    """Publish the generalized table that the project's document decides on.

    Parameters
    ----------
    project
        Open for writing. Its saved document is what is published by.
    table
        The source table, as the document's source was read, in memory or not.
    out_folder
        Where the bundle goes; made where it is missing.
    format_name
        ``csv``, ``parquet``, ``sav`` or ``dta``.
    context
        Progress and cancelling. A cancelled publication leaves no file and no ledger entry.
    as_zip
        One zip file instead of a folder.
    override
        The custodian's reason to publish it beside releases that it contradicts.
    escape_formulas, dcat
        See `Making`.
    at_step
        Told each step as it is done.

    Raises
    ------
    DiversityError
        If nothing is decided, no node is safe, or the check of the rows fails.
    LadderError
        If it would stand beside perturbed releases or another generalization.
    ReleaseError, SourceChanged
        If there is no source table, or it is another one.
    SfumatoError
        As `search_table`, `read_population` and `make_bundle`.
    """
    format_called(format_name)
    with taking_turns(project, context):
        document, rows = project.document, in_parts(table, project.path.parent)
        source = source_of(document, rows)
        check_source(document, source, project.releases)
        found = _published(document, rows, Part(context, 0.0, 0.5))
        making = _making(project, found, source, override.strip())
        making = replace(making, escape_formulas=escape_formulas, dcat=dcat)
        stem = bundle_stem(document, Recipient("generalized"), making.release_id, format_name)
        target = Path(out_folder).absolute() / (f"{stem}.zip" if as_zip else stem)
        part = Part(context, 0.5, 1.0)
        return make_bundle(project, making, target, format_name, part, as_zip, at_step)


def _published(document: Document, table: LongTable, context: Context) -> Published:
    searched = search_table(document, table, Part(context, 0.0, 0.5))
    refuse_no_solution(document, searched)
    made = published_rows(searched.prepared, chosen_node(document, searched))
    counted = counted_rows(made, Part(context, 0.5, 0.8))
    if not counted.check.holds:
        raise DiversityError(
            "The generalized table does not keep what was asked when it is read again, so it is"
            " not published.",
            "Look for labels that two classes share, and give them different names.",
        )
    risk = _risk(document, made, Part(context, 0.8, 1.0))
    return Published(document, decided_in(document), searched, made, risk, counted.alone)


def _risk(document: Document, made: ClassedRows, context: Context) -> dict[str, Any]:
    """Return how likely somebody is found in a table, before and after."""
    population = read_population(document, made.prepared, Part(context, 0.0, 0.5))
    found = risks_of(document, made, population, Part(context, 0.5, 1.0))
    unit = "" if document.unit is None else document.unit.name
    return told(found, population, decided_in(document).sampling_fraction, unit)


def _making(project: ProjectFile, found: Published, source: Source, override: str) -> Making:
    contradictions = contradictions_of(found, source, project.releases)
    if not override:
        check_exposure(contradictions)
    release_id = _identifier(project, found)
    return Making(
        document=found.document,
        source=source,
        recipient=PUBLIC,
        release_id=release_id,
        contents=partial(_contents, project.keys, found, release_id, bool(contradictions)),
        details=_details(found),
        contradictions=contradictions,
        override=override,
    )


def contradictions_of(
    published: Published, source: Source, releases: Iterable[ReleaseRecord]
) -> dict[str, str]:
    """Return what speaks against publishing a table beside earlier releases, by column."""
    found: dict[str, str] = {}
    sensitive = published.decided.sensitive
    for release in releases:
        if not release.counts:
            continue
        then = {"recipient": release.recipient, "day": release.day}
        if any(sensitive in plan.attributes for plan in release.plans):
            found.setdefault(
                sensitive,
                Sentence(
                    "{sensitive} was perturbed for {recipient} on {day}, and a generalized table"
                    " shows its true values: whoever has both can tell which perturbed values are"
                    " true, and whose they are",
                    sensitive=sensitive,
                    **then,
                ),
            )
        for column in set(release.open_columns) & set(published.decided.quasi_identifiers):
            if not release.is_publication:
                found.setdefault(
                    column,
                    Sentence(
                        "{column} was released ungeneralized to {recipient} on {day}, so whoever"
                        " has both finds people in it by their exact values",
                        column=column,
                        **then,
                    ),
                )
        if release.is_publication and rows_of(release.source) != rows_of(source):
            found.setdefault(
                sensitive,
                Sentence(
                    "another edition of the table was published on {day}, so whoever has both"
                    " sees in the differences the {sensitive} of people who came, left or changed",
                    sensitive=sensitive,
                    **then,
                ),
            )
        if release.is_publication and not _same_or_coarser(published, release):
            found.setdefault(
                sensitive,
                Sentence(
                    "another generalized table with {sensitive} was published on {day}, with"
                    " levels that are neither all higher nor all lower: the two together can"
                    " narrow somebody's value",
                    sensitive=sensitive,
                    **then,
                ),
            )
    return found


def _same_or_coarser(published: Published, earlier: ReleaseRecord) -> bool:
    """Whether of two generalizations one says nothing that the other does not."""
    facts = earlier.details["generalization"]
    mine = _facts(published)
    if any(facts.get(name) != mine[name] for name in ("quasi_identifiers", "hierarchies")):
        return False
    pairs = list(zip(facts["levels"], mine["levels"], strict=True))
    if facts["suppressed_rows"] or mine["suppressed_rows"]:
        return all(one == other for one, other in pairs)
    return all(one <= other for one, other in pairs) or all(one >= other for one, other in pairs)


def _facts(published: Published) -> dict[str, Any]:
    """Return what the ledger keeps of a generalization."""
    decided = published.decided
    return {
        "sensitive": decided.sensitive,
        "quasi_identifiers": list(decided.quasi_identifiers),
        "levels": [int(level) for level in published.node],
        "hierarchies": hierarchies_digest(published.searched.prepared.hierarchies),
        "suppressed_rows": published.made.classes.suppressed,
        # What is known of the population changes nothing about the table.
        "decided": to_plain(replace(decided, population=None, sampling_fraction=None)),
    }


def hierarchies_digest(hierarchies: Sequence[Hierarchy]) -> str:
    """Return what two generalizations share exactly when their hierarchies are the same."""
    digest = hashlib.sha256()
    for hierarchy in hierarchies:
        digest.update(canonical_json([hierarchy.column, table_of(hierarchy)]).encode())
    return digest.hexdigest()


def _details(published: Published) -> dict[str, Any]:
    return {
        "entries": [],
        "domains": {},
        "open_columns": list(published.made.columns),
        "generalization": _facts(published),
        "risk": published.risk,
        "alone": told_alone(published.alone),
    }


def _identifier(project: ProjectFile, published: Published) -> str:
    """Return the publication's identifier: keyed, so that it can't confirm a guessed table."""
    source = published.document.source
    content = {
        "project": project.project_id,
        "generalization": _facts(published),
        "columns": to_plain(published.document.columns),
        "source": None if source is None else [source.digest, source.rows],
        "row_order": order_to_tell(published.document.rows_as_in_table)["order"],
    }
    key = project.secret.derive("release identifier")
    return hmac.new(key, canonical_json(content).encode(), "sha256").hexdigest()[:32]


def _contents(
    keys: KeyRing, published: Published, release_id: str, contradicted: bool, context: Context
) -> BundleContents:
    """Return what a publication's bundle holds."""
    context.report(0.0, "Describing the table")
    told = generalized_facts(published)
    if contradicted:
        told = replace(told, limits=(CONTRADICTED, *told.limits))
    document, made = published.document, published.made
    table, order = rows_made(made, keys, release_id, bool(document.rows_as_in_table))
    return BundleContents(
        table=table,
        columns=tuple(_spec(made, document.column(name)) for name in made.columns),
        perturbations=(),
        recipient=PUBLIC,
        title=document.title,
        release_id=release_id,
        version=__version__,
        generalized=told,
        rows_as_in_table=bool(document.rows_as_in_table),
        order=order,
        language=spoken(),
    )


def rows_made(
    made: ClassedRows,
    keys: KeyRing,
    release_id: str,
    rows_as_in_table: bool,
    whose: KeyRing | None = None,
) -> tuple[Table, RowStream]:
    """Return published rows of every sort, and what makes all of them while they are written.

    Where rows belong to units, a last column says `whose` they are, under keys if these are given.
    """
    document, table = made.prepared.document, made.prepared.table
    unit, of_rows = document.unit, None
    read = {*made.columns, *(() if document.record_key is None else (document.record_key,))}
    if unit is not None and whose is not None:
        read |= set(unit.columns)

        def of_rows(batch: pa.RecordBatch, _places: Places) -> Marks:
            return units_in(batch, unit, whose)

    witnesses, places = _of_every_sort(made, read)
    plan = Plan(
        columns=document.columns,
        record_key=document.record_key,
        entries=(),
        released=made.columns,
        rows_as_in_table=rows_as_in_table,
        schema=schema_of(witnesses, read),
        release_id=release_id,
    )
    releaser = plan.bind(keys, made, leaving=True, placed=True)
    frame, _ = releaser.shown_alone(witnesses, places)
    labels = {
        name: texts
        for name, texts in table.batches.value_labels.items()
        if name in made.columns and name not in made.changed
    }
    named = table.batches.column_labels
    titles = {name: text for name, text in named.items() if name in made.columns}
    return Table(frame, labels, titles), stream_of(releaser, table, of_rows, made.chosen())


def _of_every_sort(made: ClassedRows, names: Collection[str]) -> tuple[Table, Places]:
    """Return rows that show, of some columns, whatever decides how published ones are stored."""
    table, chosen = made.prepared.table, made.chosen()
    if chosen is None:
        summary = looked_at(made.prepared.document, table, Silent())
        return summary.witnesses, summary.places
    types = {name: kind for name, kind in table.batches.types.items() if name in names}
    found = Witnesses(types, made.columns)
    for read in table.read(list(types), "Looking at the rows", Silent()):
        batch, rows = chosen.of(*read)
        if len(rows):
            found.keep(batch, found.of(batch), rows)
    return found.gathered(table.batches)


def _spec(made: ClassedRows, spec: ColumnSpec) -> ColumnSpec:
    """Return a published column's specification: generalized ones hold labels."""
    if spec.name not in made.changed:
        return spec
    labels = Domain(made.labels(spec.name))
    return ColumnSpec(spec.name, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, labels)


def generalized_facts(published: Published) -> Generalized:
    """Return what is told about a generalized table."""
    decided, prepared = published.decided, published.searched.prepared
    unit = published.document.unit
    levels = {
        hierarchy.column: (int(level), hierarchy.height - 1)
        for hierarchy, level in zip(prepared.hierarchies, published.node, strict=True)
    }
    shown = {name: level for name, (level, _) in levels.items()}
    rows = published.made.classes.suppressed
    left = {
        Suppressed.DROPPED: Sentence(
            "{rows:,} {rows:record|records} that stood out {rows:was|were} left out.", rows=rows
        ),
        Suppressed.STARRED: Sentence(
            '{rows:,} {rows:record|records} that stood out {rows:has|have} "*" in all these'
            " columns.",
            rows=rows,
        ),
    }
    return Generalized(
        sensitive=decided.sensitive,
        levels=levels,
        promises=tuple(criterion.promise for criterion in prepared.criteria),
        parameters={
            "criteria": [{"kind": c.kind, **c.numbers} for c in decided.criteria],
            "beside_tables_of": [other.holder for other in decided.others],
            "suppression": decided.suppression,
            **({"k_counts_distinct": unit.name} if unit is not None else {}),
        },
        suppression=left[decided.suppressed] if rows else "",
        limits=(
            *filter(None, [labels_sentence(labels_from_rows(published.document, [shown]))]),
            *publication_limits(published.document, published.alone, advice=False),
            *LIMITS,
        ),
        hierarchies={
            hierarchy.column: _above(hierarchy, level, published)
            for hierarchy, level in zip(prepared.hierarchies, published.node, strict=True)
        },
    )


def _above(hierarchy: Hierarchy, level: int, published: Published) -> tuple[tuple[str, ...], ...]:
    """Return how the published labels become coarser; nothing below them."""
    shown = set(published.made.labels(hierarchy.column))
    rows = dict.fromkeys(row[level:] for row in table_of(hierarchy))
    return tuple(row for row in rows if row[0] in shown)
