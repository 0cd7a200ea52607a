"""What several editions of the source table tell together about a record that changed.

A record's draws follow from its identifier and its true value. A record whose value stays shows
the same in every edition; one whose value changed is drawn afresh, so that a shown value that
changed proves it, and the record loses once for each value it had.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.wording import Sentence, joined
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Attribute
from sfumato.project.adoption.holders import rung_holders
from sfumato.project.document.entry_plan import plan_entry
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.ledger.records import ReleaseRecord
from sfumato.project.release.release_compatibility import rows_of


def edition_sentences(
    document: Document,
    attributes: Mapping[str, Attribute],
    releases: Iterable[ReleaseRecord],
) -> tuple[str, ...]:
    """Say what the editions tell together, one sentence a policy entry; most often nothing.

    Parameters
    ----------
    document
        The policy, its recipients, and the edition that the next release is made from.
    attributes
        What is known of the policy's attributes, by name; entries that lack one are left out.
    releases
        What the ledger tells of.
    """
    made = [record for record in releases if record.counts]
    told = []
    for entry in document.policy:
        if set(entry.attributes) <= set(attributes):
            levels = _levels_by_edition(document, entry, attributes, made)
            if len(levels) > 1:
                told.append(_sentence(entry, attributes, levels))
    return tuple(told)


def _levels_by_edition(
    document: Document,
    entry: PolicyEntry,
    attributes: Mapping[str, Attribute],
    made: Sequence[ReleaseRecord],
) -> list[float]:
    """Return the most trusted level at which each edition of an entry is or will be released."""
    found: dict[tuple[str, int, str], list[float]] = {}
    for record in made:
        for plan in record.plans:
            if (plan.attributes, plan.mechanism) == (entry.attributes, entry.mechanism):
                found.setdefault(rows_of(record.source), []).append(plan.level)
    if document.source is not None:
        planned = _planned_levels(document, entry, attributes)
        if planned:
            found.setdefault(rows_of(document.source), []).extend(planned)
    trust = mechanism_called(entry.mechanism).trust
    return [max(levels, key=trust) for levels in found.values()]


def _planned_levels(
    document: Document, entry: PolicyEntry, attributes: Mapping[str, Attribute]
) -> list[float]:
    levels = []
    for recipient in document.recipients:
        try:
            levels.append(plan_entry(document, entry, attributes, recipient).level)
        except SfumatoError:
            continue  # the guarantee says what this recipient lacks
    return levels


def _sentence(
    entry: PolicyEntry, attributes: Mapping[str, Attribute], levels: Sequence[float]
) -> str:
    mechanism = mechanism_called(entry.mechanism)
    if mechanism.needs_groups:
        proof = Sentence(
            "A record that shows a different value in a later edition, released at the same"
            " level, proves that a true value in its group has changed; a group without a change"
            " shows the same values."
        )
    else:
        proof = Sentence(
            "A record that shows a different value in a later edition, released at the same"
            " level, has certainly changed; a record that has not changed shows the same value."
        )
    chosen = tuple(attributes[name] for name in entry.attributes)
    return joined(
        Sentence(
            "{key} is released from {count} editions of the table.",
            key=entry.key,
            count=len(levels),
        ),
        proof,
        Sentence("For a record that has changed, the loss counts once for each value it has had."),
        # The law of what is fitted to an earlier release knows one value of each record.
        "" if rung_holders(entry) else mechanism.lost_by_changing(levels, chosen, entry.settings),
    )
