"""The document: everything a custodian decides, as immutable values.

An edit makes a new `Document`; undo is keeping the old one. Nothing here holds source rows
or secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sfumato.engine.core.columns import ColumnSpec, Role, find_column
from sfumato.engine.generalization.hierarchies import Recipe
from sfumato.engine.mechanisms.base import Settings, Statement
from sfumato.project.document.generalization import Generalization


@dataclass(frozen=True)
class Source:
    """Where the table is, and how to know it again.

    Parameters
    ----------
    path
        The file, absolute.
    digest
        SHA-256 of the file, in hexadecimal.
    rows
        The number of records that were read.
    options
        How it was read (`sfumato.formats.reading.ReadOptions` as plain values).
    """

    path: str
    digest: str
    rows: int
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PolicyEntry:
    """One mechanism for one sensitive attribute, or for several jointly."""

    attributes: tuple[str, ...]
    mechanism: str
    settings: Settings = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What recipients' levels are listed under."""
        return " + ".join(self.attributes)


@dataclass(frozen=True)
class Recipient:
    """Someone who gets a release, and how far each policy entry trusts them.

    Parameters
    ----------
    name
        Unique within the document.
    statements
        For each policy entry's key, the level as the custodian stated it.
    note
        The custodian's remark.
    mark
        Tells recipients apart where levels are spaced, see `Document.level_spacing`.
    """

    name: str
    statements: Mapping[str, Statement] = field(default_factory=dict)
    note: str = ""
    mark: int = 0


@dataclass(frozen=True)
class Document:
    """What is decided about one table: columns, policy, recipients and hierarchies.

    Hierarchies are kept as their recipes, by column; a recipe of a column that is no longer a
    quasi-identifier, or no longer in the table, waits until it is again.

    Every release leaves in a keyed random order of its own (`sfumato.engine.randomness.row_order`).
    Where `rows_as_in_table` holds the custodian's reason for it, rows stay as they are in the
    table.

    With a `level_spacing` above 0, a recipient's levels are lower than those chosen by that
    share times the recipient's mark, so that every file can be traced
    (`sfumato.project.release.fingerprinting`).
    """

    title: str = ""
    source: Source | None = None
    columns: tuple[ColumnSpec, ...] = ()
    record_key: str | None = None
    policy: tuple[PolicyEntry, ...] = ()
    recipients: tuple[Recipient, ...] = ()
    level_spacing: float = 0.0
    hierarchies: Mapping[str, Recipe] = field(default_factory=dict)
    generalization: Generalization | None = None
    rows_as_in_table: str = ""

    def column(self, name: str) -> ColumnSpec:
        """Return the specification of the column called `name`; `KeyError` where absent."""
        return find_column(self.columns, name)

    def with_column(self, changed: ColumnSpec) -> Document:
        """Return a document in which one column's specification is another."""
        columns = tuple(changed if c.name == changed.name else c for c in self.columns)
        return replace(self, columns=columns)

    def with_hierarchy(self, name: str, recipe: Recipe | None) -> Document:
        """Return a document in which a column's hierarchy is another, or none."""
        others = {column: kept for column, kept in self.hierarchies.items() if column != name}
        changed = {**others, name: recipe} if recipe is not None else others
        return replace(self, hierarchies=changed)

    def entry_for(self, attribute: str) -> PolicyEntry | None:
        """Return the policy entry that covers an attribute, if any."""
        return next((entry for entry in self.policy if attribute in entry.attributes), None)

    def recipient(self, name: str) -> Recipient:
        """Return the recipient called `name`; `KeyError` where absent."""
        for recipient in self.recipients:
            if recipient.name == name:
                return recipient
        raise KeyError(name)

    @property
    def sensitive(self) -> tuple[ColumnSpec, ...]:
        """The sensitive attributes, in the table's order."""
        return tuple(column for column in self.columns if column.role is Role.SENSITIVE)
