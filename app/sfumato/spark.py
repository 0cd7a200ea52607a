"""Releases made by Spark: the same rows as Sfumato's own, on as many executors as there are.

Executors need Sfumato, pandas, pyarrow, numpy and cryptography, and the keys in the place that the
`KeySource` names. No key stands in a plan of Spark's, an event log or a shuffle. Spark is imported
where it is used: the module itself is there without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from sfumato.engine.randomness.row_order import Hashes
from sfumato.project.release.plan import Plan
from sfumato.project.release.workers import (
    ClassFacts,
    KeySource,
    check_columns,
    hashed_columns,
    hashed_part,
    plain_schema,
    read_plan,
    refuse_repeated,
    refuse_small,
    refuse_varying,
    released_part,
    view_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField

__all__ = ["ClassFacts", "KeySource", "Plan", "class_counts", "class_facts", "read_plan", "release"]

_ORDER: Final = "sfumato order"
_UNIT: Final = ("sfumato unit 1", "sfumato unit 2")
_PLACE: Final = "sfumato place"
_HALF: Final = np.uint64(1 << 63)
_ROWS: Final = 1 << 17
"""Rows that are released at once; Spark hands over ten thousand at a time."""

Batches = Iterable[pa.RecordBatch]


def release(df: DataFrame, plan: Plan, key_source: KeySource) -> DataFrame:
    """Return the rows of a table as a plan's recipient is given them, in the release's own order.

    That no record key stands in two rows is found out first, by a group-by over the keys' hashes;
    all else is done when the result is asked for.

    Parameters
    ----------
    df
        The table, with all columns of the plan.
    plan
        From `read_plan`.
    key_source
        Where each executor finds the key file that was made together with the plan.

    Returns
    -------
    pyspark.sql.DataFrame
        The released columns. Categories in an order are texts, moments have no time zone.

    Raises
    ------
    PolicyError
        If a record's release depends on other records, or units differ in what is drawn once.
    TableError
        If the table lacks a column, or record keys repeat.
    pyspark.errors.PythonException
        When the result is computed, if a row does not fit the plan or the keys are not there: it
        quotes Sfumato's error, which names columns and never a value.
    """
    from pyspark.sql.types import StructType

    check_columns(plan, df.columns)
    given = (plan.to_json(), key_source)
    read = df.select(*map(_quoted, hashed_columns(plan)))
    types = StructType([_binary(), *_units(plan.once_drawn)])
    hashes = read.mapInArrow(partial(_hashes, *given), types)
    refuse_repeated(plan.record_key, class_counts(hashes, [_ORDER]).where("rows > 1").count())
    if plan.once_drawn:
        values = class_counts(hashes, _UNIT)
        refuse_varying(plan, class_counts(values, _UNIT[:1]).where("rows > 1").count())
    if (view := view_of(plan)) is not None:
        shown = class_counts(_made(df, view, key_source), view.released)
        refuse_small(plan, shown.agg({"rows": "min"}).collect()[0][0])
    made = _made(df, plan, key_source)
    ordered = made if plan.rows_as_in_table else made.orderBy(_quoted(_ORDER))
    return ordered.drop(_ORDER)


def class_counts(df: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return the distinct rows of some columns, missing values among them, and how many each has.

    These are in a column ``rows``. They are counted by the engine's own group-by.
    """
    return df.groupBy(*map(_quoted, columns)).count().withColumnRenamed("count", "rows")


