"""What a person changes in a document: columns and their values, levels for all, levels apart.

Plain functions from one document, domain or binning to the next.

Two recipients at the same level get the same values, so a leaked file names them both. With a
spacing s, the recipient with mark k is released to at a level lower by the share k·s: still one
ladder, so that pooling tells no more, and every file has values of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from types import MappingProxyType
from typing import Final

import pandas as pd

from sfumato.engine.core.columns import (
    Binning,
    Coding,
    ColumnSpec,
    Domain,
    Kind,
    MissingRule,
    Pseudonym,
    Role,
)
from sfumato.engine.core.errors import DomainError, LevelError, PolicyError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Value, sort_key
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import LevelTerm, Mechanism, Settings, Statement
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attribute, Attributes
from sfumato.project.document.entry_plan import (
    LOWEST_SHARE,
    least_loss,
    level_of,
    widest_spacing,
)
from sfumato.project.document.members import without_stray_attributes
from sfumato.project.document.model import (
    MOST_SHOWN,
    Document,
    PolicyEntry,
    Recipient,
)


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


def check_shown(document: Document) -> None:
    """Refuse to show a document with too many recipients in the window.

    Raises
    ------
    PolicyError
        Naming the limit.
    """
    if len(document.recipients) > MOST_SHOWN:
        raise PolicyError(
            "There {count:is|are} {count:,} {count:recipient|recipients}, and the window shows"
            " {most:,} at most.",
            "Use the commands, such as sfumato check with --recipient.",
            count=len(document.recipients),
            most=MOST_SHOWN,
        )


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


def with_entry(
    document: Document,
    attributes: Attribute | Sequence[Attribute],
    mechanism: str,
    settings: Settings,
    levels: Mapping[str, Statement] = MappingProxyType({}),
) -> Document:
    """Protect an attribute, or several jointly, in the place of what protected them before.

    Every recipient gets the level that another entry with this mechanism states for them, or
    else that of `levels`, or one of the mechanism's proposals in their present order.
    """
    chosen = mechanism_called(mechanism)
    together = (attributes,) if isinstance(attributes, Attribute) else tuple(attributes)
    made = PolicyEntry(tuple(each.name for each in together), mechanism, dict(settings))
    before = document.entry_for(made.attributes[0])
    if before is None:
        policy = (*document.policy, made)
    else:
        policy = tuple(made if entry is before else entry for entry in document.policy)
    alike = [e.key for e in document.policy if e.mechanism == mechanism and e is not before]
    proposed = chosen.default_statements(len(document.recipients))
    recipients = []
    for recipient, proposal in zip(document.recipients, proposed, strict=True):
        known = [recipient.statements[key] for key in alike if key in recipient.statements]
        statement = met_statement(
            document, made, known[0] if known else levels.get(recipient.name, proposal), together
        )
        recipients.append(
            replace(recipient, statements={**recipient.statements, made.key: statement})
        )
    return replace(document, policy=policy, recipients=tuple(recipients))


def without_entry(document: Document, key: str) -> Document:
    """Take a policy entry and every level stated for it away."""
    return replace(
        document,
        policy=tuple(entry for entry in document.policy if entry.key != key),
        recipients=tuple(
            replace(
                recipient, statements={k: s for k, s in recipient.statements.items() if k != key}
            )
            for recipient in document.recipients
        ),
    )


def met_statement(
    document: Document, entry: PolicyEntry, statement: Statement, attributes: Sequence[Attribute]
) -> Statement:
    """Return a proposed loss that can be met, beside what is published and for all of a unit."""
    known = {one.name: one for one in attributes}
    try:
        level_of(document, entry, statement, known)
    except SfumatoError:
        return least_loss(document, entry, statement, known) or statement
    return statement


def with_roles(
    document: Document,
    names: Iterable[str],
    role: Role,
    known: Mapping[str, Attribute],
    noise: KeyedNoise,
) -> Document:
    """Give columns a role; a policy for what is not sensitive any more goes.

    Attributes that were protected together with one of them stay protected.

    Parameters
    ----------
    document, names, role
        Which columns get which role.
    known
        The policy's attributes, by name, as far as they are known.
    noise
        Draws noise for statistics of the table.
    """
    for name in names:
        document = document.with_column(replace(document.column(name), role=role))
    return without_stray_attributes(document, known, noise)


def needs_domain(spec: ColumnSpec) -> bool:
    """Return whether a column's values must be fixed: it is sensitive and categorical."""
    by_values = spec.kind is not Kind.NUMERIC or spec.binning is not None
    return spec.role is Role.SENSITIVE and by_values and spec.domain is None


