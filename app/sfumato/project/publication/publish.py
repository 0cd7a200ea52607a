"""Publishing a generalized table: checked from its own rows, crash-safe, never side by side.

A generalized table shows true sensitive values, so it must not stand beside perturbed releases
of the same records, nor beside another generalization that could be intersected with it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from sfumato import __version__
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.errors import DiversityError, LadderError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence, joined
from sfumato.engine.generalization.checker import PublicationCheck
from sfumato.engine.generalization.criteria import Suppressed
from sfumato.engine.generalization.hierarchies import Hierarchy
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.combinations import Marks
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.contents import Generalized
from sfumato.formats.bundles.writing import BundleContents
from sfumato.formats.hierarchies import table_of
from sfumato.formats.language import spoken
from sfumato.formats.table_format import RowStream
from sfumato.formats.tables import format_called
from sfumato.project.approval import require_approval
from sfumato.project.document.generalization import Generalization
from sfumato.project.document.model import (
    Document,
    Recipient,
    TableSource,
    canonical_json,
    to_plain,
)
from sfumato.project.ledger import ReleaseRecord, order_to_tell
from sfumato.project.project_file import ProjectFile
from sfumato.project.publication.editions import (
    ComparedEdition,
    compared_edition,
    not_comparable,
)
from sfumato.project.publication.followed import FOLLOWED, first_edition, obstacle_beside
from sfumato.project.publication.generalization_pipeline import (
    chosen_node,
    looked_at,
    published_rows,
    refuse_no_solution,
    search_table,
)
from sfumato.project.publication.population import read_population, risks_of, told
from sfumato.project.publication.prepared import ClassedRows, counted_rows, decided_in
from sfumato.project.recovery import AtStep, no_step
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.batches import schema_of
from sfumato.project.release.bundle_making import (
    BundleSpec,
    ReleaseOutcome,
    make_bundle,
    taking_turns,
)
from sfumato.project.release.byproducts import labels_from_rows, labels_sentence
from sfumato.project.release.plan import Plan
from sfumato.project.release.release import bundle_stem, source_of
from sfumato.project.release.release_columns import texts_of_codes
from sfumato.project.release.release_compatibility import (
    CONTRADICTED,
    check_source,
    rows_of,
)
from sfumato.project.release.release_stream import UNIT, WHERE, stream_of
from sfumato.project.release.uniqueness import (
    AloneInPublication,
    publication_limits,
    told_alone,
)
from sfumato.project.release.units import Places, units_in
from sfumato.project.release.witnesses import TypeEvidence

PUBLIC: Final = "the public"
"""For whom a table is published."""

LIMITS: Final = (
    "Whoever knows more about a person than these columns say (somebody in the same group, a"
    " value that is ruled out) can narrow the person's value further.",
    "The sensitive values that occur in a group are shown, and how often; if one of them is much"
    " more frequent, it is much more probable.",
    "That somebody is in the table stays visible.",
)


class EditionConflict(LadderError):
    """Another edition was published, with which the table can be compared."""


@dataclass(frozen=True)
class Published:
    """What will be published, before any file of it exists.

    Parameters
    ----------
    document
        What it is made by.
    decided
        What is decided about it.
    made
        The classes of its node, by which its rows are made.
    risk
        How likely somebody is found in it (`sfumato.project.publication.population.told`).
    alone
        The records that are alone by columns it shows exactly; None where it shows none so.
    edition
        The earlier edition that it was compared with.
    follows
        The editions that it follows with counterfeits.
    remembered
        What is remembered of it, so that others can follow it; None where they can't.
    shown
        A digest of what it shows, where that is not what the table has.
    """

    document: Document
    decided: Generalization
    made: ClassedRows
    risk: dict[str, Any]
    alone: AloneInPublication | None
    edition: ComparedEdition | None = None
    follows: tuple[ReleaseRecord, ...] = ()
    remembered: dict[str, Any] | None = field(default=None, repr=False)
    shown: str = ""

    @property
    def node(self) -> Node:
        """The level of each quasi-identifier."""
        return self.made.node


def publish_table(
    project: ProjectFile,
    table: BatchedTable,
    out_folder: Path,
    format_name: str,
    context: Context,
    as_zip: bool = False,
    *,
    override: str = "",
    earlier: Path | None = None,
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
        The source table.
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
    earlier
        The bundle of an earlier edition, which it may follow if both leave enough.
    escape_formulas, dcat, at_step
        See `BundleSpec` and `make_bundle`.

    Raises
    ------
    DiversityError
        If nothing is decided, no node is safe, the check fails, or `earlier` tells much.
    LadderError
        If it would stand beside perturbed releases or another generalization.
    SfumatoError
        As `source_of`, `check_source`, `search_table`, `read_population` and `make_bundle`.
    """
    format_called(format_name)
    with taking_turns(project, context):
        document, rows = project.document, table.whole
        source = source_of(document, rows)
        check_source(document, source, project.releases)
        found = publication_of(document, rows, Part(context, 0.0, 0.4))
        found = beside_edition(found, earlier, project.releases, Part(context, 0.4, 0.45))
        found = _remembered(found, project.keys, Part(context, 0.45, 0.5))
        making = bundle_spec(
            project, found, source, override, partial(_contents, project.keys, found)
        )
        making = replace(making, escape_formulas=escape_formulas, dcat=dcat)
        part = Part(context, 0.5, 1.0)
        return bundle_made(project, making, out_folder, format_name, part, as_zip, at_step)


