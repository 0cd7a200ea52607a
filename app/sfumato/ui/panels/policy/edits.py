"""The edits of a policy: each takes a document and returns another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.adopted_settings import adopted_part
from sfumato.engine.mechanisms.base import Settings, Statement
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.release.fingerprinting import with_marks


def with_entry(
    document: Document,
    attributes: Attribute | Sequence[Attribute],
    mechanism: str,
    settings: Settings,
) -> Document:
    """Protect an attribute, or several jointly, in the place of what protected them before.

    Every recipient gets the level that another entry with this mechanism states for them, or
    else one of the mechanism's proposals in their present order.
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
        statement = known[0] if known else proposal
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
                recipient,
                statements={k: s for k, s in recipient.statements.items() if k != key},
            )
            for recipient in document.recipients
        ),
    )


def with_settings(document: Document, key: str, settings: Settings) -> Document:
    """Change the settings of a policy entry; releases that it adopted stay adopted."""
    return replace(
        document,
        policy=tuple(
            replace(entry, settings={**adopted_part(entry.settings), **settings})
            if entry.key == key
            else entry
            for entry in document.policy
        ),
    )


def with_recipient(document: Document, name: str, levels: Mapping[str, Statement]) -> Document:
    """Add a recipient, at the given level for each policy entry by its key."""
    added = replace(document, recipients=(*document.recipients, Recipient(name, dict(levels))))
    return with_marks(added) if document.level_spacing else added


def with_statement(document: Document, recipient: str, key: str, statement: Statement) -> Document:
    """State a recipient's level for a policy entry."""
    return _changed(
        document,
        recipient,
        lambda r: replace(r, statements={**r.statements, key: dict(statement)}),
    )


def with_note(document: Document, recipient: str, note: str) -> Document:
    """Write the custodian's remark on a recipient."""
    return _changed(document, recipient, lambda r: replace(r, note=note))


def renamed(document: Document, recipient: str, name: str) -> Document:
    """Give a recipient another name."""
    return _changed(document, recipient, lambda r: replace(r, name=name))


def without_recipient(document: Document, name: str) -> Document:
    """Take a recipient away."""
    return replace(document, recipients=tuple(r for r in document.recipients if r.name != name))


def moved(document: Document, name: str, by: int) -> Document:
    """Move a recipient up (negative) or down in the list; at its ends nothing happens."""
    recipients = list(document.recipients)
    place = next(i for i, recipient in enumerate(recipients) if recipient.name == name)
    target = place + by
    if not 0 <= target < len(recipients):
        return document
    recipients.insert(target, recipients.pop(place))
    return replace(document, recipients=tuple(recipients))


def free_name(document: Document, wanted: str) -> str:
    """Return the name, with a number behind it where a recipient has it already."""
    taken = {recipient.name.casefold() for recipient in document.recipients}
    name, number = wanted, 2
    while name.casefold() in taken:
        name, number = f"{wanted} {number}", number + 1
    return name


def name_problem(document: Document, recipient: str, name: str) -> str | None:
    """Return why a recipient can't be called `name`: ``"empty"``, ``"taken"`` or None."""
    if not name:
        return "empty"
    others = {r.name.casefold() for r in document.recipients if r.name != recipient}
    return "taken" if name.casefold() in others else None


def stale_entries(document: Document) -> tuple[PolicyEntry, ...]:
    """Return the entries that cover a column which is not sensitive (any more)."""
    sensitive = {column.name for column in document.sensitive}
    return tuple(entry for entry in document.policy if not sensitive.issuperset(entry.attributes))


def misfit(entry: PolicyEntry, attributes: Sequence[Attribute]) -> SfumatoError | None:
    """Return why an entry's mechanism can't serve its attributes (any more), or None."""
    try:
        mechanism_called(entry.mechanism).check_attributes(attributes)
    except SfumatoError as error:
        return error
    return None


def unprotected(document: Document) -> tuple[str, ...]:
    """Return the sensitive attributes that no entry covers."""
    covered = {name for entry in document.policy for name in entry.attributes}
    return tuple(column.name for column in document.sensitive if column.name not in covered)


def without_level(document: Document) -> tuple[tuple[str, str], ...]:
    """Return each (recipient, entry key) for which no level is stated."""
    return tuple(
        (recipient.name, entry.key)
        for recipient in document.recipients
        for entry in document.policy
        if entry.key not in recipient.statements
    )


def _changed(document: Document, name: str, change: Callable[[Recipient], Recipient]) -> Document:
    return replace(
        document,
        recipients=tuple(change(r) if r.name == name else r for r in document.recipients),
    )
