"""Publishing a further edition of a generalized table, with counterfeits.

Its levels stay those of the first one. What it shows follows from how often each class shows each
sensitive value and from nothing else: no row of the table becomes a row of it, so that counterfeits
can't be told from others, and nobody can be linked through several editions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato import __version__
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.values import Integers, Value
from sfumato.engine.core.wording import Sentence
from sfumato.engine.generalization.checker import verify_publication
from sfumato.engine.generalization.coded import IntArray
from sfumato.engine.generalization.criteria import DistinctDiversity, KAnonymity
from sfumato.engine.generalization.editions import entering_groups, group_sizes
from sfumato.engine.generalization.publication import equivalence_classes
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import key_hashes, repeated_key
from sfumato.engine.randomness.row_order import order_words, release_order
from sfumato.engine.table.combinations import Marks
from sfumato.engine.table.table import Table, encode_attribute
from sfumato.formats.bundles.contents import BundleContents, Generalized
from sfumato.formats.language import spoken
from sfumato.formats.tables import format_called
from sfumato.project.document.model import canonical_json
from sfumato.project.project_file import ProjectFile
from sfumato.project.publication.followed import (
    AddedRecords,
    Counts,
    FollowedEditions,
    Labels,
    counts_by_name,
    label_rows,
    marks_of_keys,
    obstacle_beside,
    publications_in,
    together,
)
from sfumato.project.publication.generalization_pipeline import prepare
from sfumato.project.publication.prepared import ClassedRows, Prepared, decided_in
from sfumato.project.publication.public_counts import our_classes
from sfumato.project.publication.publish import (
    PUBLIC,
    Published,
    bundle_made,
    bundle_spec,
    generalized_facts,
    refuse_unkept,
    rows_made,
)
from sfumato.project.recovery import AtStep, no_step
from sfumato.project.release.batched_table import BatchedTable, naming_rows
from sfumato.project.release.bucket_counts import columns_of
from sfumato.project.release.bundle_making import ReleaseOutcome, taking_turns
from sfumato.project.release.release import source_of
from sfumato.project.release.release_compatibility import check_source, rows_of


@dataclass(frozen=True)
class FurtherEdition:
    """What a further edition shows.

    Parameters
    ----------
    number
        Which edition it is; the first one is 1.
    before
        Those that it follows.
    added
        What they did not show.
    counts
        How often each class shows each value, all of it.
    left, waiting, hidden
        How many of those who are shown left, how many people wait, and of how many no record is
        ever shown since the first edition left them out.
    """

    number: int
    before: FollowedEditions
    added: AddedRecords
    counts: Counts
    left: int
    waiting: int
    hidden: int

    @property
    def rows(self) -> int:
        """How many records it shows."""
        return sum(count for own in self.counts.values() for count in own.values())

    @property
    def counterfeits(self) -> int:
        """How many of them belong to nobody who is in the table."""
        return self.left + self.before.made + self.added.made

    @property
    def facts(self) -> dict[str, Any]:
        """What the ledger keeps."""
        return {
            **self.added.facts,
            "edition": self.number,
            "rows": self.rows,
            "counterfeits": self.counterfeits,
            "left": self.left,
            "waiting": self.waiting,
            "never": self.hidden,
        }

    @property
    def digest(self) -> str:
        """Return what two editions share exactly when they show the same."""
        cells = sorted(
            [*map(str, labels), name, str(count)]
            for labels, own in self.counts.items()
            for name, count in own.items()
        )
        return hashlib.sha256(canonical_json([self.number, cells]).encode()).hexdigest()


def publish_further(
    project: ProjectFile,
    table: BatchedTable,
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
    """Publish a further edition of a generalized table, with counterfeits.

    Parameters are those of `sfumato.project.publication.publish.publish_table`.

    Raises
    ------
    DiversityError
        If it can't follow what was published.
    LadderError
        If it would stand beside perturbed releases.
    SfumatoError
        As `source_of`, `check_source`, `prepare` and `make_bundle`.
    """
    format_called(format_name)
    with taking_turns(project, context):
        document, rows = project.document, table.whole
        source = source_of(document, rows)
        check_source(document, source, project.releases)
        prepared = prepare(document, rows, Part(context, 0.0, 0.2))
        followed = followed_by(prepared, project)
        made = _at_their_levels(prepared, followed)
        edition = further_edition(project, made, followed, Part(context, 0.2, 0.5))
        published = Published(
            document=document,
            decided=decided_in(document),
            made=made,
            risk={},
            alone=None,
            follows=followed.releases,
            remembered=edition.facts,
            shown=edition.digest,
        )
        contents = partial(_contents, project.keys, published, edition)
        making = bundle_spec(project, published, source, override, contents)
        making = replace(making, escape_formulas=escape_formulas, dcat=dcat)
        part = Part(context, 0.5, 1.0)
        return bundle_made(project, making, out_folder, format_name, part, as_zip, at_step)


def followed_by(prepared: Prepared, project: ProjectFile) -> FollowedEditions:
    """Return the editions that a table follows.

    Raises
    ------
    DiversityError
        If it can't follow what was published.
    """
    coded = prepared.coded
    classes = equivalence_classes(coded, coded.lattice.bottom)
    made = ClassedRows(prepared, coded.lattice.bottom, classes, prepared.decided.suppressed)
    why = obstacle_beside(made, project.releases)
    if why is not None:
        raise DiversityError(
            "No edition can follow with counterfeits, since {why}.",
            "Change that where it can be changed, or give a reason to publish without them.",
            why=why,
        )
    return FollowedEditions.of(publications_in(project.releases))


def _at_their_levels(prepared: Prepared, followed: FollowedEditions) -> ClassedRows:
    """Return today's rows in the classes of then, all of them."""
    node = tuple(followed.facts["levels"])
    classes = equivalence_classes(prepared.coded, node)
    return ClassedRows(prepared, node, classes, prepared.decided.suppressed)


