"""What releases of a table have in common, whoever they are for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.progress import Context, Part, Silent, one_by_one
from sfumato.engine.mechanisms.adoption import adopted_in
from sfumato.engine.mechanisms.base import Adopted
from sfumato.engine.randomness.keys import DerivedKeys
from sfumato.formats.table_format import KeptTexts, RowStream
from sfumato.project.adoption.rows import AdoptedReleaseReader
from sfumato.project.document.entry_plan import check_policy
from sfumato.project.document.model import Document, Recipient, canonical_json, to_plain
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import (
    BatchedTable,
    ReleaseSummary,
    SummaryKey,
    naming_rows,
)
from sfumato.project.release.batched_views import (
    BatchedView,
    batched_view,
    counted_view,
    suppressed_in_parts,
)
from sfumato.project.release.batches import table_of
from sfumato.project.release.group_shuffle import group_columns, mark_of, marks_as_told
from sfumato.project.release.leaving_units import leaving_rows
from sfumato.project.release.plan import KnownHashes, Plan, Releaser
from sfumato.project.release.release_columns import EncodedTable, check_columns, material_with
from sfumato.project.release.release_stream import drawn_groups, fitted_rows, stream_of
from sfumato.project.release.uniqueness import SampleUniques
from sfumato.project.release.views import Coarsening, coarsening_of
from sfumato.project.store.remembered import Remembered

_SUMMARY: Final = "summary"


def recall_summary(remembered: Remembered, document: Document, table: BatchedTable) -> None:
    """Let a table know what was found out before about the same rows by the same columns."""
    about = _about(document)
    if about and (found := remembered.find(_SUMMARY, about)) is not None:
        table.recall(document, found)


def remember_summary(remembered: Remembered, document: Document, table: BatchedTable) -> None:
    """Remember what a release needs of a table that was looked through, if that is little."""
    about = _about(document)
    if about and not (summary := table.summary(document, Silent())).groups:
        remembered.keep(_SUMMARY, about, summary.for_release())


def known_by(document: Document, decided: object) -> str:
    """Return what a finding in a document's rows is known again by; empty without a source.

    That is the source's rows, however it is found and read, and what the finding depends on of
    what is `decided`.
    """
    source = document.source
    return "" if source is None else f"{canonical_json(to_plain(source.unread))} {decided}"


def _about(document: Document) -> str:
    """Return what a summary is known again by; empty where it depends on units."""
    return known_by(document, SummaryKey.by(document)) if document.unit is None else ""


RowsBy = Callable[[Plan, DerivedKeys, Context, Path], Iterator[pa.RecordBatch]]
"""What makes a plan's rows of the source table in this process's place, see `RowStream`."""


class PreparedTable:
    """What releases of a table have in common, whoever they are for: computed once.

    Parameters
    ----------
    project
        Whose saved document and keys count. Where the document changes, all is computed anew.
    table
        The source table, in memory or not.
    """

    def __init__(self, project: ProjectFile, table: BatchedTable) -> None:
        self._project, self.table = project, table
        recall_summary(project.remembered, project.document, self.table)
        source = project.document.source
        digest = "" if source is None else source.digest
        matched = self.table.to_match(Silent())
        self._rungs = AdoptedReleaseReader(matched, (project.path.parent,), digest)
        self._several = False
        self._hashes: dict[str | None, KnownHashes] = {}
        self._texts: KeptTexts = {}

    def expect_several(self) -> None:
        """Keep what releases have in common of a table in memory, for those that follow.

        That is the hashes of record keys, and columns as they are written that all see alike.
        """
        self._several = self.table.fits

    @property
    def left(self) -> BatchedTable:
        """The rows that leave by the project's document."""
        return leaving_rows(self.table, self._project.document, self._project.keys, Silent())

    def summary(self, context: Context) -> ReleaseSummary:
        """Return what is known of the table by the project's document."""
        return self.left.for_release(self._project.document, context)

    def material(self, context: Context) -> EncodedTable:
        """Return every attribute of the policy, and rows that show every sort of value.

        Raises
        ------
        PolicyError
            If the policy is not complete, see `check_policy`.
        SfumatoError
            If the table does not fit the document.
        """
        document = self._project.document
        check_policy(document)
        check_columns(document, self.table.columns)
        summary = self.summary(context)
        return material_with(document, summary.witnesses, summary.encoded)

    def seen(self, coarsening: Coarsening | None) -> BatchedView | None:
        """Return what a view makes of the table; raises what `batched_view` does."""
        if coarsening is None:
            return None
        columns = self.material(Silent()).document.columns
        return batched_view(self.left, columns, coarsening, Silent())

    def suppressed(self, seen: BatchedView) -> tuple[str, ...]:
        """Return what a plan lists of the rows that a view suppresses, found in one pass."""
        return suppressed_in_parts(seen, self.left, self._project.keys, Silent())

    def group_marks(self, plan: Plan) -> dict[str, str]:
        """Return by what a plan knows the groups of its entries again, found in one pass."""
        if not plan.groups:
            return {}
        names, found = group_columns(plan), np.zeros((len(plan.groups), 2), dtype=np.uint64)
        for batch, _ in self.left.read(names, "Looking at the groups", Silent()):
            table = table_of(batch, {name: plan.schema[name] for name in names})
            found += mark_of(plan, table, self._project.keys)
        return marks_as_told(plan, found)

    def alone(self, context: Context, recipient: Recipient) -> SampleUniques | None:
        """Return how many records are unique on what a recipient sees unperturbed."""
        document = self.material(Silent()).document
        if coarsening_of(document, recipient) is None:
            return self.summary(context).alone
        return counted_view(self.left, document, recipient, context).alone

    def released(
        self, plan: Plan, seen: BatchedView | None, context: Context
    ) -> tuple[pd.DataFrame, RowStream]:
        """Return some released rows of every sort, and what makes all while they are written."""
        keys, left = self._project.keys, self.left
        summary = self.summary(Part(context, 0.0, 0.5))
        groups = drawn_groups(plan, keys, summary.groups, left, Part(context, 0.5, 0.8))
        adopted = self._adopted(Part(context, 0.8, 0.9))
        known = None
        if self._several:
            new = KnownHashes(left.batches.rows)
            known = self._hashes.setdefault(plan.record_key, new)
        releaser = plan.bind(keys, seen, groups, adopted, placed=True, known=known)
        with naming_rows(summary.left_places):
            frame = releaser.of_every_sort(summary.left, summary.left_places)
        if len(plan.released) == 1 and not frame.isna().any(axis=None):
            frame = self._with_missing(frame, releaser, Part(context, 0.9, 1.0))
        return frame, stream_of(releaser, left, kept=self._texts if self._several else None)

    def _adopted(self, context: Context) -> dict[str, tuple[Adopted, ...]]:
        """Return the rows of all adopted releases, by the key of the policy entry."""
        material = self.material(Silent())
        entries = [each for each in material.document.policy if adopted_in(each.settings)]
        found = {}
        for entry, part in one_by_one(context, entries):
            attributes = [material.attributes[name] for name in entry.attributes]
            found[entry.key] = self._rungs.of(entry.settings, attributes, part)
        return found

    def _with_missing(
        self, frame: pd.DataFrame, releaser: Releaser, context: Context
    ) -> pd.DataFrame:
        """Return released rows of a single column with a missing value, where any row has one.

        As text, how such a column is written depends on that; and it is not known by the source
        table where a missing value is one of those that are drawn.
        """
        plan = releaser.plan
        domains = [plan.column(name).domain for name in plan.released]
        if any(domain is not None and None in domain.values for domain in domains):
            for batch, rows in self.left.read(tuple(plan.schema), "Looking at the rows", context):
                with naming_rows(rows):
                    shown, _ = releaser.shown_alone(table_of(batch, plan.schema), rows)
                if shown.isna().any(axis=None):
                    return pd.concat([frame, shown], ignore_index=True)
        return frame

    def made_by(self, rows_by: RowsBy, plan: Plan, keys: DerivedKeys) -> RowStream:
        """Return a plan's rows, which are made elsewhere while they are written."""
        left = self.left

        def made(context: Context, folder: Path) -> Iterator[pa.RecordBatch]:
            found = rows_by(plan, keys, Part(context, 0.0, 0.7), folder)
            return fitted_rows(plan, found, left, Part(context, 0.7, 1.0))

        return RowStream(left.rows, made)