def with_coding(document: Document, name: str, coding: Coding | None) -> Document:
    """Round a column of numbers and cut it off at its ends, or leave it as it is."""
    return document.with_column(replace(document.column(name), coding=coding))


def with_pseudonym(document: Document, name: str, pseudonym: Pseudonym | None) -> Document:
    """Show pseudonyms in the place of an identifying column, or drop it."""
    return document.with_column(replace(document.column(name), pseudonym=pseudonym))


def with_kind(document: Document, name: str, kind: Kind) -> Document:
    """Read a column as another kind; its domain and bins begin anew."""
    column = document.column(name)
    spec = replace(column, kind=kind, domain=None, binning=None, from_rows=False)
    return document.with_column(spec)


def with_domain(document: Document, name: str, domain: Domain) -> Document:
    """Let a column take these values; with others than before, they are the custodian's list."""
    spec = document.column(name)
    same = spec.domain is not None and set(spec.domain.values) == set(domain.values)
    return document.with_column(replace(spec, domain=domain, from_rows=spec.from_rows and same))


def with_binning(
    document: Document, name: str, binning: Binning | None, *, from_rows: bool = False
) -> Document:
    """Divide a column of numbers into bins, or stop doing so.

    Parameters
    ----------
    document, name, binning
        Which column gets which bins.
    from_rows
        Whether the edges were proposed from the rows, not stated by a person.
    """
    spec = document.column(name)
    changed = replace(spec, binning=binning, domain=None, from_rows=from_rows)
    return document.with_column(changed)


def confirmed(document: Document, name: str) -> Document:
    """Take a column's values, or its bins, for what could occur: a person has said so."""
    return document.with_column(replace(document.column(name), from_rows=False))


def with_missing(document: Document, name: str, rule: MissingRule, occurs: bool) -> Document:
    """Say what a missing value means; the domain follows.

    Parameters
    ----------
    document, name
        Which column.
    rule
        What a missing value means from now on.
    occurs
        Whether values are missing in the table.
    """
    spec = replace(document.column(name), missing=rule)
    domain = spec.domain
    if domain is not None:
        values: tuple[Value, ...] = tuple(v for v in domain.values if v is not None)
        if rule is MissingRule.VALUE and (occurs or domain.allows_missing):
            values = (*values, None)
        spec = replace(spec, domain=Domain(values, domain.labels))
    return document.with_column(spec)


# ----- values of a domain


def value_of_text(text: str, values: Iterable[Value], series: pd.Series) -> Value:
    """Return what a person typed as a value of the column's own type.

    Raises
    ------
    DomainError
        If the text is empty or not of the type.
    """
    text = text.strip()
    if not text:
        raise DomainError("The new value is empty.", "Type a value.")
    kinds = {type(value) for value in values if value is not None}
    stored = str(series.dtype).lower()
    try:
        if kinds == {bool} or stored in ("bool", "boolean"):
            return _yes_or_no(text)
        if kinds == {int} or (not kinds and "int" in stored):
            return int(text)
        if kinds and kinds <= {int, float}:
            return float(text.replace(",", "."))
    except ValueError:
        raise DomainError(
            "The new value is not of the type of the others.", "Type a number, or true or false."
        ) from None
    return text