def further_edition(
    project: ProjectFile, made: ClassedRows, followed: FollowedEditions, context: Context
) -> FurtherEdition:
    """Return what a further edition shows; raises what `entering_groups` does.

    Parameters
    ----------
    project
        Whose keys know people and draw values.
    made
        Today's rows, in the classes of then.
    followed
        The editions before it.
    context
        Progress and cancelling.
    """
    prepared = made.prepared
    today = our_classes(prepared, made.node).classes.labels
    labels = list(dict.fromkeys((*followed.counts, *today)))
    places = {own: place for place, own in enumerate(labels)}
    marks, classes, values = _people(made, project.keys, context)
    classes = np.array([places[own] for own in today], dtype=np.intp)[classes]
    hidden = np.isin(marks, followed.hidden)
    new = ~hidden & ~np.isin(marks, followed.shown)
    size = prepared.coded.size
    waiting = np.bincount(classes[new] * size + values[new], minlength=len(labels) * size).reshape(
        len(labels), size
    )
    k = max((e.k for e in prepared.criteria if isinstance(e, KAnonymity)), default=1)
    least = max(e.l for e in prepared.criteria if isinstance(e, DistinctDiversity))
    sizes = group_sizes(_matrix(followed.counts, labels, prepared), k, least)
    editions = [*followed.editions, rows_of(source_of(prepared.document, prepared.table))]
    number = len(dict.fromkeys(editions))
    draws = partial(_draws, project.keys, followed, number, labels, prepared)
    entering = entering_groups(waiting, sizes, least, draws)
    enters = new & entering.enters[classes]
    added = AddedRecords(
        np.unique(marks[enters]),
        np.zeros(0, dtype=np.uint64),
        counts_by_name(labels, entering.added, prepared),
        label_rows(prepared),
        int(entering.made.sum()),
    )
    before = AddedRecords(
        followed.shown, followed.hidden, followed.counts, followed.labels, followed.made
    )
    counts = together([before, added])[2]
    left = len(followed.shown) - int(np.isin(followed.shown, marks).sum())
    told = (left, int(new.sum() - enters.sum()), int(hidden.sum()))
    return FurtherEdition(number, followed, added, counts, *told)


