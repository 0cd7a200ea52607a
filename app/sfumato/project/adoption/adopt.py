"""Taking earlier releases, made elsewhere, onto a policy entry's ladder.

Further levels can only be fitted to files that are what the mechanism makes and that form a
ladder with one another. Of the files that were adopted, the most trusted one is always a rung,
and every less trusted one that fits all rungs above it. The others stand beside the ladder:
nothing is fitted to them, but their holders are counted, because whoever holds one of them
beside another release may know more than the most trusted of the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence, as_sentence, joined, listed
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.adoption import ADOPTED, Adopting, adopted_identity, without_adopted
from sfumato.engine.mechanisms.base import Mechanism, Settings
from sfumato.project.document.adopted_files import AdoptedFile, adopted_files, relocated
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.errors import AdoptionError
from sfumato.project.ledger import Entry, EntryKind, ReleaseRecord


def with_files(document: Document, key: str, files: Sequence[AdoptedFile]) -> Document:
    """Return the document with these adopted releases of an entry, and no others."""
    return replace(
        document,
        policy=tuple(
            replace(entry, settings=settings_with(entry.settings, files))
            if entry.key == key
            else entry
            for entry in document.policy
        ),
    )


def without_file(document: Document, key: str, digest: str) -> Document:
    """Return the document without one of the adopted releases."""
    entry = entry_called(document, key)
    kept = [file for file in adopted_files(entry.settings) if file.digest != digest]
    return with_files(document, key, with_rungs(kept, mechanism_called(entry.mechanism)))


def with_new_place(
    document: Document, key: str, digest: str, path: Path, context: Context
) -> Document:
    """Return the document with the new place of an adopted file.

    Raises
    ------
    AdoptionError
        If there is no file, or it is another one.
    """
    entry = entry_called(document, key)
    files = [
        relocated(file, path, context) if file.digest == digest else file
        for file in adopted_files(entry.settings)
    ]
    return with_files(document, key, files)


def with_rungs(files: Iterable[AdoptedFile], mechanism: Mechanism) -> tuple[AdoptedFile, ...]:
    """Return releases, the most trusted first, with each either a rung or beside the ladder."""
    judged: list[AdoptedFile] = []
    for file in sorted(files, key=lambda file: -mechanism.trust(file.level)):
        rungs = [other for other in judged if other.rung]
        fits = file.sound and not any(_apart(file, rung) for rung in rungs)
        judged.append(replace(file, rung=fits))
    return tuple(judged)


def check_not_released(
    before: PolicyEntry, after: PolicyEntry, releases: Iterable[ReleaseRecord]
) -> None:
    """Refuse to change the rungs of a ladder that somebody holds a release of already.

    Raises
    ------
    AdoptionError
        Naming the release and the way forward.
    """
    if adopted_identity(before.settings) == adopted_identity(after.settings):
        return
    for release in releases:
        if release.counts and any(release.plan_for(name) for name in after.attributes):
            raise AdoptionError(
                "{attribute} was released from this project to {recipient} on {date}, and what was"
                " released can't be fitted to another release afterwards.",
                "Earlier releases have to be adopted before the first release. Begin a new project"
                " for them, or leave them as they are.",
                attribute=after.key,
                recipient=release.recipient,
                date=release.day,
            )


def adopting(entry: PolicyEntry) -> Adopting:
    """Return the entry's mechanism as one that adopts.

    Raises
    ------
    AdoptionError
        If it does not.
    """
    mechanism = mechanism_called(entry.mechanism)
    if not mechanism.adopts or not isinstance(mechanism, Adopting):
        raise AdoptionError(
            "{mechanism} can't fit levels to releases that were made elsewhere.",
            "Choose a mechanism that can for {attribute}.",
            mechanism=as_sentence(mechanism.title),
            attribute=entry.key,
        )
    return mechanism


def settings_with(settings: Settings, files: Sequence[AdoptedFile]) -> dict[str, Any]:
    """Return settings with these adopted releases, and no others."""
    others = dict(without_adopted(settings))
    return {**others, ADOPTED: [file.to_dict() for file in files]} if files else others


def entry_called(document: Document, key: str) -> PolicyEntry:
    """Return the policy entry with a key; raise `AdoptionError` where there is none."""
    for entry in document.policy:
        if entry.key == key:
            return entry
    raise AdoptionError(
        "The policy has no entry {key}.",
        "Its entries are: {known}.",
        key=key,
        known=", ".join(entry.key for entry in document.policy) or "none",
    )


def _apart(one: AdoptedFile, other: AdoptedFile) -> bool:
    return other.digest in one.apart or one.digest in other.apart


def adoptions_to_record(document: Document, entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Return the details of every adoption of a document that the ledger does not have yet."""
    known = [_known(entry.details) for entry in entries if entry.kind == EntryKind.ADOPTED]
    found = []
    for entry in document.policy:
        for file in adopted_files(entry.settings):
            details = {
                "attribute": entry.key,
                "mechanism": entry.mechanism,
                "holder": file.holder,
                "release": file.to_dict(),
            }
            if _known(details) not in known:
                found.append(details)
    return found


