"""Which columns an entry of the policy protects together, and what becomes of its levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms import mechanism_called, serving
from sfumato.engine.mechanisms.adoption import adopted_part, on_no_ladder
from sfumato.engine.mechanisms.base import Statement
from sfumato.engine.mechanisms.categorical import numbers_of, stated_gamma
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attribute, Attributes
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.document.promised import least_promised


def with_members(
    document: Document,
    key: str,
    members: Sequence[str],
    known: Mapping[str, Attribute],
    noise: KeyedNoise,
) -> Document:
    """Let a policy entry protect these attributes together.

    Whoever joins leaves the entry that covered it before; whoever leaves gets an entry of its
    own, with the same mechanism and the same levels for everybody.

    Parameters
    ----------
    document
        The policy.
    key
        The entry.
    members
        The attributes that it is to cover, at least one of those it covers now.
    known
        Every attribute concerned, by name.
    noise
        Draws noise for statistics of the table.

    Raises
    ------
    SfumatoError
        If a mechanism can't serve the attributes that it would have.
    """
    before = next(entry for entry in document.policy if entry.key == key)
    order = [column.name for column in document.sensitive]
    joined = tuple(sorted(members, key=order.index))
    left = [name for name in before.attributes if name not in joined]
    policy: list[tuple[PolicyEntry, PolicyEntry]] = []
    for entry in document.policy:
        if entry is before:
            groups = [joined, *((name,) for name in left)]
        else:
            groups = [tuple(name for name in entry.attributes if name not in joined)]
        policy += [
            (_regrouped(document, entry, group, known, noise), entry)
            for group in filter(None, groups)
        ]
    return _with_policy(document, policy, known)


def without_stray_attributes(
    document: Document, known: Mapping[str, Attribute], noise: KeyedNoise
) -> Document:
    """Take what is not sensitive any more out of the policy; the rest stays protected.

    An entry none of whose attributes is sensitive goes, with every level stated for it. One that
    protected several keeps those that are, at the same levels; where it can't be made for them
    alone, it stays as it was, for the policy to show what is wrong with it.

    Parameters
    ----------
    document
        The columns, with their roles as they are now, and the policy.
    known
        Every attribute that is left in an entry, by name, as far as it is known.
    noise
        Draws noise for statistics of the table.
    """
    sensitive = {column.name for column in document.sensitive}
    policy: list[tuple[PolicyEntry, PolicyEntry]] = []
    for entry in document.policy:
        left = tuple(name for name in entry.attributes if name in sensitive)
        if not left:
            continue
        try:
            known_all = set(left) <= set(known)
            changed = _regrouped(document, entry, left, known, noise) if known_all else entry
        except SfumatoError:
            changed = entry
        policy.append((changed, entry))
    if tuple(changed for changed, _ in policy) == document.policy:
        return document
    return _with_policy(document, policy, known)


def _with_policy(
    document: Document,
    policy: Sequence[tuple[PolicyEntry, PolicyEntry]],
    known: Mapping[str, Attribute],
) -> Document:
    """Return the document with new entries, each with the levels of the one it comes from."""
    recipients = tuple(
        replace(
            recipient,
            statements={
                changed.key: _restated(recipient.statements[origin.key], changed, origin, known)
                for changed, origin in policy
                if origin.key in recipient.statements
            },
        )
        for recipient in document.recipients
    )
    return replace(document, policy=tuple(changed for changed, _ in policy), recipients=recipients)


def _regrouped(
    document: Document,
    entry: PolicyEntry,
    names: tuple[str, ...],
    known: Mapping[str, Attribute],
    noise: KeyedNoise,
) -> PolicyEntry:
    """Return an entry for other attributes, with as much of its settings as fits them."""
    if names == entry.attributes:
        return entry
    attributes = tuple(known[name] for name in names)
    mechanism = mechanism_called(entry.mechanism)
    if all(attribute.domain is not None for attribute in attributes):
        # Values can be protected as one by another mechanism, at the same odds; numbers can't.
        mechanism = serving(attributes, entry.mechanism)
    mechanism.check_attributes(attributes)
    if mechanism.name == entry.mechanism:
        chosen = mechanism.resettled(attributes, entry.settings)
        settings = mechanism.complete_settings(attributes, chosen, noise)
    elif adopted_part(entry.settings):
        raise on_no_ladder(entry.key)
    else:
        bears = least_promised(document, attributes, known, entry)
        settings = mechanism.first_settings(attributes, noise, bears)
    return PolicyEntry(names, mechanism.name, dict(settings))


def _restated(
    statement: Statement,
    changed: PolicyEntry,
    origin: PolicyEntry,
    known: Mapping[str, Attribute],
) -> Statement:
    """Return the statement that means for other attributes what this one meant before.

    A width in the unit of an attribute that left would mean something else in another's. Where
    another mechanism takes over, the odds factor stays; what states one stays as it is.
    """
    if changed is origin or not set(origin.attributes) <= set(known):
        return statement
    mechanism = mechanism_called(origin.mechanism)
    before, after = (tuple(known[n] for n in e.attributes) for e in (origin, changed))
    if changed.mechanism != origin.mechanism:
        return _at_same_odds(statement, changed, origin, before, after)
    if all(attribute.domain is not None for attribute in after):
        return statement
    try:
        level = mechanism.level(statement, before, origin.settings)
        if mechanism.level(statement, after, changed.settings) == level:
            return statement
        found = mechanism.restate(level, after, changed.settings)
    except SfumatoError:
        return statement  # the policy says what is wrong with it
    term = next(t for t in mechanism.terms if {f.name for f in t.fields} == set(statement))
    return found.get(term.name, statement)


def _at_same_odds(
    statement: Statement,
    changed: PolicyEntry,
    origin: PolicyEntry,
    before: Attributes,
    after: Attributes,
) -> Statement:
    """Return a statement for another mechanism that lets odds grow as far as before."""
    was, now = mechanism_called(origin.mechanism), mechanism_called(changed.mechanism)
    try:
        if stated_gamma(numbers_of(statement)) is not None:
            now.level(statement, after, changed.settings)
            return statement
        odds = was.odds_factor(
            was.level(statement, before, origin.settings), before, origin.settings
        )
        if odds is None or not math.isfinite(odds):
            return now.default_statements(1)[0]
        level = now.level({"gamma": odds}, after, changed.settings) if odds > 1.0 else 0.0
        return now.restate(level, after, changed.settings)[now.terms[0].name]
    except SfumatoError:
        return now.default_statements(1)[0]
