"""What is remembered of a published generalized table, so that further editions can follow it.

The ledger keeps, under its seal and in no bundle: of whom records are shown, as keyed hashes of
their record keys; how often each class shows each sensitive value; and what the labels stand for.
Of these, each publication adds what those before it did not show.

A hash has 40 bits. Of who shares one with somebody who is shown already, no record is ever shown:
among a million people and as many newcomers, one.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from json import loads
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.generalization.criteria import DistinctDiversity, KAnonymity, Suppressed
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import key_hashes
from sfumato.engine.table.combinations import Marks
from sfumato.formats.hierarchies import table_of
from sfumato.project.document.model import canonical_json, to_plain
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.publication.prepared import ClassedRows, Prepared
from sfumato.project.publication.public_counts import our_classes
from sfumato.project.release.bucket_counts import columns_of
from sfumato.project.release.release_compatibility import rows_of

FOLLOWED: Final = "followed"
"""What the ledger calls it."""
MOST_FOLLOWED: Final = 1_000_000
"""Of tables with more records, nobody is remembered: seven bytes of the ledger each."""
_BYTES: Final = 5

Labels = tuple[str | None, ...]
"""What a class shows of each quasi-identifier."""
Counts = Mapping[Labels, Mapping[str, int]]
"""How often each class shows each sensitive value, by the value's name."""
LabelRows = Mapping[str, Sequence[tuple[str, ...]]]
"""For each quasi-identifier, its hierarchy as a table."""


