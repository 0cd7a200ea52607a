"""The columns that a release must have, made again from the source table and the key.

Roles, bins, domains and hierarchies may change after a release. What was released is made again by
the document that the ledger keeps with the release; releases of versions that kept none are
judged by today's.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import Binning, Coding, ColumnSpec, Domain, Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.adoption import adopted_in
from sfumato.engine.mechanisms.base import Adopted, ReleaseRequest, Settings
from sfumato.engine.randomness.row_order import Positions
from sfumato.engine.table.repeated_units import units_of
from sfumato.engine.table.table import Attribute, EncodedColumn, Table, encode_attribute
from sfumato.engine.table.table import Rows as Chosen
from sfumato.project.adoption.rows import AdoptedReleaseReader
from sfumato.project.document.adopted_files import with_places_of
from sfumato.project.document.entry_plan import EntryPlan, check_policy, ladder_of
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release.groups import public_columns, with_groups
from sfumato.project.release.plan import (
    Rows,
    open_column,
    record_ids_of,
    release_entry,
    request_of,
)
from sfumato.project.release.units import by_unit, unit_ids_of
from sfumato.project.release.views import Coarsening

if TYPE_CHECKING:
    from sfumato.engine.randomness.keys import KeyRing


class PoliciesInForce(ABC):
    """Makes released columns again, each release's by the policy that was in force.

    Parameters
    ----------
    document
        What is decided today.
    keys
        The project's keys.
    """

    def __init__(self, document: Document, keys: KeyRing) -> None:
        self.document, self._keys = document, keys
        self._known: list[tuple[Document, Regenerator]] = []

    @property
    def today(self) -> Regenerator:
        """What makes columns again by today's policy."""
        return self.under(self.document)

    def at(self, record: ReleaseRecord | None) -> Regenerator:
        """Return what makes a release again; for None, by today's policy."""
        return self.under(None if record is None else record.policy)

    def under(self, policy: Document | None) -> Regenerator:
        """Return what makes a release again that was made by a document; None for today's."""
        policy = policy or self.document
        wanted = _what_counts(policy)
        for counted, regenerator in self._known:
            if counted == wanted:
                return regenerator
        made = self.maker(policy, self.document)
        self._known.append((wanted, made))
        return made

    @abstractmethod
    def maker(self, policy: Document, today: Document) -> Regenerator:
        """Return what makes columns again by a document."""


def released_last(today: Document, releases: Iterable[ReleaseRecord]) -> Document:
    """Return the policy of the last release of perturbed values; today's where it says the same.

    Releases of versions that kept no policy are judged by today's. Adopted files are where they
    are today.
    """
    counted = [record.policy for record in releases if record.counts and record.plans]
    policy = counted[-1] if counted else None
    if policy is None or _what_counts(policy) == _what_counts(today):
        return today
    entries = (
        replace(entry, settings=_placed(today, entry.attributes, entry.settings))
        for entry in policy.policy
    )
    return replace(policy, policy=tuple(entries))


def _placed(today: Document, attributes: Sequence[str], settings: Settings) -> Settings:
    """Return settings of a policy entry with adopted files where they are today."""
    here = today.entry_for(attributes[0])
    return settings if here is None else with_places_of(settings, here.settings)


