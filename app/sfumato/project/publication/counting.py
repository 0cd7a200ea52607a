"""What is counted of a generalized table while its rows are made: what they keep, who is alone.

The promises are checked from the rows as they are published, by no code of the search.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from secrets import token_bytes

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.progress import Context, Part
from sfumato.engine.generalization.checker import PublicationCheck, PublishedRows
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey, KeyRing
from sfumato.engine.table.combinations import Marks
from sfumato.project.publication.classed_rows import ClassedRows
from sfumato.project.publication.prepared import Prepared
from sfumato.project.release.long_counts import (
    Buckets,
    RowsUnits,
    class_sizes,
    columns_of,
    put_marks,
    units_by_class,
)
from sfumato.project.release.long_table import naming_rows
from sfumato.project.release.uniqueness import AloneInPublication, published_as_they_are
from sfumato.project.release.units import row_marks, units_in


@dataclass(frozen=True)
class CountedRows:
    """What was counted of a generalized table.

    Parameters
    ----------
    check
        What an independent check of its rows found.
    alone
        The records that are alone by columns it shows exactly; None where it shows none so.
    """

    check: PublicationCheck
    alone: AloneInPublication | None


class PromisedRows:
    """Checks rows that are published, as many at a time as they come, with their units if any.

    Parameters
    ----------
    prepared
        What is promised, and of which table.
    stack
        Closes what was put aside on the disk.
    """

    def __init__(self, prepared: Prepared, stack: ExitStack) -> None:
        self._prepared, self._by_unit = prepared, prepared.document.unit is not None
        decided, table = prepared.decided, prepared.table
        self._rows = PublishedRows(decided.quasi_identifiers, decided.sensitive)
        self._key = AttributeKey(token_bytes(SECRET_BYTES))
        self._pairs = stack.enter_context(Buckets(table.folder, table.rows))

    def add(self, frame: pd.DataFrame, whose: RowsUnits | None) -> None:
        """Count some rows; see `PublishedRows.add`."""
        classes = self._rows.add(frame).astype(np.uint64)
        if self._by_unit:
            put_marks(self._pairs, classes, self._key, whose=whose)

    def checked(self, by_unit: bool = True) -> PublicationCheck:
        """Return whether they keep what is promised; see `PublishedRows.checked`.

        Units are counted, where there are such, if it was known whose the rows are.
        """
        prepared, units = self._prepared, None
        if self._by_unit and by_unit:
            units = [int(n) for bucket in self._pairs for n in units_by_class(bucket)[2]]
        return self._rows.checked(prepared.criteria, prepared.others, prepared.values, units)


def counted_rows(made: ClassedRows, context: Context) -> CountedRows:
    """Count the rows of a generalized table, in one pass.

    Raises
    ------
    SfumatoError
        If a row does not fit what is decided.
    """
    prepared, table = made.prepared, made.prepared.table
    document = prepared.document
    exact = published_as_they_are(document)
    names = (*prepared.decided.quasi_identifiers, *exact)
    unit, keys = document.unit, KeyRing(token_bytes(SECRET_BYTES))
    key = AttributeKey(token_bytes(SECRET_BYTES))
    read = dict.fromkeys([*made.columns, *(() if unit is None else unit.columns)])
    with ExitStack() as stack:
        promised = PromisedRows(prepared, stack)
        before, after = (stack.enter_context(Buckets(table.folder, table.rows)) for _ in "ba")
        reading, rest = Part(context, 0.0, 0.9), Part(context, 0.9, 1.0)
        for batch, rows in table.read(list(read), "Generalizing the table", reading):
            whose = None if unit is None else RowsUnits(units_in(batch, unit, keys), rows)
            part = columns_of(batch, list(read))
            with naming_rows(rows):
                frame, left = made.published(part)
            stay = None if whose is None else RowsUnits(whose.units[left], rows[left])
            if len(left):
                promised.add(frame, stay)
            if exact:
                put_marks(before, _agreeing(part.frame, names), key, whose=whose)
                if len(left):
                    put_marks(after, _agreeing(frame, names), key, whose=stay)
        check = promised.checked()
        if not exact:
            return CountedRows(check, None)
        alone = class_sizes(before, table.rows, rest, key).unique
        sizes = class_sizes(after, table.rows, rest, key)
    found = (made.rows, sizes.unique, alone, sizes.smallest)
    units = () if unit is None else (unit.name, made.units)
    return CountedRows(check, AloneInPublication(exact, prepared.decided.sensitive, *found, *units))


def _agreeing(frame: pd.DataFrame, names: Iterable[str]) -> Marks:
    """Return one number a row, the same where rows agree on columns, shape (n,)."""
    total: npt.NDArray[np.uint64] = np.zeros(len(frame), dtype=np.uint64)
    for name in names:
        total += row_marks(frame[name].rename(name))
    return total