def class_facts(df: DataFrame, columns: Sequence[str], sensitive: str | None = None) -> ClassFacts:
    """Return k, the unique records and, with a sensitive column, the l-diversity of a table.

    Parameters
    ----------
    df
        The table, for instance a release.
    columns
        The quasi-identifiers: rows that agree on them are a class. A missing value is one, too.
    sensitive
        The column whose values are counted in each class; a missing value is one.

    Raises
    ------
    TableError
        If the table has no rows.
    """
    from pyspark.sql import functions as f

    names = [*columns] if sensitive is None else [*columns, sensitive]
    # Places in the place of the table's own names, of which one might be "rows".
    places = [f"q{place}" for place in range(len(names))]
    by = places[: len(columns)]
    told = class_counts(df.select(*map(_quoted, names)).toDF(*places), places)
    rows = f.sum("rows")
    classes = told.groupBy(*by).agg(
        rows.alias("rows"),
        (f.max("rows") / rows).alias("share"),
        f.count("rows").alias("values"),
        (f.log(rows) - f.sum(f.col("rows") * f.log("rows")) / rows).alias("entropy"),
    )
    found = classes.agg(
        f.sum("rows").alias("rows"),
        f.count("rows").alias("classes"),
        f.min("rows").alias("smallest"),
        f.count_if(f.col("rows") == 1).alias("unique"),
        f.min("values").alias("values"),
        f.min("entropy").alias("entropy"),
        f.max("share").alias("largest_share"),
    )
    return ClassFacts.of(found.collect()[0].asDict(), sensitive is not None)


def _made(df: DataFrame, plan: Plan, source: KeySource) -> DataFrame:
    """Return the released rows as they come, with what they are ordered by."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StructType

    schema = _of_spark(plan.output_schema())
    types = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    work = partial(_released, plan.to_json(), source, schema)
    read = df.select(*map(_quoted, plan.schema))
    made = read.mapInArrow(work, StructType([*types.fields, _binary(), *_units(plan.unit)]))
    return made if plan.unit is None else _leaving(made, plan.unit.most_rows)


def _leaving(made: DataFrame, most: int) -> DataFrame:
    """Return so many rows of each unit."""
    from pyspark.sql import Window, functions

    unit, rank = map(_quoted, _UNIT)
    place = functions.row_number().over(Window.partitionBy(unit).orderBy(rank))
    return made.withColumn(_PLACE, place).where(f"{_quoted(_PLACE)} <= {most}").drop(_PLACE, *_UNIT)


def _released(
    plan_text: str, source: KeySource, schema: pa.Schema, batches: Batches
) -> Iterator[pa.RecordBatch]:
    for batch in _joined(batches):
        released, words = released_part(batch, plan_text, source)
        packed = _packed(words)
        names = [*schema.names, *(_ORDER, *_UNIT)[: len(packed)]]
        yield pa.RecordBatch.from_arrays([*released.cast(schema).columns, *packed], names)


def _hashes(plan_text: str, source: KeySource, batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in _joined(batches):
        words = hashed_part(batch, plan_text, source)
        packed = _packed(words)
        yield pa.RecordBatch.from_arrays(packed, [_ORDER, *_UNIT][: len(packed)])


def _packed(words: Hashes) -> list[pa.Array]:
    """Return the first two words each as bytes, others as numbers, in the same order as words."""
    plain = words[:, :2].astype(">u8").tobytes()
    fixed = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(16), len(words), [None, pa.py_buffer(plain)]
    )
    signed = (words[:, 2:] ^ _HALF).view(np.int64)
    return [fixed.cast(pa.binary()), *(pa.array(column.copy()) for column in signed.T)]


def _joined(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield batches together until they have many rows."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(each.num_rows for each in held) >= _ROWS:
            yield pa.concat_batches(held)
            held = []
    if held:
        yield pa.concat_batches(held)


def _of_spark(schema: pa.Schema) -> pa.Schema:
    """Return a schema with the types that Spark has in the place of those that it lacks."""
    types = {pa.uint64(): pa.decimal128(20, 0)}
    types |= {pa.timestamp(unit): pa.timestamp("us") for unit in ("s", "ms", "ns")}
    plain = plain_schema(schema)
    return pa.schema((field.name, types.get(field.type, field.type)) for field in plain)


def _binary() -> StructField:
    from pyspark.sql.types import BinaryType, StructField

    return StructField(_ORDER, BinaryType(), nullable=False)


def _units(has_units: object) -> list[StructField]:
    """Return the columns of what is told of a row's unit, where there are units."""
    from pyspark.sql.types import LongType, StructField

    return [StructField(name, LongType(), nullable=False) for name in _UNIT if has_units]


def _quoted(name: str) -> str:
    """Return a column's name as Spark's SQL takes it, whatever characters it has."""
    return f"`{name.replace('`', '``')}`"
