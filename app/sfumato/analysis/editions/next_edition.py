"""What is told of a table's next edition before it is taken: counts, and what they disclose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from sfumato.analysis.answers import Answer, AnswerTable, CellKind, Severity
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.mechanisms import mechanism_called
from sfumato.project.document.model import Document
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.next_edition import ColumnChanges, EditionChanges, RecordChanges


def edition_answer(
    document: Document, releases: Sequence[ReleaseRecord], changes: EditionChanges
) -> Answer:
    """Say what an edition changes, and what that discloses beside the releases made already.

    Parameters
    ----------
    document
        What is decided today.
    releases
        What the ledger tells of.
    changes
        What was counted.
    """
    if changes.same:
        return Answer(
            (Sentence("The table is the one that the project has: nothing has changed."),),
            Severity.GOOD,
            leads_to="releases",
            facts=_facts(changes),
        )
    made = [record for record in releases if record.counts]
    protected = {name for entry in document.policy for name in entry.attributes}
    undecided = [one for one in changes.columns if one.undecided]
    exposed = [one for one in changes.columns if one.changed and one.name in protected and made]
    weighty = bool(undecided or exposed or changes.records is None)
    sentences = (
        *_records(changes),
        *_decided(changes, undecided),
        *(_disclosed(document, changes, made, protected) if made else ()),
    )
    return Answer(
        sentences,
        Severity.CAUTION if weighty else Severity.GOOD,
        remedies=tuple(_remedies(undecided, made)),
        leads_to="attributes" if undecided or changes.new_columns else "releases",
        tables=_tables(changes.columns),
        facts=_facts(changes),
    )


def _records(changes: EditionChanges) -> Iterator[str]:
    """Say which records stay, and how many of them changed."""
    found = changes.records
    if found is None:
        yield from changes.told
        yield Sentence(
            "The table of before is not at hand, or nothing identifies its records: which of them"
            " stay, and which of their values changed, can't be counted."
        )
    else:
        yield Sentence(
            "Identified by {column}, {stayed:,} {stayed:record stays|records stay}, {came:,}"
            " {came:is|are} new and {gone:,} {gone:is|are} gone.",
            column=changes.known_by,
            stayed=found.stayed,
            came=found.came,
            gone=found.gone,
        )
        if found.touched:
            yield Sentence(
                "Of those that stay, {count:,} {count:has another value|have other values} in at"
                " least one column.",
                count=found.touched,
            )
        elif found.stayed:
            yield Sentence("None of those that stay has another value.")
        if found.reordered:
            yield Sentence("Those that stay stand in another order, which changes nothing.")
    if changes.becomes_key:
        yield Sentence(
            "{column} becomes the record key, since it names each record and no release was made"
            " yet: from now on records are identified by it and not by their position.",
            column=changes.known_by,
        )


def _decided(changes: EditionChanges, undecided: Sequence[ColumnChanges]) -> Iterator[str]:
    """Say about what nothing is decided yet."""
    for one in undecided:
        yield Sentence(
            "{column} has {count:,} new {count:value|values}, in {records:,}"
            " {records:record|records}, about which nothing is decided: releases are refused until"
            " then.",
            column=one.name,
            count=one.new_values,
            records=one.records,
        )
    if changes.new_columns:
        yield Sentence(
            "New {count:column|columns}, left out of releases until a role is chosen: {columns}.",
            columns=listed(list(changes.new_columns)),
            count=len(changes.new_columns),
        )


def _disclosed(
    document: Document,
    changes: EditionChanges,
    made: Sequence[ReleaseRecord],
    protected: set[str],
) -> Iterator[str]:
    """Say what the changes tell somebody who holds releases of both editions."""
    found = changes.records
    if found is not None and found.stayed > found.touched:
        yield from _kept(document)
    shown = []
    for one in changes.columns:
        if one.changed and one.name in protected:
            yield Sentence(
                "{column} of {count:,} {count:record|records} gets new random values, since its"
                " value changed. Where another value is shown than before, whoever holds releases"
                " of both editions knows that it changed, and the loss counts once for each value.",
                column=one.name,
                count=one.changed,
            )
        elif one.changed and not document.column(one.name).is_dropped:
            shown.append(one.name)
    if shown:
        yield Sentence(
            "Changes in {columns} are seen by whoever can tell the rows of both editions together,"
            " as finely as {count:this column leaves|these columns leave}.",
            columns=listed(shown),
            count=len(shown),
        )
    if found is None or found.came or found.gone:
        yield Sentence(
            "Whoever holds releases of both editions can find out which records only one of them"
            " has; who is gone stays in the releases made already."
        )
    if any(record.is_publication for record in made):
        yield Sentence(
            "A generalized table was published: the next one is compared with it before it leaves,"
            " or follows it with counterfeits."
        )


def _kept(document: Document) -> Iterator[str]:
    """Say what is shown of records that did not change, and what other records decide of it."""
    grouped, alone = list[str](), list[str]()
    for entry in document.policy:
        by_group = mechanism_called(entry.mechanism).needs_groups
        (grouped if by_group else alone).extend(entry.attributes)
    if alone:
        yield Sentence(
            "Records in which nothing changed keep the random draws of {columns}, so that their two"
            " editions can't be averaged.",
            columns=listed(alone),
        )
    if grouped:
        yield Sentence(
            "What is shown of {columns} depends on the whole group of a record: it can be another"
            " also where the record itself did not change.",
            columns=listed(grouped),
        )
    if any(each.view is not None and each.view.suppression for each in document.recipients):
        yield Sentence(
            "Which rows or cells are suppressed depends on all records: whoever holds both editions"
            " can see what only one of them suppresses."
        )


def _remedies(undecided: Sequence[ColumnChanges], made: Sequence[ReleaseRecord]) -> Iterator[str]:
    """Say where new values are decided about."""
    released = {name for record in made for plan in record.plans for name in plan.attributes}
    for one in undecided:
        if one.name in released:
            yield Sentence(
                "{column} was released, and another domain would leave the ladder of those"
                " releases: give the new values one of the domain's values in the file, such as the"
                " one for all others, or leave these rows out.",
                column=one.name,
            )
        else:
            yield Sentence(
                "Give the new values of {column} a place in its domain or hierarchy, under"
                " Attributes or in the rules.",
                column=one.name,
            )


def _tables(columns: Sequence[ColumnChanges]) -> tuple[AnswerTable, ...]:
    if not columns:
        return ()
    headings: dict[str, CellKind] = {
        Sentence("Column"): CellKind.TEXT,
        Sentence("Changed values"): CellKind.COUNT,
        Sentence("New values"): CellKind.COUNT,
        Sentence("Records with them"): CellKind.COUNT,
    }
    rows = [(one.name, one.changed, one.new_values, one.records) for one in columns]
    return (AnswerTable(headings, rows),)


def _facts(changes: EditionChanges) -> dict[str, object]:
    found: RecordChanges | None = changes.records
    return {
        "same": changes.same,
        "rows": changes.rows,
        "known_by": changes.known_by,
        "becomes_record_key": changes.becomes_key,
        "records": None if found is None else asdict(found),
        "columns": [asdict(one) for one in changes.columns],
        "new_columns": list(changes.new_columns),
    }
