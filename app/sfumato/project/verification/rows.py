"""The part of a verification that looks at rows and columns, and at the k of the bundle's own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from secrets import token_bytes

import numpy as np
import pyarrow as pa

from sfumato.engine.core.columns import Role
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
from sfumato.project.release.regenerate import Regenerator
from sfumato.project.verification.compared import BundleComparison, Order
from sfumato.project.verification.recognition import RecognizedRelease


def check_rows(
    bundle: Bundle, match: RecognizedRelease, maker: Regenerator, comparison: BundleComparison
) -> tuple[Check, ...]:
    """Check the number and order of the records, and every column that is not perturbed."""
    perturbed = {name for plan in match.plans for name in plan.attributes}
    return (
        _check_records(comparison, maker.document.unit is not None),
        _check_columns(bundle, match, maker, perturbed),
        _check_identifying(bundle, maker),
        _check_unperturbed(bundle, maker, comparison, perturbed, match.view is not None),
    )


def _is_secret(maker: Regenerator, name: str) -> bool:
    spec = maker.specification(name)
    return spec is not None and (spec.role is Role.SENSITIVE or spec.is_dropped)


def _check_records(comparison: BundleComparison, by_unit: bool) -> Check:
    """Check that a bundle has all records; `by_unit`, some rows of the table don't leave."""
    found, source = comparison.found, comparison.leaving
    ordered = comparison.order is Order.SAME
    where = Sentence("the source table that may leave" if by_unit else "the source table")
    said = "It has all {found:,} {found:record|records} of {where}."
    if not ordered:
        said = (
            "It has all {found:,} {found:record|records}, but in another order than was released."
        )
    if found > source:
        said = "It has {found:,} {found:record|records}, {more:,} more than {where}."
    if found < source:
        said = (
            "It has {found:,} {found:record|records} of {source:,}: {lost:,} {lost:is|are} missing"
        )
    detail = {"found": found, "source": source, "more": found - source, "lost": source - found}
    finding = Sentence(said, where=where, **detail)
    if found < source:
        told = "{missing}, and others were altered."
        if not ordered:
            told = "{missing}, and not only at the end."
        elif comparison.all_alike:
            told = "{missing} at the end."
        finding = Sentence(told, missing=finding)
    return Check("Records", found == source and ordered, finding)


def _check_columns(
    bundle: Bundle, match: RecognizedRelease, maker: Regenerator, perturbed: set[str]
) -> Check:
    """Check which columns the bundle has, and their order."""
    title = "Columns"
    released = (
        {
            *match.record.open_columns,
            *perturbed,
            *(s.name for s in maker.document.columns if s.as_pseudonym is not None),
        }
        if match.record is not None
        else {
            name
            for name in maker.table.columns
            if (spec := maker.specification(name)) is not None and not spec.is_dropped
        }
    )
    wanted = [name for name in maker.table.columns if name in released]
    found = list(bundle.table.columns)
    missing = [name for name in wanted if name not in found]
    strange = [name for name in found if name not in wanted]
    findings = []
    if missing:
        findings.append(Sentence("missing: {names}", names=", ".join(missing)))
    if strange:
        findings.append(Sentence("not in the release: {names}", names=", ".join(strange)))
    if findings:
        return Check.failed(
            title, "Its columns are not those released ({names}).", names="; ".join(findings)
        )
    if found != wanted:
        return Check(title, False, "Its columns are in another order than was released.")
    return Check.passed(
        title, "It has the {found} {found:column|columns} that were released.", found=len(found)
    )


def _check_identifying(bundle: Bundle, maker: Regenerator) -> Check:
    identifying = [spec.name for spec in maker.document.columns if spec.is_dropped]
    shown = [name for name in identifying if name in bundle.table.columns]
    title = "Identifying columns"
    if shown:
        return Check.failed(
            title, "It has columns that identify a person: {names}.", names=", ".join(shown)
        )
    if not identifying:
        return Check(title, True, "No column of the project is identifying.")
    return Check.passed(
        title,
        "{identifying:The identifying column is not|None of the identifying columns is} in it.",
        identifying=len(identifying),
    )


def _check_unperturbed(
    bundle: Bundle,
    maker: Regenerator,
    comparison: BundleComparison,
    perturbed: Collection[str],
    coarser: bool,
) -> Check:
    """Check the columns that no release perturbs; `coarser`, the recipient has a view of them."""
    title = "Unperturbed columns"
    if comparison.order is Order.OTHER:
        return Check(title, True, "They have the source table's values, in other places.")
    names = [
        name
        for name in bundle.table.columns
        if name not in perturbed and not _is_secret(maker, name)
    ]
    differing = comparison.differing
    findings = [f"{n}: {differing[(n,)].sentence}" for n in names if (n,) in differing]
    findings += [
        Sentence("{name}: it can't be compared with the source table", name=name)
        for name in names
        if name not in comparison.known
    ]
    listed = "; ".join(findings)
    if findings and coarser:
        return Check(title, False, Sentence("They are not as released ({names}).", names=listed))
    if findings:
        said = Sentence("They are not as in the source table ({names}).", names=listed)
        return Check(title, False, said)
    if not names:
        return Check(title, True, "It has none.")
    said = Sentence("All {names} are as in the source table.", names=len(names))
    if coarser:
        said = Sentence("All {names} are as the recipient's view shows them.", names=len(names))
    return Check(title, True, said)


# ----- whether a bundle's own rows keep the k that its recipient's view promises


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