def bundle_made(
    project: ProjectFile,
    making: BundleSpec,
    out_folder: Path,
    format_name: str,
    context: Context,
    as_zip: bool,
    at_step: AtStep,
) -> ReleaseOutcome:
    """Make the bundle of a table that may be published; see `publish_table`."""
    stem = bundle_stem(making.document, Recipient("generalized"), making.release_id, format_name)
    target = Path(out_folder).absolute() / (f"{stem}.zip" if as_zip else stem)
    return make_bundle(project, making, target, format_name, context, as_zip, at_step)


def publication_of(document: Document, table: BatchedTable, context: Context) -> Published:
    """Return the generalized table that a document asks for, checked.

    Raises
    ------
    DiversityError
        If no generalization satisfies the criteria, or the chosen one does not.
    """
    searched = search_table(document, table, Part(context, 0.0, 0.5))
    refuse_no_solution(document, searched)
    made = published_rows(searched.prepared, chosen_node(document, searched))
    counted = counted_rows(made, Part(context, 0.5, 0.8))
    refuse_unkept(counted.check)
    risk = _risk(document, made, Part(context, 0.8, 1.0))
    return Published(document, decided_in(document), made, risk, counted.alone)


def beside_edition(
    published: Published,
    bundle: Path | None,
    releases: Sequence[ReleaseRecord],
    context: Context,
) -> Published:
    """Return a table that may follow an earlier edition; raises what `compared_edition` does."""
    if bundle is None:
        return published
    told = (published.made, _facts(published), releases)
    return replace(published, edition=compared_edition(bundle, *told, context))


def _remembered(published: Published, keys: KeyRing, context: Context) -> Published:
    """Return a table with what others that follow it need to know of it."""
    added = first_edition(published.made, keys, context)
    if added is None:
        return published
    return replace(published, remembered={**added.facts, "edition": 1})


def _risk(document: Document, made: ClassedRows, context: Context) -> dict[str, Any]:
    """Return how likely somebody is found in a table, before and after."""
    population = read_population(document, made.prepared, Part(context, 0.0, 0.5))
    found = risks_of(document, made, population, Part(context, 0.5, 1.0))
    unit = "" if document.unit is None else document.unit.name
    return told(found, population, decided_in(document).sampling_fraction, unit)


def bundle_spec(
    project: ProjectFile,
    found: Published,
    source: TableSource,
    override: str,
    contents: Callable[[str, bool, Context], BundleContents],
) -> BundleSpec:
    """Return what a table's bundle is made by, unless it contradicts earlier releases.

    Parameters
    ----------
    project, found, source
        The project, what is published, and the table that it is made from.
    override
        The reason to publish it beside releases that it contradicts.
    contents
        Returns what it holds, by its identifier and whether it contradicts earlier releases.

    Raises
    ------
    LadderError
        If it does, and no reason is given.
    """
    approved = require_approval(project, PUBLIC)
    against = list(_against(found, source, project.releases))
    contradictions = {each.column: each.sentence for each in reversed(against)}
    if against and not override.strip():
        kind = EditionConflict if against[0].is_edition else LadderError
        raise kind(
            "{contradiction}.",
            "{advice}",
            contradiction=against[0].sentence,
            advice=joined(
                against[0].remedy,
                Sentence("Or publish in spite of it by stating a reason, which the ledger keeps."),
            ),
        )
    release_id = _identifier(project, found)
    return BundleSpec(
        document=found.document,
        source=source,
        recipient=PUBLIC,
        release_id=release_id,
        contents=partial(contents, release_id, bool(contradictions)),
        details={**_details(found), **approved},
        contradictions=contradictions,
        override=override.strip(),
    )


