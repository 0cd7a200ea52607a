"""A bundle's rows beside those of the release made again, while both are read."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.progress import Context
from sfumato.formats.bundles.reading import Bundle, data_batches
from sfumato.formats.formulas import rows_with_escapes, unescaped
from sfumato.formats.table_format import BATCH_ROWS, RowStream
from sfumato.project.release.long_release import UNIT
from sfumato.project.verification.rows import differing_rows


class CountsRows(Protocol):
    """What a bundle's own rows are counted by."""

    def add(self, shown: pa.RecordBatch, whose: pa.Array | None = None) -> None:
        """Count rows, of these units where they are known."""


@dataclass
class Compared:
    """How a bundle's rows stand to those of the release made again.

    Parameters
    ----------
    found
        How many rows the bundle has.
    rows
        How many were compared, from the first on.
    differing
        For each column that both have, how many rows differ, and the first of them, from 1.
    counts
        Counts the bundle's own rows, too; None where nothing is asked of these.
    """

    found: int = 0
    rows: int = 0
    differing: dict[str, tuple[int, int]] = field(default_factory=dict)
    counts: CountsRows | None = None

    def see(self, shown: pa.RecordBatch, whose: pa.Array | None = None) -> None:
        """Count rows of the bundle, of these units where they are known."""
        self.found += len(shown)
        if self.counts is not None and len(shown):
            self.counts.add(shown, whose)

    def add(self, made: pa.RecordBatch, shown: pa.RecordBatch) -> None:
        """Compare as many rows of both."""
        whose = None
        if UNIT in made.schema.names:
            whose, made = made[UNIT], made.drop_columns(UNIT)
        self.see(shown, whose)
        for name in made.schema.names:
            if name in shown.schema.names:
                differ = np.flatnonzero(_differ(made[name], shown[name]))
                count, first = self.differing.get(name, (0, 0))
                if len(differ) and not count:
                    first = self.rows + int(differ[0]) + 1
                self.differing[name] = count + len(differ), first
        self.rows += len(made)

    def sentence(self, name: str) -> str:
        """Say how many rows of a column differ, and which is the first."""
        count, first = self.differing[name]
        return differing_rows(count, self.rows, first)


def compared_rows(
    again: RowStream,
    bundle: Bundle,
    folder: Path,
    room: Path,
    context: Context,
    counts: CountsRows | None,
) -> Compared:
    """Compare a bundle's rows with those made again, in whatever batches both come."""
    descriptor = bundle.descriptor
    if descriptor.escaped:
        again = rows_with_escapes(again)
    shown = data_batches(folder / descriptor.data_name, descriptor)
    found, held = Compared(counts=counts), pa.record_batch({})
    names = [field.column for field in descriptor.fields]
    for made in again.blocks(BATCH_ROWS, context, room):
        called = made.rename_columns(_called(made.schema.names, bundle))
        done = 0
        while done < len(called):
            if not len(held):
                held = next(shown, held)
                if not len(held):
                    break
            count = min(len(held), len(called) - done)
            found.add(called.slice(done, count), held.slice(0, count).select(names))
            held, done = held.slice(count), done + count
    for batch in itertools.chain([held], shown):
        found.see(batch.select(names) if len(batch) else batch)
    return found


def _called(names: Sequence[str], bundle: Bundle) -> list[str]:
    """Return how a release's columns are called, whether their names are escaped or not."""
    return [unescaped(name) if bundle.descriptor.escaped else name for name in names]


def _differ(made: pa.Array, shown: pa.Array) -> npt.NDArray[np.bool_]:
    """Return in which rows two arrays differ, shape (n,); an empty text is a missing value."""
    if _is_coded(made) and _is_coded(shown):
        return np.not_equal(_codes_of(made, shown), _codes_of(shown, shown))
    if pa.types.is_dictionary(made.type):
        made = made.dictionary_decode()
    if pa.types.is_dictionary(shown.type):
        shown = shown.dictionary_decode()
    if made.type != shown.type:
        try:
            made = made.cast(shown.type)
        except pa.ArrowException:
            made, shown = made.cast(pa.string()), shown.cast(pa.string())
    if pa.types.is_string(made.type):
        made, shown = (pc.if_else(pc.equal(each, ""), None, each) for each in (made, shown))
    unlike = pc.fill_null(pc.not_equal(made, shown), False)
    either = pc.xor(pc.is_null(made), pc.is_null(shown))
    found: npt.NDArray[np.bool_] = pc.or_(unlike, either).to_numpy(zero_copy_only=False)
    return found


def _is_coded(values: pa.Array) -> bool:
    kind = values.type
    return bool(pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type))


def _codes_of(values: pa.DictionaryArray, among: pa.DictionaryArray) -> npt.NDArray[np.int64]:
    """Return where texts stand among others: -1 where nowhere, -2 where missing or empty."""
    texts = values.dictionary
    places = pc.index_in(texts, value_set=among.dictionary).fill_null(-1)
    nothing = pc.fill_null(pc.equal(texts, ""), True).to_numpy(zero_copy_only=False)
    codes = np.append(np.where(nothing, -2, places.to_numpy()), -2)
    found: npt.NDArray[np.int64] = codes[values.indices.fill_null(-1).to_numpy()]
    return found
