"""How far recipients are trusted, as one ε: by their levels, or as is typical."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.matrices.privacy import gamma_for_rho
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import TYPICAL_BELIEFS
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document, PolicyEntry, Recipient


def epsilon_for(
    document: Document,
    entry: PolicyEntry | None,
    recipient: Recipient | None,
    known: Mapping[str, Attribute],
    attributes: Sequence[Attribute],
) -> tuple[float, bool]:
    """Return the unit's ε for a recipient, and whether it was stated for these columns."""
    place = 0
    if recipient is not None:
        place = place_of(document, recipient)
        own = {**known, **{one.name: one for one in attributes}}
        entries = [one for one in (entry,) if one is not None]
        # Who has no level here yet is trusted as elsewhere.
        entries += () if entry is not None else document.policy
        for one in entries:
            told = epsilon_of(one, recipient, own)
            if told is not None:
                return told, one is entry
    return typical_epsilon(place), False


def least_promised(
    document: Document,
    attributes: Sequence[Attribute],
    known: Mapping[str, Attribute],
    entry: PolicyEntry | None = None,
) -> float:
    """Return the least ε that anyone is promised of an entry, or would be without one."""
    promised = [
        epsilon_for(document, entry, each, known, attributes)[0] for each in document.recipients
    ]
    return min(promised, default=typical_epsilon(len(TYPICAL_BELIEFS) - 1))


def least_promised_of(
    document: Document, entry: PolicyEntry, attributes: Sequence[Attribute]
) -> float:
    """Return the least ε that anyone is promised of an entry, or will be once it is made."""
    before = next((one for one in document.policy if one.key == entry.key), None)
    stated = [
        one.statements[entry.key] for one in document.recipients if entry.key in one.statements
    ]
    if before is None or before.mechanism != entry.mechanism:
        stated += mechanism_called(entry.mechanism).default_statements(len(document.recipients))
    told = [one["epsilon"] for one in stated if "epsilon" in one]
    return min([least_promised(document, attributes, {}, before), *told])


def place_of(document: Document, recipient: Recipient) -> int:
    """Return how many recipients stand before this one."""
    return [one.name for one in document.recipients].index(recipient.name)


def epsilon_of(
    entry: PolicyEntry, recipient: Recipient, known: Mapping[str, Attribute]
) -> float | None:
    """Return the ε that a recipient's level for an entry comes to; None where it bounds none."""
    statement = recipient.statements.get(entry.key)
    if statement is None or not known.keys() >= set(entry.attributes):
        return None
    mechanism, chosen = mechanism_called(entry.mechanism), [known[n] for n in entry.attributes]
    with suppress(SfumatoError):
        level = mechanism.level(statement, chosen, entry.settings)
        told = mechanism.restate(level, chosen, entry.settings).get("epsilon", {})
        if 0.0 < (found := told.get("epsilon", math.inf)) < math.inf:
            return found
    return None


def typical_epsilon(place: int) -> float:
    """Return ε of a typical recipient: a hunch of 10 % stays below 75, 50 or 25 %."""
    belief = TYPICAL_BELIEFS[min(place, len(TYPICAL_BELIEFS) - 1)]
    return math.log(gamma_for_rho(belief["rho1"], belief["rho2"]))