@dataclass(frozen=True)
class _Contradiction:
    """What speaks against publishing a table, of which column, and what helps."""

    column: str
    sentence: Sentence
    remedy: Sentence
    is_edition: bool = False


def _against(
    published: Published, source: TableSource, releases: Sequence[ReleaseRecord]
) -> Iterator[_Contradiction]:
    """Yield what speaks against publishing a table beside earlier releases."""
    sensitive = published.decided.sensitive
    counting = [release for release in releases if release.counts]
    published_then = {rows_of(one.source) for one in counting if one.is_publication}
    before = len(published_then - {rows_of(source)})
    followed = {each.number for each in published.follows}
    for release in counting:
        then = {"recipient": release.recipient, "day": release.day}
        if any(sensitive in plan.attributes for plan in release.plans):
            yield _Contradiction(
                sensitive,
                Sentence(
                    "{sensitive} was perturbed for {recipient} on {day}, and a generalized table"
                    " shows its true values: whoever has both can tell which perturbed values are"
                    " true, and whose they are",
                    sensitive=sensitive,
                    **then,
                ),
                Sentence("Publish a table with another sensitive attribute."),
            )
        for column in set(release.open_columns) & set(published.decided.quasi_identifiers):
            if not release.is_publication:
                yield _Contradiction(
                    column,
                    Sentence(
                        "{column} was released ungeneralized to {recipient} on {day}, so whoever"
                        " has both finds people in it by their exact values",
                        column=column,
                        **then,
                    ),
                    Sentence(
                        "Leave {column} out of this table by marking it as identifying.",
                        column=column,
                    ),
                )
        if release.is_publication and release.number not in followed:
            others = (release, before, releases)
            yield from _against_publication(published, source, *others)


def _against_publication(
    published: Published,
    source: TableSource,
    release: ReleaseRecord,
    before: int,
    releases: Sequence[ReleaseRecord],
) -> Iterator[_Contradiction]:
    """Yield what speaks against publishing a table beside an earlier generalized one.

    `before` says how many other editions were published.
    """
    sensitive, then = published.decided.sensitive, {"day": release.day}
    edition = published.edition
    if rows_of(release.source) != rows_of(source) and not (edition and edition.covers(release)):
        yield _Contradiction(
            sensitive,
            Sentence(
                "another edition of the table was published on {day}, so whoever has both sees in"
                " the differences the {sensitive} of people who came, left or changed",
                sensitive=sensitive,
                **then,
            ),
            *_edition_remedy(published, release, before, releases),
        )
    if not _same_or_coarser(published, release):
        yield _Contradiction(
            sensitive,
            Sentence(
                "another generalized table with {sensitive} was published on {day}, with levels"
                " that are neither all higher nor all lower: the two together can narrow"
                " somebody's value",
                sensitive=sensitive,
                **then,
            ),
            Sentence(
                "Choose the earlier levels, or levels that are all higher or all lower, with the"
                " same columns and hierarchies."
            ),
        )


def _edition_remedy(
    published: Published,
    release: ReleaseRecord,
    before: int,
    releases: Sequence[ReleaseRecord],
) -> tuple[Sentence, bool]:
    """Return what helps where another edition was published, and whether comparing both may."""
    why, unlike = obstacle_beside(published.made, releases), None
    followed = Sentence(
        "Publish it with counterfeits, at the earlier levels: people who came since enter in"
        " groups, the records of those who left stay, and all editions together tell no more of"
        " anybody than how often each value occurs in one group."
        if why is None
        else "It can't follow with counterfeits, since {why}.",
        **({} if why is None else {"why": why}),
    )
    if before > 1:
        compared = Sentence(
            "More than two editions can't be compared, and {count:,} {count:other was|others were}"
            " published.",
            count=before,
        )
    elif (unlike := not_comparable(published.made, _facts(published), release)) is not None:
        compared = Sentence(
            "The two can't be compared, since {why}. You can open the earlier table.", why=unlike
        )
    else:
        compared = Sentence(
            "Compare it with that edition's bundle: it may follow if both leave enough values of"
            " everybody. Or open the earlier table."
        )
    told = (followed, compared) if why is None else (compared, followed)
    return joined(*told), before == 1 and unlike is None


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
        "hierarchies": hierarchies_digest(published.made.prepared.hierarchies),
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
        **({"edition": published.edition.facts} if published.edition is not None else {}),
        **({FOLLOWED: published.remembered} if published.remembered is not None else {}),
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
        **({"shown": published.shown} if published.shown else {}),
    }
    key = project.secret.derive("release identifier")
    return hmac.new(key, canonical_json(content).encode(), "sha256").hexdigest()[:32]


