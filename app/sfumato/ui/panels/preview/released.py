"""What a policy entry releases of some rows or of all, exactly as a release would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Adopted, ReleaseRequest
from sfumato.engine.randomness.keys import record_ids_by_key, record_ids_by_position
from sfumato.engine.table.table import Attribute, EncodedColumn, Table
from sfumato.project.adoption.rows import read_rungs
from sfumato.project.document.model import Document, PolicyEntry

if TYPE_CHECKING:
    from sfumato.engine.randomness.keys import KeyRing

SAMPLE_ROWS = 200

Positions = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Question:
    """What is asked: a policy entry, and the recipient in sight.

    Parameters
    ----------
    document, table, keys
        Snapshots of the session's.
    entry
        The policy entry.
    columns
        The entry's attributes with their rows, by name.
    recipient
        Whose release is examined in full.
    folder
        The project's folder, where adopted files may have moved with it.
    """

    document: Document
    table: Table
    keys: KeyRing
    entry: PolicyEntry
    columns: Mapping[str, EncodedColumn]
    recipient: str
    folder: Path | None = None

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The entry's attributes."""
        return tuple(self.columns[name].attribute for name in self.entry.attributes)

    @cached_property
    def adopted(self) -> tuple[Adopted, ...]:
        """The earlier releases that the entry is fitted to, with all their rows.

        Raises
        ------
        AdoptionError
            If a file is gone, has changed, or does not match the table.
        """
        source = self.document.source
        return read_rungs(
            self.entry.settings,
            tuple(self.columns[name] for name in self.entry.attributes),
            self.table,
            Silent(),
            () if self.folder is None else (self.folder,),
            "" if source is None else source.digest,
        )


@dataclass(frozen=True)
class Witness:
    """What one recipient sees of the sample rows.

    Parameters
    ----------
    recipient
        The recipient.
    trust
        From 0 to 1.
    values
        The released numbers, shape (rows, N).
    apart
        What they would be if this release had noise of its own, shape (rows, N).
    noise
        The covariance of the noise, shape (N, N); None where it is not known.
    """

    recipient: str
    trust: float
    values: Floats = field(repr=False)
    apart: Floats = field(repr=False)
    noise: Floats | None


def sample_positions(rows: int) -> Positions:
    """Return the positions of evenly spaced rows, at most `SAMPLE_ROWS`."""
    spaced = np.linspace(0, rows - 1, min(SAMPLE_ROWS, rows))
    return np.unique(spaced.round().astype(np.intp))


def released_of(
    question: Question,
    level: float,
    rows: Positions | None,
    context: Context,
    keys: KeyRing | None = None,
) -> Mapping[str, pd.Series]:
    """Return what is released at a level, by attribute.

    Parameters
    ----------
    question
        The policy entry and the table.
    level
        In the mechanism's unit.
    rows
        Which rows; all where None.
    context
        Progress and cancelling.
    keys
        Other keys than the question's: a release with noise of its own.
    """
    chosen = [question.columns[name] for name in question.entry.attributes]
    if rows is not None and any(column.groups is not None for column in chosen):
        # What a row shows depends on its whole group, so the whole table is released.
        whole = released_of(question, level, None, context, keys)
        return {name: column.iloc[rows] for name, column in whole.items()}
    columns = tuple(
        column if rows is None else EncodedColumn(column.attribute, column.values[rows])
        for column in chosen
    )
    request = ReleaseRequest(
        columns=columns,
        settings=question.entry.settings,
        level=level,
        record_ids=_record_ids(question, rows, context),
        keys=question.keys if keys is None else keys,
        adopted=question.adopted
        if rows is None
        else tuple(one.at(rows) for one in question.adopted),
    )
    return mechanism_called(question.entry.mechanism).release(request, context)


def _record_ids(
    question: Question, rows: Positions | None, context: Context
) -> npt.NDArray[np.uint64]:
    """Return the identifiers of some rows, as a release of the whole table has them."""
    key = question.document.record_key
    if key is not None:
        column = question.table.column(key)
        return record_ids_by_key(
            column if rows is None else column.iloc[rows], question.keys, context
        )
    if rows is None:
        return record_ids_by_position(question.table.rows)
    return rows.astype(np.uint64)  # a position is its own identifier
