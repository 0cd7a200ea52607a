"""The policy that was in force at each release, by which it is judged for ever.

Roles, bins, domains and hierarchies may change after a release. What was released is made again by
the document that the ledger keeps with the release; releases of versions that kept none are
judged by today's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.engine.core.columns import Binning, Coding, Domain, Role
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.ledger.records import ReleaseRecord
from sfumato.project.release.regenerate import Regenerator

if TYPE_CHECKING:
    from sfumato.engine.randomness.keys import KeyRing


class PoliciesInForce:
    """Makes released columns again, each release's by the policy that was in force.

    Parameters
    ----------
    document
        What is decided today.
    table, keys
        The source table and the project's keys.
    folders
        Where adopted files are looked for that are not in their places.
    """

    def __init__(
        self, document: Document, table: Table, keys: KeyRing, folders: Sequence[Path] = ()
    ) -> None:
        self.today = Regenerator(document, table, keys, folders)
        self._table, self._keys, self._folders = table, keys, folders
        self._known = [(_what_counts(document), self.today)]

    def at(self, record: ReleaseRecord | None) -> Regenerator:
        """Return what makes a release again; for None, by today's policy."""
        return self.under(None if record is None else record.policy)

    def latest(self, releases: Iterable[ReleaseRecord]) -> Regenerator:
        """Return what makes the last release of perturbed values again; today's where none is."""
        counted = [record for record in releases if record.counts and record.plans]
        return self.at(counted[-1] if counted else None)

    def under(self, policy: Document | None) -> Regenerator:
        """Return what makes a release again that was made by a document; None for today's."""
        if policy is None:
            return self.today
        wanted = _what_counts(policy)
        for counted, regenerator in self._known:
            if counted == wanted:
                return regenerator
        today = self.today.document
        made = Regenerator(policy, self._table, self._keys, self._folders, today)
        self._known.append((wanted, made))
        return made


def _what_counts(document: Document) -> Document:
    """Return a document with nothing but what decides how its columns are made again."""
    return Document(
        columns=document.columns, record_key=document.record_key, policy=document.policy
    )


def changes_since(then: Document, now: Document) -> tuple[str, ...]:
    """Return the columns that are released otherwise today than by an earlier document.

    Parameters
    ----------
    then
        The document that a release was made by.
    now
        Today's.
    """
    names = dict.fromkeys(spec.name for document in (then, now) for spec in document.columns)
    before, after = _released(then), _released(now)
    return tuple(name for name in names if _differ(before.get(name), after.get(name)))


@dataclass(frozen=True)
class _Released:
    """How a column is released, as far as the document decides it."""

    how: str
    binning: Binning | None
    coding: Coding | None
    domain: Domain | None
    entry: PolicyEntry | None


def _released(document: Document) -> dict[str, _Released]:
    found = {}
    for spec in document.columns:
        how = {Role.IDENTIFYING: "dropped", Role.SENSITIVE: "perturbed"}.get(spec.role, "open")
        domain = spec.domain if how == "perturbed" else None
        found[spec.name] = _Released(
            how, spec.binning, spec.coded, domain, document.entry_for(spec.name)
        )
    return found


def _differ(one: _Released | None, other: _Released | None) -> bool:
    if one is None or other is None:
        return one is not other
    if one.domain is None or other.domain is None:
        # A release has its domain from the rows where nobody states it.
        one, other = replace(one, domain=None), replace(other, domain=None)
    return one != other