def _yes_or_no(text: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in words:
        raise ValueError(text)
    return words[text.lower()]


def add_value(domain: Domain, value: Value) -> Domain:
    """Add a value at the end, before missing."""
    known = [item for item in domain.values if item is not None]
    tail: list[Value] = [None] if domain.allows_missing else []
    return Domain((*known, value, *tail), domain.labels)


def remove_values(domain: Domain, places: Iterable[int]) -> Domain:
    """Remove the values at these places."""
    gone = set(places)
    values = tuple(value for place, value in enumerate(domain.values) if place not in gone)
    kept = {value: text for value, text in domain.labels.items() if value in values}
    return Domain(values, kept)


def move_value(domain: Domain, place: int, by: int) -> Domain:
    """Move a value up (negative) or down."""
    values = list(domain.values)
    target = min(max(place + by, 0), len(values) - 1)
    values.insert(target, values.pop(place))
    return Domain(tuple(values), domain.labels)


def sorted_domain(domain: Domain) -> Domain:
    """Sort the values by themselves; missing stays last.

    Never by how often they occur: recipients see the order, which would tell that.
    """
    known = sorted((value for value in domain.values if value is not None), key=sort_key)
    tail: list[Value] = [None] if domain.allows_missing else []
    return Domain((*known, *tail), domain.labels)


def with_label(domain: Domain, place: int, text: str) -> Domain:
    """Show a value by another text; an empty one shows the value itself."""
    labels = dict(domain.labels)
    value = domain.values[place]
    if text.strip() and text.strip() != str(value):
        labels[value] = text.strip()
    else:
        labels.pop(value, None)
    return Domain(domain.values, labels)


def relabelled(binning: Binning, place: int, text: str) -> Binning:
    """Give one bin another name; an empty one gives it back the name made from its edges."""
    names = list(binning.names)
    plain = Binning(binning.edges).names
    names[place] = text.strip() or plain[place]
    return Binning(binning.edges, () if tuple(names) == plain else tuple(names))


WIDEST_SPACING: Final = 0.05
"""A wider spacing is no hair any more."""
USUAL_SPACING: Final = 0.01
_MOST_COMBINED: Final = 4
"""Up to so many perturbed columns, each may be true or not in a row that comes from no release."""


def with_spacing(document: Document, spacing: float) -> Document:
    """Return the document with levels that lie apart by a share of themselves.

    Parameters
    ----------
    document
        The recipients; those without a mark of their own get one and keep it.
    spacing
        The share of the level between two marks, 0 (all get the level chosen) to
        `WIDEST_SPACING`.

    Raises
    ------
    LevelError
        If the spacing is out of range, or too wide for so many recipients.
    """
    if not 0.0 <= spacing <= WIDEST_SPACING:
        raise LevelError(
            "The spacing between recipients' levels is out of range.",
            "Give a share from 0 to {widest:g}.",
            widest=WIDEST_SPACING,
        )
    return with_marks(replace(document, level_spacing=spacing))


def with_marks(document: Document) -> Document:
    """Return the document with a mark of its own for each recipient where levels lie apart.

    Given marks are kept.

    Raises
    ------
    LevelError
        If the levels lie too far apart for so many recipients.
    """
    if document.level_spacing == 0.0:
        return document
    taken: set[int] = set()
    recipients: list[Recipient] = []
    for recipient in document.recipients:
        mark = recipient.mark
        if mark in taken:
            mark = 1 + max(*taken, *(r.mark for r in document.recipients))
        taken.add(mark)
        recipients.append(recipient if mark == recipient.mark else replace(recipient, mark=mark))
    last = max(taken, default=0)
    if document.level_spacing * last > LOWEST_SHARE:
        raise LevelError(
            "With a spacing of {spacing:g}, the last of {count} recipients would lose more than"
            " half of the level chosen.",
            "Choose a spacing of at most {most}: in Audit, by “Whose file is this?”, or as"
            " level_spacing in a rules file.",
            spacing=document.level_spacing,
            count=len(recipients),
            most=widest_spacing(last),
        )
    return replace(document, recipients=tuple(recipients))


def true_together(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return which perturbed columns may be true in a row that comes from no release.

    From none of them to all.
    """
    if len(names) > _MOST_COMBINED:
        return [(), tuple(names)]
    return list(chain.from_iterable(combinations(names, n) for n in range(len(names) + 1)))