@dataclass(frozen=True)
class AddedRecords:
    """What one publication shows that those before it did not.

    Parameters
    ----------
    shown, hidden
        Whose records are shown from then on, and whose never will be, ascending.
    counts
        The records, counterfeits included.
    labels
        What labels stand for.
    made
        How many records belong to nobody.
    """

    shown: Marks = field(repr=False)
    hidden: Marks = field(repr=False)
    counts: Counts = field(repr=False)
    labels: LabelRows = field(repr=False)
    made: int = 0

    @property
    def facts(self) -> dict[str, Any]:
        """What the ledger keeps."""
        values = list(dict.fromkeys(name for own in self.counts.values() for name in own))
        places = {name: place for place, name in enumerate(values)}
        table = {
            "classes": [list(labels) for labels in self.counts],
            "values": values,
            "cells": [
                [number, places[name], count]
                for number, own in enumerate(self.counts.values())
                for name, count in own.items()
            ],
            "labels": {name: [list(row) for row in rows] for name, rows in self.labels.items()},
        }
        return {
            "shown": _text_of(self.shown),
            "hidden": _text_of(self.hidden),
            "table": b64encode(zlib.compress(canonical_json(table).encode())).decode(),
            "made": self.made,
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> AddedRecords:
        """Return what `facts` told."""
        table = loads(zlib.decompress(b64decode(facts["table"])))
        counts: dict[Labels, dict[str, int]] = {tuple(own): {} for own in table["classes"]}
        classes = list(counts)
        for number, place, count in table["cells"]:
            counts[classes[number]][table["values"][place]] = count
        labels = {name: [tuple(row) for row in rows] for name, rows in table["labels"].items()}
        marks = (_marks_of(facts["shown"]), _marks_of(facts["hidden"]))
        return cls(*marks, counts, labels, facts["made"])


def _text_of(marks: Marks) -> str:
    held = np.ascontiguousarray(marks, dtype="<u8").view(np.uint8).reshape(-1, 8)
    return b64encode(held[:, :_BYTES].tobytes()).decode()


def _marks_of(text: str) -> Marks:
    held = np.frombuffer(b64decode(text), dtype=np.uint8).reshape(-1, _BYTES)
    whole = np.zeros((len(held), 8), dtype=np.uint8)
    whole[:, :_BYTES] = held
    marks: Marks = whole.view("<u8")[:, 0].astype(np.uint64)
    return marks


def marks_of_keys(hashes: npt.NDArray[np.uint64]) -> Marks:
    """Return by what people are remembered, of the hashes of their record keys, shape (n,)."""
    marks: Marks = hashes & np.uint64((1 << 8 * _BYTES) - 1)
    return marks


@dataclass(frozen=True)
class FollowedEditions:
    """What several publications show together, the first of them and those that follow it.

    Parameters
    ----------
    releases
        The publications, oldest first.
    shown, hidden, counts, labels, made
        As in `AddedRecords`, of all of them together.
    """

    releases: tuple[ReleaseRecord, ...]
    shown: Marks = field(repr=False)
    hidden: Marks = field(repr=False)
    counts: Counts = field(repr=False)
    labels: LabelRows = field(repr=False)
    made: int

    @classmethod
    def of(cls, releases: Sequence[ReleaseRecord]) -> FollowedEditions:
        """Put together what publications added, of which the first one follows no other."""
        added = [AddedRecords.from_facts(each.details[FOLLOWED]) for each in _once(releases)]
        return cls(tuple(releases), *together(added))

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the ledger keeps of how the first one was generalized."""
        told: Mapping[str, Any] = self.releases[0].details["generalization"]
        return told

    @property
    def editions(self) -> list[tuple[object, ...]]:
        """The tables that they were made from, oldest first."""
        return list(dict.fromkeys(rows_of(each.source) for each in self.releases))


def _once(releases: Sequence[ReleaseRecord]) -> Iterator[ReleaseRecord]:
    """Yield the first publication, and those that add to it; not the first one made again."""
    for place, each in enumerate(releases):
        if place == 0 or each.details[FOLLOWED]["edition"] > 1:
            yield each


def together(
    added: Sequence[AddedRecords],
) -> tuple[Marks, Marks, Counts, LabelRows, int]:
    """Return whose records are shown and hidden, counts, labels, and how many were made up."""
    counts: dict[Labels, dict[str, int]] = {}
    labels: dict[str, dict[str, tuple[str, ...]]] = {}
    for each in added:
        for own, values in each.counts.items():
            known = counts.setdefault(own, {})
            for name, count in values.items():
                known[name] = known.get(name, 0) + count
        for column, rows in each.labels.items():
            labels.setdefault(column, {}).update((row[0], row) for row in rows)
    return (
        np.unique(np.concatenate([each.shown for each in added])),
        np.unique(np.concatenate([each.hidden for each in added])),
        counts,
        {column: list(rows.values()) for column, rows in labels.items()},
        sum(each.made for each in added),
    )


def first_edition(made: ClassedRows, keys: KeyRing, context: Context) -> AddedRecords | None:
    """Return what a table shows that follows no other; None where no other could follow it."""
    if obstacle_in(made) is not None:
        return None
    prepared, key = made.prepared, str(made.prepared.document.record_key)
    shown, hidden = list[Marks](), list[Marks]()
    read = list(dict.fromkeys((*made.changed, key)))
    for batch, _ in prepared.table.read(read, "Remembering whose records are shown", context):
        people = columns_of(batch, [key]).column(key)
        marks = marks_of_keys(key_hashes(people, keys, Silent())[:, 0])
        leave = made.leaves(columns_of(batch, made.changed))
        shown.append(marks[leave])
        hidden.append(marks[~leave])
    own, kept = our_classes(prepared, made.node).classes, made.classes.kept | (not made.drops)
    counts = counts_by_name(own.labels, own.counts * kept[:, None], prepared)
    whose = (np.unique(np.concatenate(shown)), np.unique(np.concatenate(hidden)))
    return AddedRecords(*whose, counts, label_rows(prepared))


def counts_by_name(
    labels: Sequence[Labels], counts: npt.NDArray[np.integer], prepared: Prepared
) -> dict[Labels, dict[str, int]]:
    """Return counts of classes, shape (C, m), by labels and values; classes without any go."""
    names, found = prepared.coded.values, dict[Labels, dict[str, int]]()
    for number, value in zip(*map(np.ndarray.tolist, np.nonzero(counts)), strict=True):
        own = found.setdefault(labels[number], {})
        own[names[value]] = own.get(names[value], 0) + int(counts[number, value])
    return found


def label_rows(prepared: Prepared) -> dict[str, list[tuple[str, ...]]]:
    """Return what the labels of a table's columns stand for."""
    return {each.column: list(table_of(each)) for each in prepared.hierarchies}


def obstacle_in(made: ClassedRows) -> Sentence | None:
    """Return why no other edition could follow a table with counterfeits, if so."""
    prepared, document = made.prepared, made.prepared.document
    decided = prepared.decided
    kinds = KAnonymity | DistinctDiversity
    asked = [each.l for each in prepared.criteria if isinstance(each, DistinctDiversity)]
    others = [each for each in prepared.criteria if not isinstance(each, kinds)]
    exact = [name for name in made.columns if name not in (*made.changed, decided.sensitive)]
    obstacles = (
        (
            document.record_key is None,
            Sentence("no record key tells who came and who left"),
        ),
        (
            bool(exact),
            Sentence(
                "{columns} {count:is|are} published unchanged, which a counterfeit can't show",
                columns=listed(exact) if exact else "",
                count=len(exact),
            ),
        ),
        (
            bool(document.rows_as_in_table),
            Sentence("rows in the table's order would tell which ones are counterfeits"),
        ),
        (document.unit is not None, Sentence("several rows of a unit come and go together")),
        (
            bool(others or decided.others or decided.public_counts) or not asked or max(asked) < 2,
            Sentence("only k-anonymity and distinct l-diversity are kept by counterfeits"),
        ),
        (
            made.suppressed is Suppressed.STARRED and bool(made.classes.suppressed),
            Sentence('records that stood out show "*", and would be in no class'),
        ),
        (
            prepared.coded.rows > MOST_FOLLOWED,
            Sentence(
                "more than {most:,} {most:record|records} can't be followed", most=MOST_FOLLOWED
            ),
        ),
    )
    return next((why for stands, why in obstacles if stands), None)


def obstacle_beside(made: ClassedRows, releases: Iterable[ReleaseRecord]) -> Sentence | None:
    """Return why a table can't follow what was published, with counterfeits, if so.

    Parameters
    ----------
    made
        The table as it is today, at any levels.
    releases
        All that were made.
    """
    published = publications_in(releases)
    unknown = [each for each in published if FOLLOWED not in each.details]
    if not published:
        return Sentence("no generalized table was published yet")
    if unknown:
        return Sentence(
            "of the table of {day} it was not remembered whose records it shows: it was published"
            " by an earlier version, or in a way in which no other edition can follow",
            day=unknown[0].day,
        )
    why = obstacle_in(made)
    return _differing(made, published) if why is None else why


def _differing(made: ClassedRows, published: Sequence[ReleaseRecord]) -> Sentence | None:
    """Return in what a table differs from those that it is to follow, if so."""
    prepared, decided = made.prepared, made.prepared.decided
    spec = prepared.document.column(decided.sensitive)
    followed = FollowedEditions.of(published)
    roots = {rows_of(e.source) for e in published if e.details[FOLLOWED]["edition"] == 1}
    told = [each.details["generalization"] for each in published]
    then, names = followed.facts, ("sensitive", "quasi_identifiers", "levels")
    now = {
        "sensitive": decided.sensitive,
        "quasi_identifiers": list(decided.quasi_identifiers),
        "criteria": to_plain(decided)["criteria"],
    }
    lost = {name for own in followed.counts.values() for name in own} - {*prepared.coded.values}
    obstacles = (
        (
            len(roots) > 1 or any(e[name] != then[name] for e in told for name in names),
            Sentence("several tables were published that don't follow one another"),
        ),
        (
            then["sensitive"] != now["sensitive"]
            or then["quasi_identifiers"] != now["quasi_identifiers"],
            Sentence("it has other columns than the earlier table"),
        ),
        (
            then["decided"]["criteria"] != now["criteria"],
            Sentence("other criteria are asked for than for the earlier table"),
        ),
        (
            spec.domain is None and spec.binning is None,
            Sentence(
                "it is not stated which values {column} can have, so that the rows would decide"
                " what counterfeits show",
                column=decided.sensitive,
            ),
        ),
        (
            bool(lost),
            Sentence(
                "the domain of {column} lacks values that were published",
                column=decided.sensitive,
            ),
        ),
    )
    why = next((why for stands, why in obstacles if stands), None)
    return _relabelled(prepared, followed) if why is None else why


def _relabelled(prepared: Prepared, followed: FollowedEditions) -> Sentence | None:
    """Return which column's labels stand for something else than before, if one's do."""
    levels = followed.facts["levels"]
    for hierarchy, level in zip(prepared.hierarchies, levels, strict=True):
        before = {row[0]: row[level:] for row in followed.labels[hierarchy.column]}
        now = {row[0]: row[level:] for row in table_of(hierarchy)}
        both = before.keys() & now.keys()
        if level >= hierarchy.height or any(before[value] != now[value] for value in both):
            return Sentence("the hierarchy of {column} is not what it was", column=hierarchy.column)
    return None


def publications_in(releases: Iterable[ReleaseRecord]) -> list[ReleaseRecord]:
    """Return the generalized tables that somebody may hold, oldest first."""
    return sorted(
        (each for each in releases if each.counts and each.is_publication),
        key=lambda each: each.number,
    )


def edition_told(release: ReleaseRecord) -> Sentence | None:
    """Say which edition a publication is, and what it shows of nobody; None for the first."""
    told = release.details.get(FOLLOWED)
    if told is None or told["edition"] < 2:
        return None
    return Sentence(
        "edition {edition}, {counterfeits:,} of {rows:,} {rows:record|records}"
        " {counterfeits:is a counterfeit|are counterfeits}",
        edition=told["edition"],
        counterfeits=told["counterfeits"],
        rows=told["rows"],
    )
