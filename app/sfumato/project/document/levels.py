"""A recipient's trust stated once, for every policy entry; single entries can be changed after."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from sfumato.engine.core.errors import LevelError, SfumatoError
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import LevelTerm, Mechanism, Statement
from sfumato.engine.table.table import Attribute, Attributes
from sfumato.project.document.model import Document, PolicyEntry


@dataclass(frozen=True)
class Stated:
    """What became of a level that was stated for several policy entries.

    Parameters
    ----------
    document
        With the levels that could be stated.
    statements
        The level of each entry that has it now, by its key.
    refused
        Why the others keep the level they had, by their keys.
    """

    document: Document
    statements: Mapping[str, Statement]
    refused: Mapping[str, SfumatoError]


def state_level(
    document: Document,
    recipient: str,
    statement: Statement,
    known: Mapping[str, Attribute],
    keys: Collection[str] = (),
) -> Stated:
    """State a recipient's level for several policy entries at once.

    An entry of categories whose mechanism knows the statement's terms takes it as it is: ε = 2 for
    one attribute is ε = 2 for another. The others get the level of the same trust, as numbers do
    among themselves: a width in the unit of one attribute means something else in another's.

    Parameters
    ----------
    document
        The policy and the recipients.
    recipient
        Whose level it is.
    statement
        The level, in the terms of at least one of the entries.
    known
        Every attribute of the policy, by name.
    keys
        The entries, the one it is stated for first; all where none is named.

    Raises
    ------
    LevelError
        If no entry knows the terms or can meet the level.
    """
    entries = {entry.key: entry for entry in document.policy}
    chosen = [entries[key] for key in keys] if keys else list(document.policy)
    origin, trust = _origin(chosen, statement, known)
    found: dict[str, Statement] = {}
    refused: dict[str, SfumatoError] = {}
    before = document.recipient(recipient).statements
    for entry in chosen:
        try:
            same = entry is origin
            found[entry.key] = dict(
                statement
                if same
                else _restated(entry, statement, trust, before.get(entry.key, {}), known)
            )
        except SfumatoError as error:
            refused[entry.key] = error
    recipients = tuple(
        replace(one, statements={**one.statements, **found}) if one.name == recipient else one
        for one in document.recipients
    )
    return Stated(replace(document, recipients=recipients), found, refused)


def _origin(
    entries: Collection[PolicyEntry], statement: Statement, known: Mapping[str, Attribute]
) -> tuple[PolicyEntry, float]:
    """Return the first entry that can meet a statement, and the trust that it means there."""
    refusal: SfumatoError | None = None
    for entry in entries:
        mechanism = mechanism_called(entry.mechanism)
        if not _knows(mechanism, statement):
            continue
        try:
            level = mechanism.level(statement, _attributes(entry, known), entry.settings)
        except SfumatoError as error:
            refusal = refusal or error
            continue
        return entry, mechanism.trust(level)
    if refusal is not None:
        raise refusal
    terms = dict.fromkeys(
        " and ".join(field.name for field in term.fields)
        for entry in entries
        for term in mechanism_called(entry.mechanism).terms
    )
    raise LevelError(
        "The policy has no level that is stated by {found}.",
        "State it by one of: {terms}.",
        found=" and ".join(statement),
        terms="; ".join(terms),
    )


def _restated(
    entry: PolicyEntry,
    statement: Statement,
    trust: float,
    before: Statement,
    known: Mapping[str, Attribute],
) -> Statement:
    """Return what a statement for another entry is for this one, which can meet it."""
    mechanism, attributes = mechanism_called(entry.mechanism), _attributes(entry, known)
    of_numbers = attributes[0].numbers is not None
    if not of_numbers and _knows(mechanism, statement):
        found = statement
    else:
        level = mechanism.level_at(max(trust, 1e-9))
        terms = mechanism.restate(level, attributes, entry.settings)
        wanted = next((t.name for t in mechanism.terms if _fields(t) == set(before)), "")
        found = terms.get(wanted) or terms[mechanism.terms[0].name]
    mechanism.level(found, attributes, entry.settings)
    return found


def _knows(mechanism: Mechanism, statement: Statement) -> bool:
    return any(_fields(term) == set(statement) for term in mechanism.terms)


def _fields(term: LevelTerm) -> set[str]:
    return {field.name for field in term.fields}


def _attributes(entry: PolicyEntry, known: Mapping[str, Attribute]) -> Attributes:
    return tuple(known[name] for name in entry.attributes)
