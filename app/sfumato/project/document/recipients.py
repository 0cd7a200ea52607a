"""The edits of who gets releases: recipients added, named, moved, taken away, and their levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from sfumato.engine.core.columns import ColumnSpec, Pseudonym
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Statement
from sfumato.formats.language import ENGLISH, spoken
from sfumato.project.document.edits import with_marks
from sfumato.project.document.model import Document, Recipient

_TYPICAL: Final = 3
"""Of so many levels the last is the one for whoever is trusted least."""


def with_recipient(document: Document, name: str, levels: Mapping[str, Statement]) -> Document:
    """Add a recipient, at the given level for each policy entry by its key.

    Bundles speak to the recipient in the language that is spoken now, until another is chosen.

    Raises
    ------
    PolicyError
        If the name is empty, or another recipient's.
    LevelError
        If levels lie apart, and too far for one recipient more.
    """
    _check_name(document, "", name)
    language = None if spoken() == ENGLISH else spoken()
    recipient = Recipient(name, dict(levels), language=language)
    return with_marks(replace(document, recipients=(*document.recipients, recipient)))


def least_trusting(document: Document) -> dict[str, Statement]:
    """Return for each policy entry, by its key, what is typical for whoever is trusted least."""
    levels = dict[str, Statement]()
    for entry in document.policy:
        mechanism = mechanism_called(entry.mechanism)
        typical = mechanism.typical_statements or mechanism.default_statements(_TYPICAL)
        levels[entry.key] = dict(typical[-1])
    return levels


def with_statement(document: Document, recipient: str, key: str, statement: Statement) -> Document:
    """State a recipient's level for a policy entry."""
    return _changed(
        document, recipient, lambda r: replace(r, statements={**r.statements, key: dict(statement)})
    )


def with_note(document: Document, recipient: str, note: str) -> Document:
    """Write the custodian's remark on a recipient."""
    return _changed(document, recipient, lambda r: replace(r, note=note))


def with_language(document: Document, recipient: str, language: str) -> Document:
    """State the language that a recipient's bundles are written in."""
    stated = None if language == ENGLISH else language
    return _changed(document, recipient, lambda r: replace(r, language=stated))


def renamed(document: Document, recipient: str, name: str) -> Document:
    """Give a recipient another name.

    Raises
    ------
    PolicyError
        If the name is empty, or another recipient's.
    """
    _check_name(document, recipient, name)
    columns = tuple(_sharing_renamed(column, recipient, name) for column in document.columns)
    document = replace(document, columns=columns)
    return _changed(document, recipient, lambda r: replace(r, name=name))


def _sharing_renamed(column: ColumnSpec, before: str, name: str) -> ColumnSpec:
    """Return a column whose pseudonyms are shared by a recipient of another name."""
    told = column.pseudonym
    if told is None or before not in (told.shared_by or ()):
        return column
    sharing = tuple(name if each == before else each for each in told.shared_by or ())
    return replace(column, pseudonym=Pseudonym(sharing))


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


def _check_name(document: Document, recipient: str, name: str) -> None:
    if not name:
        raise PolicyError("A recipient needs a name.", "Give one, or remove the recipient.")
    others = {each.name.casefold() for each in document.recipients if each.name != recipient}
    if name.casefold() in others:
        raise PolicyError("{name} is already a recipient.", "Give another name.", name=name)


def _changed(document: Document, name: str, change: Callable[[Recipient], Recipient]) -> Document:
    return replace(
        document, recipients=tuple(change(r) if r.name == name else r for r in document.recipients)
    )