def _people(made: ClassedRows, keys: KeyRing, context: Context) -> tuple[Marks, IntArray, Integers]:
    """Return each row's person, class and sensitive value, shape (n,) each."""
    prepared, document = made.prepared, made.prepared.document
    key, sensitive = str(document.record_key), prepared.decided.sensitive
    spec = document.column(sensitive)
    read = list(dict.fromkeys((*made.changed, sensitive, key)))
    hashes, classes, values = list[Marks](), list[IntArray](), list[Integers]()
    for batch, rows in prepared.table.read(read, "Looking who came and who left", context):
        part = columns_of(batch, [*made.changed, sensitive])
        with naming_rows(rows):
            hashes.append(
                key_hashes(columns_of(batch, [key]).column(key), keys, Silent())[:, 0].copy()
            )
            classes.append(made.classes_of(part))
            values.append(encode_attribute(part, spec).values.astype(np.int64))
    whole = np.concatenate(hashes)
    order = np.argsort(whole, kind="stable")
    alike = np.flatnonzero(np.diff(whole[order]) == 0)
    if len(alike):
        pairs = [(int(order[at]) + 1, int(order[at + 1]) + 1) for at in alike]
        raise repeated_key(key, pairs)
    return marks_of_keys(whole), np.concatenate(classes), np.concatenate(values)


def _matrix(counts: Counts, labels: list[Labels], prepared: Prepared) -> Integers:
    """Return counts by the names of values as numbers, shape (C, m)."""
    places = {name: place for place, name in enumerate(prepared.coded.values)}
    found = np.zeros((len(labels), prepared.coded.size), dtype=np.int64)
    for number, own in enumerate(labels):
        for name, count in counts.get(own, {}).items():
            found[number, places[name]] += count
    return found


def _draws(
    keys: KeyRing,
    followed: FollowedEditions,
    number: int,
    labels: list[Labels],
    prepared: Prepared,
    classes: IntArray,
) -> npt.NDArray[np.uint64]:
    """Return random numbers for the values of some classes, shape (F, m)."""
    drawn_for = f"{followed.releases[0].release_id} {number}"
    key = keys.for_statistics("counterfeits", drawn_for)
    cells = [
        canonical_json([labels[place], name]).encode()
        for place in classes.tolist()
        for name in prepared.coded.values
    ]
    ids = [int.from_bytes(hashlib.sha256(cell).digest()[:8], "big") for cell in cells]
    words = order_words(np.array(ids, dtype=np.uint64), key)[:, 0]
    return words.reshape(len(classes), prepared.coded.size)


# ----- the bundle


def _contents(
    keys: KeyRing,
    published: Published,
    edition: FurtherEdition,
    release_id: str,
    contradicted: bool,
    context: Context,
) -> BundleContents:
    """Return what an edition's bundle holds."""
    context.report(0.0, "Describing the table")
    document, made = published.document, published.made
    table = _table(keys, made, edition, release_id, context)
    told = _told(generalized_facts(published, contradicted), published, edition)
    _check(table, made.prepared)
    return BundleContents(
        table=table,
        columns=tuple(_spec(table, made, document.column(name)) for name in made.columns),
        perturbations=(),
        recipient=PUBLIC,
        title=document.title,
        release_id=release_id,
        version=__version__,
        generalized=told,
        language=spoken(),
        terms=document.terms,
    )


def _table(
    keys: KeyRing, made: ClassedRows, edition: FurtherEdition, release_id: str, context: Context
) -> Table:
    """Return the records that an edition shows, in an order of its own."""
    prepared, names = made.prepared, made.prepared.coded.names
    sensitive = prepared.decided.sensitive
    cells = sorted(
        (
            (own, name, count)
            for own, each in edition.counts.items()
            for name, count in each.items()
        ),
        key=lambda cell: (tuple(map(str, cell[0])), cell[1]),
    )
    repeated = np.repeat(np.arange(len(cells)), [count for _, _, count in cells])
    ids = np.arange(len(repeated), dtype=np.uint64)
    order = release_order(ids, keys.for_row_order(release_id), context)
    of_cell = repeated[order]
    like, _ = rows_made(made, keys, release_id, False)
    columns: dict[str, pd.Series] = {}
    for place, name in enumerate(names):
        shown = [own[place] for own, _, _ in cells]
        labels = list(dict.fromkeys(label for label in shown if label is not None))
        codes = {label: number for number, label in enumerate(labels)}
        own = [-1 if label is None else codes[label] for label in shown]
        of_row = np.array(own, dtype=np.intp)[of_cell]
        columns[name] = pd.Series(
            pd.Categorical.from_codes(of_row, dtype=pd.CategoricalDtype(labels))
        )
    of_value = {name: place for place, name in enumerate(prepared.coded.values)}
    values = np.array([of_value[name] for _, name, _ in cells])[of_cell]
    columns[sensitive] = _values_like(like.frame[sensitive], prepared.values, values)
    frame = pd.DataFrame({name: columns[name] for name in made.columns}, copy=False)
    return replace(like, frame=frame)


