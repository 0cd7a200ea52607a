"""How large the classes of a long table's records are that agree on what is shown of them.

Each row's mark is put aside on the disk under a key that nobody keeps, by its first bits, so that a
class's rows come together. Where rows belong to units, units are counted: one is unique where all
rows of a class are its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from secrets import token_bytes
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.engine.core.progress import Context
from sfumato.engine.randomness.keys import AttributeKey
from sfumato.engine.randomness.row_order import order_words
from sfumato.engine.table.marks import Marks, class_counts
from sfumato.project.release.buckets import Buckets
from sfumato.project.release.weights import chances_in_population

SIZES: Final = 8
"""Classes of fewer records, or units, are counted by their sizes."""


@dataclass(frozen=True)
class ClassSizes:
    """How large classes of records are.

    Parameters
    ----------
    small
        How many records classes of 0, 1, 2, … records, or units, have, up to `SIZES`.
    smallest
        The records, or units, of the smallest class.
    unique
        How many records, or units, are alone in a class.
    expected
        How many of these are expected to be so in the population, by their weights.
    """

    small: tuple[int, ...]
    smallest: int
    unique: int
    expected: float = 0.0

    @classmethod
    def of(cls, counts: npt.NDArray[np.integer]) -> ClassSizes:
        """Return the sizes of classes whose records were counted; at least one."""
        small = np.bincount(counts[counts <= SIZES], minlength=SIZES + 1)
        found = tuple((small * np.arange(SIZES + 1)).tolist())
        return cls(found, int(counts.min()), found[1])


@dataclass(frozen=True)
class RowsUnits:
    """Whose some rows are, and where they stand in the table, shape (n,) each.

    A unit is a number that was made under a key that nobody keeps.
    """

    units: Marks
    rows: npt.NDArray[np.int64]


def put_marks(
    buckets: Buckets,
    marks: Marks,
    key: AttributeKey,
    weights: npt.NDArray[np.float64] | None = None,
    whose: RowsUnits | None = None,
) -> None:
    """Put rows' marks aside under a key that nobody keeps: they tell of the rows' values.

    So do weights, which are encrypted: each has a pad of its own, made of a random number.
    """
    hidden = order_words(marks, key)[:, 0].copy()
    columns = {"mark": pa.array(hidden)}
    if whose is not None:
        columns |= {"unit": pa.array(whose.units), "row": pa.array(whose.rows)}
    if weights is not None:
        pads = np.frombuffer(token_bytes(8 * len(weights)), dtype=np.uint64)
        columns["pad"] = pa.array(pads)
        columns["weight"] = pa.array(weights.view(np.uint64) ^ order_words(pads, key)[:, 1])
    buckets.add(pa.record_batch(columns), hidden)


def class_sizes(
    buckets: Buckets, rows: int, context: Context, key: AttributeKey, by_unit: bool = True
) -> ClassSizes:
    """Return how large the classes of all rows are that were put aside under a key.

    Units are counted where rows were put aside with theirs, unless it shall not be `by_unit`.
    """
    found: list[ClassSizes] = []
    units: list[int] = []

    def chances() -> Iterator[float]:
        with Buckets(buckets.folder, rows) as alone:
            done = 0
            for batch in buckets:
                context.report(done / rows, "Counting unique records")
                done += len(batch)
                if by_unit and "unit" in batch.schema.names:
                    found.append(_by_unit(batch, alone))
                    continue
                marks = batch["mark"].to_numpy()
                if "weight" not in batch.schema.names:
                    found.append(ClassSizes.of(class_counts(np.sort(marks))))
                    continue
                order = np.argsort(marks)
                counts = class_counts(marks[order])
                found.append(ClassSizes.of(counts))
                yield from _chances(batch, order[(np.cumsum(counts) - 1)[counts == 1]], key)
            for batch in alone:
                order = np.lexsort((batch["row"].to_numpy(), batch["unit"].to_numpy()))
                firsts = order[_begins(batch["unit"].to_numpy()[order])]
                units.append(len(firsts))
                if "weight" in batch.schema.names:
                    yield from _chances(batch, firsts, key)

    # Rounded once, the sum does not depend on the order of the rows.
    expected = math.fsum(chances())
    small = np.sum([each.small for each in found], axis=0)
    smallest = min(each.smallest for each in found)
    unique = sum(each.unique for each in found) + sum(units)
    return ClassSizes(tuple(small.tolist()), smallest, unique, expected)


def _by_unit(batch: pa.RecordBatch, alone: Buckets) -> ClassSizes:
    """Return how many units classes have; rows of units that are alone are put aside by unit.

    A unit may be alone in several classes, so how many are is counted there.
    """
    order, classes, sizes = units_by_class(batch)
    few = sizes[classes]
    small = np.bincount(few[few <= SIZES], minlength=SIZES + 1)
    chosen = batch.drop_columns("mark").take(pa.array(order[few == 1]))
    if len(chosen):
        alone.add(chosen, chosen["unit"].to_numpy())
    return ClassSizes(tuple(small.tolist()), int(sizes.min()), 0)


def units_by_class(
    batch: pa.RecordBatch,
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return an order of rows by class and unit, the class of each there, and classes' units."""
    marks, units = batch["mark"].to_numpy(), batch["unit"].to_numpy()
    order = np.lexsort((units, marks))
    marks, units = marks[order], units[order]
    begins = _begins(marks)
    classes = np.cumsum(begins) - 1
    return order, classes, np.bincount(classes[begins | _begins(units)])


def _begins(ordered: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
    """Return where a number stands that is not the one before it, shape (n,); at first, always."""
    return np.append(True, ordered[1:] != ordered[:-1])


def _chances(
    batch: pa.RecordBatch, rows: npt.NDArray[np.intp], key: AttributeKey
) -> Iterator[float]:
    """Yield the chances of some rows that were put aside, by their weights."""
    yield from chances_in_population(put_weights(batch, key)[rows]).tolist()


def put_weights(batch: pa.RecordBatch, key: AttributeKey) -> npt.NDArray[np.float64]:
    """Return the weights of rows that were put aside with them, shape (n,)."""
    pads = order_words(batch["pad"].to_numpy(), key)[:, 1]
    found: npt.NDArray[np.float64] = (batch["weight"].to_numpy() ^ pads).view(np.float64)
    return found
