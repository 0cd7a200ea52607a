"""Those who hold earlier releases, beside the recipients of this project's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.mechanisms import mechanism_called
from sfumato.project.document.adopted_files import AdoptedFile, adopted_files
from sfumato.project.document.model import PolicyEntry


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