def _contents(
    keys: KeyRing, published: Published, release_id: str, contradicted: bool, context: Context
) -> BundleContents:
    """Return what a publication's bundle holds."""
    context.report(0.0, "Describing the table")
    told = generalized_facts(published, contradicted)
    if published.edition is not None:
        told = replace(told, promises=(*told.promises, published.edition.promise))
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
        terms=document.terms,
    )


def rows_made(
    made: ClassedRows,
    keys: KeyRing,
    release_id: str,
    rows_as_in_table: bool,
    whose: KeyRing | None = None,
) -> tuple[Table, RowStream]:
    """Return published rows of every sort, and what makes all of them while they are written.

    Where keys are given, further columns say `whose` rows are, under these, and where they stand.
    """
    document, table = made.prepared.document, made.prepared.table
    unit, beside = document.unit, {} if whose is None else dict(WHERE)
    read = {*made.columns, *(() if document.record_key is None else (document.record_key,))}
    if unit is not None and whose is not None:
        read |= set(unit.columns)

        def of_rows(batch: pa.RecordBatch, _places: Places) -> Marks:
            return units_in(batch, unit, whose)

        beside[UNIT] = of_rows

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
    releaser = plan.bind(keys, made, placed=True)
    frame = releaser.of_every_sort(witnesses, places)
    meant_otherwise = {one.name for one in document.columns if one.binning or one.coded}
    labels = {
        name: texts_of_codes(texts) if name in made.changed else texts
        for name, texts in table.batches.value_labels.items()
        if name in made.columns
        and not (name in made.changed and name in made.left_out | meant_otherwise)
    }
    named = table.batches.column_labels
    titles = {name: text for name, text in named.items() if name in made.columns}
    reasons = {
        name: known
        for name, known in table.batches.missing_reasons.items()
        if {name, known.companion} <= set(made.columns) and name not in made.changed
    }
    periods = {
        name: period
        for name, period in table.batches.periods.items()
        if name in made.columns and name not in made.changed
    }
    shown = Table(frame, labels, titles, missing_reasons=reasons, periods=periods)
    return shown, stream_of(releaser, table, beside, made.chosen())


def _of_every_sort(made: ClassedRows, names: Collection[str]) -> tuple[Table, Places]:
    """Return rows that show, of some columns, whatever decides how published ones are stored."""
    table, chosen = made.prepared.table, made.chosen()
    if chosen is None:
        summary = looked_at(made.prepared.document, table, Silent())
        return summary.witnesses, summary.places
    types = {name: kind for name, kind in table.batches.types.items() if name in names}
    found = TypeEvidence(table.batches, types, made.columns)
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


def generalized_facts(published: Published, contradicted: bool) -> Generalized:
    """Return what is told about a generalized table, which may contradict earlier releases."""
    decided, prepared = published.decided, published.made.prepared
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
            *([CONTRADICTED] if contradicted else []),
            *filter(None, [labels_sentence(labels_from_rows(published.document, [shown]))]),
            *publication_limits(published.document, published.alone, advice=False),
            *LIMITS,
        ),
        hierarchies={
            hierarchy.column: _above(hierarchy, level, published)
            for hierarchy, level in zip(prepared.hierarchies, published.node, strict=True)
        },
        starred=rows if decided.suppressed is Suppressed.STARRED else 0,
    )


def _above(hierarchy: Hierarchy, level: int, published: Published) -> tuple[tuple[str, ...], ...]:
    """Return how the published labels become coarser; nothing below them."""
    shown = set(published.made.labels(hierarchy.column))
    rows = dict.fromkeys(row[level:] for row in table_of(hierarchy))
    return tuple(row for row in rows if row[0] in shown)


def refuse_unkept(check: PublicationCheck) -> None:
    """Refuse a generalized table that does not keep what was asked when its rows are recounted."""
    if not check.holds:
        raise DiversityError(
            "The generalized table does not keep what was asked when it is read again, so it is"
            " not published.",
            "Look for labels that two classes share, and give them different names.",
        )