def _known(details: Any) -> tuple[Any, ...]:
    """Return what makes an adoption the same one, wherever its file stands."""
    release = details["release"]
    return (
        details["attribute"],
        details["mechanism"],
        details["holder"],
        release["digest"],
        release["level"],
        release["rung"],
    )


@dataclass(frozen=True)
class AdoptedHolder:
    """Who holds an earlier release of a policy entry.

    Parameters
    ----------
    name
        The holder, or the file where nobody is named.
    trust
        The release's trust, from 0 to 1.
    file
        The release.
    """

    name: str
    trust: float
    file: AdoptedFile


def holders_of(entry: PolicyEntry) -> tuple[AdoptedHolder, ...]:
    """Return who holds earlier releases of an entry, the most trusted first.

    Raises
    ------
    AdoptionError
        If the settings don't tell properly of adopted releases.
    """
    mechanism = mechanism_called(entry.mechanism)
    found = (
        AdoptedHolder(file.called, mechanism.trust(file.level), file)
        for file in adopted_files(entry.settings)
    )
    return tuple(sorted(found, key=lambda holder: -holder.trust))


def rung_holders(entry: PolicyEntry) -> tuple[AdoptedHolder, ...]:
    """Return who holds earlier releases that further levels are fitted to."""
    return tuple(holder for holder in holders_of(entry) if holder.file.rung)


def beside_sentence(entries: Iterable[PolicyEntry]) -> str:
    """Say which adopted releases are no rungs, and what that means; empty where all are."""
    parts = []
    for entry in entries:
        names = list(
            dict.fromkeys(holder.name for holder in holders_of(entry) if not holder.file.rung)
        )
        if names:
            parts.append(Sentence("{entry} to {names}", entry=entry.key, names=listed(names)))
    if not parts:
        return ""
    which = "; ".join(parts)
    return Sentence(
        "This leaves out earlier releases that are not on the ladder ({which}): "
        "whoever holds one of them beside another release can learn more than from "
        "either, whatever is released from now on.",
        which=which,
    )


def part_sentence(entries: Iterable[PolicyEntry]) -> str:
    """Say which adopted rungs have some of the records only; empty where all have all."""
    parts = [
        Sentence(
            "The earlier release of {key} to {holder} has {part:,} of {whole:,}"
            " {whole:record|records}; for the others, who is trusted most of those left takes"
            " {holder}'s place.",
            key=entry.key,
            holder=holder.name,
            part=holder.file.part[0],
            whole=holder.file.part[1],
        )
        for entry in entries
        for holder in rung_holders(entry)
        if holder.file.part is not None
    ]
    return joined(*parts)