def _values_like(like: pd.Series, domain: Sequence[Value], codes: Integers) -> pd.Series:
    """Return values of a domain as the column of the table holds them."""
    if isinstance(like.dtype, pd.CategoricalDtype):
        known = [value for value in domain if value is not None]
        places: dict[Value, int] = {value: place for place, value in enumerate(known)}
        own = np.array([places.get(value, -1) for value in domain], dtype=np.intp)
        dtype = pd.CategoricalDtype(known, ordered=like.cat.ordered)
        return pd.Series(pd.Categorical.from_codes(own[codes], dtype=dtype))
    values = pd.Series(list(domain), dtype=object).astype(like.dtype)
    return values.take(codes).reset_index(drop=True)


def _spec(table: Table, made: ClassedRows, spec: ColumnSpec) -> ColumnSpec:
    """Return a column's specification: coarser ones hold labels."""
    if spec.name not in made.changed:
        return spec
    labels = Domain(tuple(map(str, table.frame[spec.name].cat.categories)))
    return ColumnSpec(spec.name, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, labels)


def _check(table: Table, prepared: Prepared) -> None:
    """Recount the records, by code that knows no counterfeits."""
    decided = prepared.decided
    asked = (decided.quasi_identifiers, decided.sensitive, prepared.criteria)
    refuse_unkept(verify_publication(table.frame, *asked))


def _told(told: Generalized, published: Published, edition: FurtherEdition) -> Generalized:
    """Return what recipients are told of an edition."""
    criteria = published.made.prepared.criteria
    least = max(each.l for each in criteria if isinstance(each, DistinctDiversity))
    # Of those who entered with somebody, any number may have left.
    alike = [
        Sentence(
            "Each record looks like at least {others} {others:other|others}, counterfeits"
            " included, in the columns that are shown more coarsely.",
            others=each.k - 1,
        )
        for each in criteria
        if isinstance(each, KAnonymity)
    ]
    kept = [each.promise for each in criteria if not isinstance(each, KAnonymity)]
    everything = Sentence(
        "Whoever holds all editions of this table, and knows this rule, everybody's class and"
        " who was in the table when, can narrow nobody's value to fewer than {l}"
        " {l:value|values}: of each person they learn how often each value occurs in one group"
        " of people who entered the table together.",
        l=least,
    )
    return replace(
        told,
        promises=(*alike, *kept, everything),
        counting=Sentence(
            "This is edition {edition} of the table. Everybody enters it once, in a group, and"
            " their record stays as it was then. {counterfeits:,} of the {rows:,}"
            " {rows:record|records}"
            " {counterfeits:is a counterfeit that belongs|are counterfeits that belong} to nobody"
            " in the table now: {left:,} {left:stands for somebody|stand for people} who left, and"
            " {made:,} {made:was|were} added so that a group shows enough values. Which ones is"
            " not told. {missing:,} {missing:person is|people are} in the table and not shown."
            " Shares and counts are of records, counterfeits included: of the people who are"
            " shown, at most {counterfeits:,} fewer than the records that you count had a value"
            " when they entered.",
            edition=edition.number,
            counterfeits=edition.counterfeits,
            rows=edition.rows,
            left=edition.left,
            made=edition.counterfeits - edition.left,
            missing=edition.waiting + edition.hidden,
        ),
        parameters={
            **told.parameters,
            "edition": edition.number,
            "counterfeits": {
                "left": edition.left,
                "added": edition.counterfeits - edition.left,
                "not_shown": edition.waiting + edition.hidden,
            },
        },
        hierarchies=_hierarchies(edition, published.made),
    )


def _hierarchies(
    edition: FurtherEdition, made: ClassedRows
) -> Mapping[str, tuple[tuple[str, ...], ...]]:
    """Return how the labels that are shown become coarser still."""
    before, added = edition.before.labels, edition.added.labels
    found = {}
    for place, name in enumerate(made.prepared.coded.names):
        level = made.node[place]
        shown = {str(labels[place]) for labels in edition.counts}
        rows = dict.fromkeys(row[level:] for row in (*before[name], *added[name]))
        found[name] = tuple(row for row in rows if row[0] in shown)
    return found