def _what_counts(document: Document) -> Document:
    """Return a document with nothing but what decides how its columns are made again."""
    return Document(
        columns=document.columns,
        record_key=document.record_key,
        policy=document.policy,
        unit=document.unit,
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
class _ColumnRelease:
    """How a column is released, as far as the document decides it."""

    how: str
    binning: Binning | None
    coding: Coding | None
    domain: Domain | None
    entry: PolicyEntry | None


def _released(document: Document) -> dict[str, _ColumnRelease]:
    found = {}
    for spec in document.columns:
        how = {Role.IDENTIFYING: "dropped", Role.SENSITIVE: "perturbed"}.get(spec.role, "open")
        domain = spec.domain if how == "perturbed" else None
        found[spec.name] = _ColumnRelease(
            how, spec.binning, spec.coded, domain, document.entry_for(spec.name)
        )
    return found


def _differ(one: _ColumnRelease | None, other: _ColumnRelease | None) -> bool:
    if one is None or other is None:
        return one is not other
    if one.domain is None or other.domain is None:
        # A release has its domain from the rows where nobody states it.
        one, other = replace(one, domain=None), replace(other, domain=None)
    return one != other


@dataclass(frozen=True, eq=False)
class PartOf:
    """The table that some rows are a part of.

    Parameters
    ----------
    places
        Where each of them stands in it, shape (n,).
    rungs
        The adopted releases, matched to its rows.
    """

    places: Positions
    rungs: AdoptedReleaseReader


def columns_for(document: Document, plans: Iterable[EntryPlan]) -> set[str]:
    """Return the columns that rows need for policy entries to be made again."""
    names = {document.record_key or "", *(document.unit.columns if document.unit else ())}
    for plan in plans:
        names |= set(plan.attributes)
        if mechanism_called(plan.mechanism).needs_groups:
            names |= set(public_columns(document, plan.settings, plan.mechanism))
    return names


class Regenerator:
    """Makes released columns again, each at most once.

    Parameters
    ----------
    document
        The columns as they are specified.
    table
        Some of its rows.
    keys
        The project's keys.
    part_of
        Of which table the rows are a part, and where they stand in it.
    today
        Where adopted files are today, if the document is an earlier one.
    encoded
        What is known of the policy's attributes and their groups.
    """

    def __init__(
        self,
        document: Document,
        table: Table,
        keys: KeyRing,
        part_of: PartOf,
        today: Document | None = None,
        encoded: Mapping[str, EncodedColumn] | None = None,
    ) -> None:
        self.document = document
        self._today = today or document
        self.table = table
        self._keys = keys
        self._part_of = part_of
        self._encoded = dict(encoded or {})
        self._grouped_before = {
            name for name, each in self._encoded.items() if each.attribute.groups is not None
        }
        self._groups: dict[str, dict[str, EncodedColumn]] = {}
        self._columns: dict[tuple[tuple[str, ...], str, float], Mapping[str, pd.Series]] = {}

    @cached_property
    def _record_ids(self) -> npt.NDArray[np.uint64]:
        key = self.document.record_key
        rows = None if key is not None else self._part_of.places
        return record_ids_of(key, self.table, self._keys, Silent(), rows)

    @cached_property
    def units(self) -> npt.NDArray[np.int64]:
        """Each row's unit, from 0, shape (n,); only where the policy states units."""
        assert self.document.unit is not None
        return units_of(self.table, self.document.unit.columns)

    @cached_property
    def unit_ids(self) -> npt.NDArray[np.uint64] | None:
        """The identifier of each row's unit, shape (n,); None where rows stand alone."""
        return unit_ids_of(self.document.unit, self.table, self._keys)

    def specification(self, name: str) -> ColumnSpec | None:
        """Return a column's specification, or None where the document has no such column."""
        return next((spec for spec in self.document.columns if spec.name == name), None)

    def shown_as(self) -> tuple[tuple[str, Role, Binning | None, Coding | None], ...]:
        """Return what decides how columns that are not perturbed are released."""
        return tuple(
            (spec.name, spec.role, spec.binning, spec.coded) for spec in self.document.columns
        )

    def attributes(self) -> dict[str, Attribute]:
        """Return what mechanisms know about every attribute of the present policy.

        Raises
        ------
        SfumatoError
            If the policy and the table don't fit together.
        """
        check_policy(self.document)
        return {
            name: column.attribute
            for entry in self.document.policy
            for name, column in self._grouped(
                entry.attributes, entry.mechanism, entry.settings
            ).items()
        }

    def obstacle(self, plan: EntryPlan) -> str:
        """Return why a policy entry can't be made again; empty where it can."""
        entry = PolicyEntry(plan.attributes, plan.mechanism, plan.settings)
        for name in plan.attributes:
            if self.specification(name) is None:
                return Sentence("The project has no column {name} any more.", name=name)
        try:
            ladder = ladder_of(self.document, entry, self.attributes_of(plan))
            self.adopted(plan)
        except SfumatoError as error:
            return error.sentence
        if ladder != plan.ladder:
            return (
                "Its domain, its bins, its mechanism's settings, the columns that make its groups"
                " the unit of protection or the record key are not what they were when it was"
                " released."
            )
        return ""

    def adopted(self, plan: EntryPlan) -> tuple[Adopted, ...]:
        """Return the rows of the adopted releases that a policy entry is fitted to.

        Raises
        ------
        SfumatoError
            If a file can't be read again, or does not match the table.
        """
        return tuple(one.at(self._part_of.places) for one in self.rungs_of(plan))

    def rungs_of(self, plan: EntryPlan) -> tuple[Adopted, ...]:
        """Return the same for all rows of the table that these are a part of."""
        if not adopted_in(plan.settings):
            return ()
        settings = _placed(self._today, plan.attributes, plan.settings)
        attributes = [self._encode(name).attribute for name in plan.attributes]
        return self._part_of.rungs.of(settings, attributes, Silent())

    def perturbed(self, plan: EntryPlan, context: Context) -> Mapping[str, pd.Series]:
        """Return a policy entry's released columns, by name, each of shape (n,).

        Raises
        ------
        SfumatoError
            If it can't be made again, see `obstacle`.
        """
        known = (plan.attributes, plan.ladder, plan.level)
        if known not in self._columns:
            made = release_entry(plan, self._rows(plan), self._keys, context)
            self._columns[known] = {name: made[name] for name in plan.attributes}
        return self._columns[known]

    def forget(self) -> None:
        """Let go of the columns made so far: they may be as large as the table each."""
        self._columns.clear()

    def unperturbed(self, name: str, coarsening: Coarsening | None = None) -> pd.Series | None:
        """Return a column as it is released unperturbed, or None where that is not possible.

        Parameters
        ----------
        name
            The column.
        coarsening
            How coarsely quasi-identifiers were released; None for as they are. What these rows
            show by it is known to those who looked through all rows (`PartMaker`).
        """
        assert coarsening is None or name not in coarsening.hierarchies
        spec = self.specification(name)
        if spec is None or name not in self.table.columns:
            return None
        try:
            return open_column(self.table, spec)
        except SfumatoError:
            return None

    def request(self, plan: EntryPlan, rows: Chosen | None = None) -> ReleaseRequest:
        """Return what the mechanism was asked, for all records or for some rows of the table."""
        whole = request_of(plan, self._rows(plan), self._keys)
        return whole if rows is None else whole.at(rows)

    def _rows(self, plan: EntryPlan) -> Rows:
        encoded = self._grouped(plan.attributes, plan.mechanism, plan.settings)
        held = {plan.key: self.adopted(plan)}
        units = self.unit_ids if plan.by_unit else None
        return Rows(self.table, encoded, self._record_ids, held, units)

    def attributes_of(self, plan: EntryPlan) -> dict[str, Attribute]:
        """Return what a mechanism knows about the attributes of a policy entry.

        Raises
        ------
        SfumatoError
            If the table does not fit the document.
        """
        columns = self._grouped(plan.attributes, plan.mechanism, plan.settings)
        return {name: column.attribute for name, column in columns.items()}

    def _grouped(
        self, attributes: tuple[str, ...], mechanism: str, settings: Settings
    ) -> dict[str, EncodedColumn]:
        """Return a policy entry's columns, with their rows' groups where it needs them."""
        encoded = {name: self._encode(name) for name in attributes}
        if not mechanism_called(mechanism).needs_groups:
            return encoded
        if all(name in self._grouped_before for name in attributes):
            return encoded
        known = json.dumps([attributes, mechanism, settings], sort_keys=True, default=str)
        if known not in self._groups:
            self._groups[known] = with_groups(
                self.document, self.table, encoded, mechanism, settings, Silent()
            )
        return self._groups[known]

    def _encode(self, name: str) -> EncodedColumn:
        if name not in self._encoded:
            column = encode_attribute(self.table, self.document.column(name))
            if self.document.unit is not None:
                column = by_unit(self.document.unit, self.units, column)
            self._encoded[name] = column
        return self._encoded[name]
