"""The columns that a release must have, made again from the source table and the key."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from app.engine.columns import ColumnSpec
from app.engine.errors import SfumatoError
from app.engine.mechanisms.base import ReleaseRequest
from app.engine.progress import Context, Silent
from app.engine.table import Attribute, EncodedColumn, Table
from app.project.model import Document, PolicyEntry
from app.project.plan import EntryPlan, check_policy, ladder_of
from app.project.released import (
    Material,
    encode_attribute,
    open_column,
    record_ids_of,
    regenerate,
    request_of,
)

if TYPE_CHECKING:
    from app.engine.randomness import KeyRing


class Regenerator:
    """Makes released columns again, each at most once.

    Parameters
    ----------
    document
        The columns as they are specified now.
    table
        The source table.
    keys
        The project's keys.
    """

    def __init__(self, document: Document, table: Table, keys: KeyRing) -> None:
        self.document = document
        self.table = table
        self._keys = keys
        self._encoded: dict[str, EncodedColumn] = {}
        self._columns: dict[tuple[tuple[str, ...], str, float], Mapping[str, pd.Series]] = {}

    @cached_property
    def _record_ids(self) -> npt.NDArray[np.uint64]:
        material = Material(self.document, self.table, {})
        return record_ids_of(material, self._keys, Silent())

    def specification(self, name: str) -> ColumnSpec | None:
        """Return a column's specification, or None where the document has no such column."""
        return next((spec for spec in self.document.columns if spec.name == name), None)

    def attributes(self) -> dict[str, Attribute]:
        """Return what mechanisms know about every attribute of the present policy.

        Raises
        ------
        SfumatoError
            If the policy and the table don't fit together.
        """
        check_policy(self.document)
        names = [name for entry in self.document.policy for name in entry.attributes]
        return {name: self._encode(name).attribute for name in names}

    def obstacle(self, plan: EntryPlan) -> str:
        """Return why a policy entry can't be made again; empty where it can."""
        entry = PolicyEntry(plan.attributes, plan.mechanism, plan.settings)
        for name in plan.attributes:
            if self.specification(name) is None:
                return f"The project has no column {name} any more."
        try:
            ladder = ladder_of(self.document, entry, self._material(plan).attributes)
        except SfumatoError as error:
            return str(error)
        if ladder != plan.ladder:
            return (
                "Its domain, its bins, its mechanism's settings or the record key are not what"
                " they were when it was released."
            )
        return ""

    def perturbed(self, plan: EntryPlan, context: Context) -> Mapping[str, pd.Series]:
        """Return a policy entry's released columns, by name, each of shape (n,).

        Raises
        ------
        SfumatoError
            If it can't be made again, see `obstacle`.
        """
        known = (plan.attributes, plan.ladder, plan.level)
        if known not in self._columns:
            material = self._material(plan)
            made = regenerate(plan, material, self._record_ids, self._keys, context)
            self._columns[known] = {name: made[name] for name in plan.attributes}
        return self._columns[known]

    def unperturbed(self, name: str) -> pd.Series | None:
        """Return a column as it is released unperturbed, or None where that is not possible."""
        spec = self.specification(name)
        if spec is None or name not in self.table.columns:
            return None
        try:
            return open_column(self.table, spec)
        except SfumatoError:
            return None

    def request(self, plan: EntryPlan, rows: int) -> ReleaseRequest:
        """Return what the mechanism was asked, for the first `rows` records."""
        whole = request_of(plan, self._material(plan), self._record_ids, self._keys)
        return ReleaseRequest(
            columns=tuple(
                EncodedColumn(column.attribute, column.values[:rows]) for column in whole.columns
            ),
            settings=whole.settings,
            level=whole.level,
            record_ids=whole.record_ids[:rows],
            keys=whole.keys,
        )

    def _material(self, plan: EntryPlan) -> Material:
        encoded = {name: self._encode(name) for name in plan.attributes}
        return Material(self.document, self.table, encoded)

    def _encode(self, name: str) -> EncodedColumn:
        if name not in self._encoded:
            self._encoded[name] = encode_attribute(self.table, self.document.column(name))
        return self._encoded[name]
