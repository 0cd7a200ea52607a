"""What a release is a function of, but for the key and the rows; and what makes it of these.

Whoever releases, verifies, traces or audits asks a mechanism through here, so that a verification
makes exactly what a release made. No files, no clocks, no state between two tables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Adopted, ReleaseRequest
from sfumato.engine.randomness.record_ids import record_ids_by_key, record_ids_by_position
from sfumato.engine.randomness.row_order import Positions, release_order
from sfumato.engine.table.table import EncodedColumn, Table
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.document.model import Unit
from sfumato.project.document.serialise import (
    canonical_json,
    from_plain,
    to_plain,
)
from sfumato.project.release.pseudonyms import pseudonym_column
from sfumato.project.release.views import Coarsened, Coarsening, check_view, coarsened

if TYPE_CHECKING:
    from sfumato.engine.randomness.keys import KeyRing

VERSION: Final = 1
"""Of the plain form; another one can't be read by this version."""

RecordIds = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Plan:
    """A release for one recipient: everything it is a function of but the key and the rows.

    Parameters
    ----------
    columns
        The table's columns with their roles, domains and bins; the domain of every attribute of
        the policy is filled in where the rows had to suggest it.
    record_key
        The column that tells records apart; None for their position.
    entries
        The policy entries: mechanisms with settings, resolved levels and ladders.
    released
        The columns that leave, in order.
    groups
        For the key of an entry whose mechanism needs groups, the columns that make them.
    rows_as_in_table
        Whether rows leave in the table's order instead of the release's own.
    coarsening
        How coarsely the quasi-identifiers leave; None for as they are.
    pseudonyms
        For each identifying column that leaves as a pseudonym, whose it is
        (`sfumato.project.release.pseudonyms.scope_of`).
    unit
        Which rows belong together, and how many of them leave at most; None where each stands
        alone.
    """

    columns: tuple[ColumnSpec, ...]
    record_key: str | None
    entries: tuple[EntryPlan, ...]
    released: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rows_as_in_table: bool = False
    coarsening: Coarsening | None = None
    pseudonyms: Mapping[str, str] = field(default_factory=dict)
    unit: Unit | None = None

    @property
    def rows_stand_alone(self) -> bool:
        """Whether a record's release depends on no other record: then tables can be cut up.

        Positions are another table's in a part of one, adopted rows are found by the whole, and
        which rows are too few to be shown is counted in it.
        """
        fitted = any(entry.settings.get("adopted") for entry in self.entries)
        counted = self.coarsening is not None and any(s.k > 1 for s in self.coarsening.steps)
        alone = not self.groups and not fitted and not counted and self.unit is None
        return self.record_key is not None and alone

    def column(self, name: str) -> ColumnSpec:
        """Return a column's specification."""
        return next(spec for spec in self.columns if spec.name == name)

    def to_json(self) -> str:
        """Return the plan as JSON, in one form only; it holds no key and no row."""
        return canonical_json(
            {
                "version": VERSION,
                "columns": to_plain(self.columns),
                "record_key": self.record_key,
                "entries": [entry.to_dict() for entry in self.entries],
                "released": list(self.released),
                "groups": {key: list(names) for key, names in self.groups.items()},
                "rows_as_in_table": self.rows_as_in_table,
                "coarsening": None if self.coarsening is None else self.coarsening.to_dict(),
                **({"pseudonyms": dict(self.pseudonyms)} if self.pseudonyms else {}),
                "unit": None if self.unit is None else to_plain(self.unit),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Return the plan that `to_json` wrote.

        Raises
        ------
        PolicyError
            If it is of another version.
        SfumatoError
            If a column can't be read.
        """
        plain: dict[str, Any] = json.loads(text)
        if plain.get("version") != VERSION:
            raise PolicyError(
                "The plan is of version {found}, and this program reads version {version}.",
                "Make the plan again with this version.",
                found=plain.get("version"),
                version=VERSION,
            )
        return cls(
            columns=from_plain(tuple[ColumnSpec, ...], plain["columns"]),
            record_key=plain["record_key"],
            entries=tuple(EntryPlan.from_dict(entry) for entry in plain["entries"]),
            released=tuple(plain["released"]),
            groups={key: tuple(names) for key, names in plain["groups"].items()},
            rows_as_in_table=plain["rows_as_in_table"],
            coarsening=from_plain(Coarsening | None, plain.get("coarsening")),
            pseudonyms=plain.get("pseudonyms", {}),
            unit=from_plain(Unit | None, plain.get("unit")),
        )

    def bind(self, keys: KeyRing) -> Releaser:
        """Return what releases tables by the plan with a project's keys."""
        return Releaser(self, keys)


@dataclass(frozen=True)
class Rows:
    """A table as any release is made from it, whoever it is for.

    Parameters
    ----------
    table
        The rows.
    encoded
        Every attribute of the policy, by name, with its rows.
    record_ids
        Each record's identifier, shape (n,).
    adopted
        For a policy entry's key, the rows of earlier releases that it is fitted to.
    unit_ids
        The identifier of each row's unit, shape (n,); None where rows stand alone.
    """

    table: Table
    encoded: Mapping[str, EncodedColumn]
    record_ids: RecordIds
    adopted: Mapping[str, tuple[Adopted, ...]] = field(default_factory=dict)
    unit_ids: RecordIds | None = None

    def at(self, rows: npt.NDArray[np.int64]) -> Rows:
        """Return some of the rows; all of them are these themselves."""
        if len(rows) == self.table.rows:
            return self
        frame = self.table.frame.iloc[rows].reset_index(drop=True)
        return Rows(
            replace(self.table, frame=frame),
            {name: column.at(rows) for name, column in self.encoded.items()},
            self.record_ids[rows],
            {key: tuple(one.at(rows) for one in held) for key, held in self.adopted.items()},
            None if self.unit_ids is None else self.unit_ids[rows],
        )


@dataclass(frozen=True)
class Releaser:
    """A plan with the keys that it is carried out by."""

    plan: Plan
    keys: KeyRing = field(repr=False)

    def release(
        self,
        rows: Rows,
        context: Context,
        ordered_for: str | None = None,
        seen: Coarsened | None = None,
    ) -> pd.DataFrame:
        """Return the frame that the recipient is given, shape (n, released columns).

        Identifying columns are dropped or shown as pseudonyms, sensitive attributes pass through
        their mechanism, quasi-identifiers show the labels of the recipient's levels, all others
        are binned, coded or as they are.

        Parameters
        ----------
        rows
            The table.
        context
            Progress and cancelling.
        ordered_for
            A release's identifier: rows then stand in its keyed order, numbered from 0. None for
            the table's order and index.
        seen
            What the plan's coarsening makes of the table, where that is known.

        Raises
        ------
        SfumatoError
            If a mechanism can't release what it is asked for, or the view does not keep its k.
        """
        entries = self.plan.entries
        made: dict[str, pd.Series] = {}
        for position, entry in enumerate(entries):
            part = Part(context, position / len(entries), (position + 1) / len(entries))
            part.report(0.0, Sentence("Releasing {key}", key=entry.key))
            made |= release_entry(entry, rows, self.keys, part)
        index = rows.table.frame.index
        coarsening = self.plan.coarsening
        if coarsening is not None and seen is None:
            seen = coarsened(coarsening, self.plan.columns, rows.table)
        if seen is not None:
            check_view(seen)
        shown = {} if seen is None else seen.columns
        last = Part(context, 1.0, 1.0)
        for name, scope in self.plan.pseudonyms.items():
            made[name] = pseudonym_column(rows.table, name, scope, self.keys, last)
        columns = {
            name: made[name].set_axis(index)
            if name in made
            else shown[name]
            if name in shown
            else open_column(rows.table, self.plan.column(name))
            for name in self.plan.released
        }
        whole = pd.DataFrame(columns, index=index, copy=False)
        if ordered_for is not None:
            whole = in_release_order(whole, rows.record_ids, self.keys, ordered_for)
        context.report(1.0, "Released columns are ready")
        return whole


def release_entry(
    entry: EntryPlan, rows: Rows, keys: KeyRing, context: Context
) -> Mapping[str, pd.Series]:
    """Return one policy entry's released columns, by name, each of shape (n,)."""
    return mechanism_called(entry.mechanism).release(request_of(entry, rows, keys), context)


def request_of(entry: EntryPlan, rows: Rows, keys: KeyRing) -> ReleaseRequest:
    """Return what a mechanism is asked for a policy entry."""
    ids = rows.record_ids
    if entry.by_unit:
        assert rows.unit_ids is not None
        ids = rows.unit_ids
    return ReleaseRequest(
        columns=tuple(rows.encoded[name] for name in entry.attributes),
        settings=entry.settings,
        level=entry.level,
        record_ids=ids,
        keys=keys,
        adopted=rows.adopted.get(entry.key, ()),
    )


def record_ids_of(
    record_key: str | None,
    table: Table,
    keys: KeyRing,
    context: Context,
    rows: npt.NDArray[np.intp] | None = None,
) -> RecordIds:
    """Return records' identifiers, by record key or else by position.

    Parameters
    ----------
    record_key
        The column that tells records apart; None for their position.
    table, keys
        The rows and the project's keys.
    context
        Progress and cancelling.
    rows
        Which rows of the table, shape (k,); None for all.

    Raises
    ------
    TableError
        If the record key is not in the table, or is missing or repeated in a row.
    """
    if record_key is not None:
        column = table.column(record_key)
        return record_ids_by_key(column if rows is None else column.iloc[rows], keys, context)
    if rows is None:
        return record_ids_by_position(table.rows)
    return rows.astype(np.uint64)  # a position is its own identifier


def in_release_order(
    frame: pd.DataFrame, record_ids: RecordIds, keys: KeyRing, release_id: str
) -> pd.DataFrame:
    """Return a frame's rows in the keyed order of a release, numbered from 0.

    Parameters
    ----------
    frame
        The rows that leave, shape (n, columns).
    record_ids
        Their records' identifiers, shape (n,).
    keys, release_id
        The project's keys and the release.
    """
    order: Positions = release_order(record_ids, keys.for_row_order(release_id), Silent())
    columns = {str(name): frame[name].take(order).reset_index(drop=True) for name in frame.columns}
    return pd.DataFrame(columns, copy=False)


def open_column(table: Table, spec: ColumnSpec) -> pd.Series:
    """Return a column that is released unperturbed: as it is, binned or coded."""
    return spec.shown(table.column(spec.name))
