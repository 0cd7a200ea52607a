"""The check of what a release tells: what is worthless to a recipient, and what mends that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sfumato.analysis.answers import Severity
from sfumato.analysis.findings import WORTH, About, Examined, Finding, Remedy, RemedyKind
from sfumato.analysis.utility.worth import (
    ColumnWorth,
    behind_of,
    columns_worth,
    details_kept,
)
from sfumato.analysis.utility.worth_helps import Help
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.adoption import adopted_part
from sfumato.engine.mechanisms.base import Statement
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.document.promised import epsilon_of, least_promised
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release.table_survey import Survey


def worth_of_columns(examined: Examined) -> Iterator[Finding]:
    """Name the columns that tell a recipient next to nothing, and what would help."""
    document, recipient = examined.document, examined.recipient
    if not document.policy:
        return
    columns = examined.columns
    known = (document, recipient, examined.attributes, behind_of(document, columns), columns.noise)
    found, _ = columns_worth(*known, columns=columns)
    for one in found:
        if one.worthless:
            yield Finding(
                WORTH,
                Severity.CAUTION,
                one.as_danger,
                (one.column, round(one.records, 3), one.of),
                (one.column,),
                tuple(_remedies(examined, one)),
                about=About.POLICY,
                worthless=True,
            )
    details = tuple(details_kept(recipient.name, examined.shown, examined.columns))
    for detail in details:
        if detail.worthless:
            yield Finding(
                WORTH,
                Severity.CAUTION,
                detail.sentence,
                (detail.column, round(detail.kept, 3), round(detail.hidden, 3)),
                (detail.column,),
                about=About.POLICY,
                worthless=True,
            )
    useful = [one for one in found if not one.worthless]
    if useful:
        least = min(useful, key=lambda one: one.records)
        words = "Of the randomised columns, the least useful one: {worth}"
        if len(useful) == 1:
            words = "{worth}"
        sentence = Sentence(words, worth=least.sentence)
        yield Finding(WORTH, Severity.GOOD, sentence, (), (least.column,), about=About.POLICY)
    elif kept := [one for one in details if not one.worthless]:
        detail = min(kept, key=lambda one: one.kept)
        told = detail.sentence
        yield Finding(WORTH, Severity.GOOD, told, (), (detail.column,), about=About.POLICY)


# ----- what mends it


def _remedies(examined: Examined, worth: ColumnWorth) -> Iterator[Remedy]:
    """Yield what would help as something to be done at once."""
    document = examined.document
    entry = next(one for one in document.policy if one.key == worth.entry)
    for each in worth.helps:
        if each.mechanism == entry.mechanism and each.level:
            yield _level(examined, entry, each, worth.column)
        elif each.mechanism != entry.mechanism and not adopted_part(entry.settings):
            yield from _mechanism(examined, entry, each, worth.column)


def _level(examined: Examined, entry: PolicyEntry, found: Help, column: str) -> Remedy:
    words = Sentence(
        "Change the level of {column} for {recipient}: {what}",
        column=column,
        recipient=examined.recipient.name,
        what=found.sentence,
    )
    levels = {examined.recipient.name: dict(found.level)}
    return Remedy(RemedyKind.LEVEL, words, column, entry=entry.key, levels=levels)


def _mechanism(
    examined: Examined, entry: PolicyEntry, found: Help, column: str
) -> Iterator[Remedy]:
    """Yield another mechanism, where it can state what everybody's level comes to now."""
    levels: dict[str, Statement] = {}
    for recipient in examined.document.recipients:
        if entry.key in recipient.statements:
            epsilon = epsilon_of(entry, recipient, examined.attributes)
            if epsilon is None:
                return
            levels[recipient.name] = {"epsilon": epsilon}
    words = Sentence(
        "Protect {column} by {mechanism}: {what}",
        column=column,
        mechanism=Sentence(mechanism_called(found.mechanism).title),
        what=found.sentence,
    )
    yield Remedy(
        RemedyKind.MECHANISM,
        words,
        column,
        entry=entry.key,
        levels=levels,
        mechanism=found.mechanism,
    )


def without_released(
    finding: Finding, document: Document, releases: Sequence[ReleaseRecord]
) -> Finding:
    """Return a finding without other mechanisms for what was released: it stays on its ladder."""
    released = {name for each in releases for plan in each.plans for name in plan.attributes}
    entries = {one.key: one.attributes for one in document.policy}
    kept = tuple(
        one
        for one in finding.remedies
        if one.deed is not RemedyKind.MECHANISM or released.isdisjoint(entries.get(one.entry, ()))
    )
    return finding if kept == finding.remedies else replace(finding, remedies=kept)


def with_levels(document: Document, remedy: Remedy) -> Document:
    """Return a document with the levels that a remedy states."""
    recipients = tuple(
        replace(one, statements={**one.statements, remedy.entry: dict(remedy.levels[one.name])})
        if one.name in remedy.levels
        else one
        for one in document.recipients
    )
    return replace(document, recipients=recipients)


def with_mechanism(
    document: Document, source: Survey, remedy: Remedy, noise: KeyedNoise
) -> Document:
    """Return a document in which another mechanism protects an entry, everybody at the same ε.

    Raises
    ------
    SfumatoError
        If the mechanism can't serve the columns.
    """
    entry = next(one for one in document.policy if one.key == remedy.entry)
    specs = [document.column(name) for name in entry.attributes]
    known: list[Attribute] = [
        replace(one, hierarchy=document.hierarchies.get(one.name))
        for one in source.attributes(specs, document.unit)
    ]
    settings: Mapping[str, object]
    stated = with_levels(document, remedy)
    made = PolicyEntry(entry.attributes, remedy.mechanism, {})
    bears = least_promised(stated, known, {}, made)
    settings = mechanism_called(remedy.mechanism).first_settings(known, noise, bears)
    made = replace(made, settings=dict(settings))
    policy = tuple(made if one is entry else one for one in document.policy)
    return replace(stated, policy=policy)
