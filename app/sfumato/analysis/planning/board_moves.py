"""More or less for one recipient: what moving a cell of the board changes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sfumato.analysis.coarsening.views import with_level
from sfumato.analysis.planning.board import BoardCell, ColumnExample
from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Mechanism, Statement
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document, PolicyEntry

STEP: Final = 0.25
"""How far a level moves at a time, in log odds of its trust: as far anywhere on the ladder."""
_DIGITS: Final = 3
_LEAST: Final = 1e-4


@dataclass(frozen=True)
class Moved:
    """A document after a move.

    Parameters
    ----------
    document
        What is decided then.
    followed
        Whose views had to follow, so that the chain holds.
    """

    document: Document
    followed: tuple[str, ...] = ()


class NoHierarchy(PolicyError):
    """A quasi-identifier can't be coarsened yet: it has no hierarchy."""


def moved(
    document: Document,
    cell: BoardCell,
    by: int,
    example: ColumnExample | None,
    attributes: Mapping[str, Attribute],
) -> Moved:
    """Return the document with more of a column for a recipient, or less.

    Parameters
    ----------
    document, cell
        What is decided, and what is moved.
    by
        Steps: above 0 for more, below 0 for less.
    example
        The column's, whose hierarchy is known by it.
    attributes
        The policy's attributes, by name.

    Raises
    ------
    NoHierarchy
        If the column would be coarsened and has no hierarchy.
    PolicyError
        If the column can't be moved: it is left out for everybody, or released as it is.
    """
    spec = document.column(cell.column)
    if spec.role is Role.QUASI_IDENTIFIER:
        return _coarser(document, cell, by, example)
    if spec.role is Role.SENSITIVE:
        return Moved(_randomised(document, cell, by, attributes))
    if spec.role is Role.IDENTIFYING:
        raise PolicyError(
            "{column} is identifying: no release has it.",
            "Under Attributes, release it as a pseudonym or give it another role.",
            column=cell.column,
        )
    raise PolicyError(
        "{column} is the same for everybody.",
        "Under Attributes, make it a quasi-identifier or sensitive: then some can get less of it.",
        column=cell.column,
    )


def _coarser(document: Document, cell: BoardCell, by: int, example: ColumnExample | None) -> Moved:
    height = 0 if example is None else example.height
    if height == 0 and by < 0:
        raise NoHierarchy(
            "{column} has no hierarchy yet, so it can't be coarsened.",
            "Propose hierarchies, or make one under Attributes.",
            column=cell.column,
        )
    level = min(max(cell.level - by, 0), height)
    if level == cell.level:
        return Moved(document)
    return Moved(*with_level(document, cell.recipient, cell.column, level))


def _randomised(
    document: Document, cell: BoardCell, by: int, attributes: Mapping[str, Attribute]
) -> Document:
    entry = document.entry_for(cell.column)
    recipient = document.recipient(cell.recipient)
    if entry is None or entry.key not in recipient.statements:
        raise PolicyError(
            "{column} is not protected yet, or has no level.",
            "Choose a mechanism and a level first: press Enter.",
            column=cell.column,
        )
    if not set(entry.attributes) <= attributes.keys():
        return document
    before = recipient.statements[entry.key]
    stated = _stepped(entry, before, by, attributes)
    if stated is None:
        return document
    changed = replace(recipient, statements={**recipient.statements, entry.key: stated})
    people = tuple(changed if each.name == cell.recipient else each for each in document.recipients)
    return replace(document, recipients=people)


def _stepped(
    entry: PolicyEntry, before: Statement, by: int, attributes: Mapping[str, Attribute]
) -> Statement | None:
    """Return a level some steps away, in the terms it is stated in; None where there is none."""
    mechanism = mechanism_called(entry.mechanism)
    chosen = tuple(attributes[name] for name in entry.attributes)
    try:
        level = mechanism.level(before, chosen, entry.settings)
        trust = min(max(mechanism.trust(level), _LEAST), 1.0 - _LEAST)
        odds = math.log(trust / (1.0 - trust)) + by * STEP
        wanted = mechanism.level_at(1.0 / (1.0 + math.exp(-odds)))
        if by > 0:
            wanted = min(wanted, mechanism.most_within_limits(chosen, entry.settings))
        restated = mechanism.restate(wanted, chosen, entry.settings)
        found = restated.get(_term(mechanism, before)) or next(iter(restated.values()))
        stated = {name: float(f"{value:.{_DIGITS}g}") for name, value in found.items()}
        mechanism.level(stated, chosen, entry.settings)
    except SfumatoError:
        return None
    return stated


def _term(mechanism: Mechanism, statement: Statement) -> str:
    """Return the name of the term that a level is stated in; empty where it is none."""
    fields = set(statement)
    terms = (term for term in mechanism.terms if {one.name for one in term.fields} == fields)
    return next((term.name for term in terms), "")
