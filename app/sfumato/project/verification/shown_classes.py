"""Whether a bundle's own rows keep the k that its recipient's view promises."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from secrets import token_bytes

import numpy as np
import pyarrow as pa

from sfumato.engine.core.progress import Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms.base import Check
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey
from sfumato.engine.table.combinations import value_marks
from sfumato.formats.bundles.reading import Bundle
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.bucket_counts import (
    Buckets,
    RowsUnits,
    class_sizes,
    put_marks,
    series_of,
)
from sfumato.project.verification.compared import BundleComparison, Order
from sfumato.project.verification.recognition import RecognizedRelease


class ShownClasses:
    """Counts the classes of some columns in a bundle's rows.

    Parameters
    ----------
    names
        The columns.
    buckets
        Take hashed marks of the rows under a key that nobody keeps.
    by_unit
        Whether rows belong to units.
    """

    def __init__(self, names: Sequence[str], buckets: Buckets, by_unit: bool) -> None:
        self.names, self._buckets, self._by_unit = names, buckets, by_unit
        self._key = AttributeKey(token_bytes(SECRET_BYTES))

    def add(self, shown: pa.RecordBatch, whose: pa.Array | None = None) -> None:
        """Count rows, of these units where they are known."""
        marks = np.zeros(len(shown), dtype=np.uint64)
        for name in self.names:
            values = shown[name]
            if pa.types.is_dictionary(values.type):
                values = values.dictionary_decode()
            found, places = value_marks(series_of(values, name))
            marks += found if places is None else found[places]
        units = None
        if self._by_unit:
            numbers = np.zeros(len(shown), dtype=np.uint64) if whose is None else whose.to_numpy()
            units = RowsUnits(numbers, np.zeros(len(shown), dtype=np.int64))
        put_marks(self._buckets, marks, self._key, whose=units)

    def checks(self, comparison: BundleComparison, k: int) -> tuple[Check, ...]:
        """Check that the smallest class has as many records or units as was promised.

        Whose the rows are is known where they stand in the release's order; else rows are counted.
        """
        if not comparison.found:
            return ()
        in_order = comparison.order is Order.SAME and comparison.rows == comparison.found
        by_unit = self._by_unit and in_order
        given = (self._buckets, comparison.found, Silent(), self._key, by_unit)
        smallest = class_sizes(*given).smallest
        what = Sentence("units" if by_unit else "records")
        detail = {"names": ", ".join(self.names), "smallest": smallest, "what": what, "k": k}
        said = "The smallest class on {names} has {smallest:,} {what}, and k = {k} was promised."
        if smallest < k:
            said = "The smallest class on {names} has {smallest:,} {what}; k = {k} was promised."
        return (Check("Quasi-identifiers", smallest >= k, Sentence(said, **detail)),)


def classes_in(
    bundle: Bundle, match: RecognizedRelease, table: BatchedTable, stack: ExitStack
) -> ShownClasses | None:
    """Return what counts the classes of the quasi-identifiers; None where a view shows none."""
    columns = [field.column for field in bundle.descriptor.fields]
    names = [] if match.view is None else [n for n in match.view.hierarchies if n in columns]
    if not names:
        return None
    buckets = stack.enter_context(Buckets(table.folder, table.rows))
    return ShownClasses(names, buckets, table.units is not None)
