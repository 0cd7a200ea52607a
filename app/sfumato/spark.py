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

from sfumato.project.release.brought_together import (
    group_columns,
    grouped_entries,
    shown_alone_by,
)
from sfumato.project.release.plan import Plan
from sfumato.project.release.workers import (
    CLASS,
    ORDER,
    PLACE,
    RECORD,
    UNIT,
    ClassFacts,
    KeySource,
    check_classes,
    check_columns,
    class_columns,
    class_names,
    class_part,
    counted_attributes,
    counts_classes,
    group_names,
    hashed_columns,
    hashed_names,
    hashed_part,
    marked_part,
    plain_schema,
    read_plan,
    refuse_large,
    refuse_other_groups,
    refuse_repeated,
    refuse_small,
    refuse_varying,
    released_names,
    released_part,
    together_part,
    value_name,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = [
    "ClassFacts",
    "KeySource",
    "Plan",
    "class_counts",
    "class_facts",
    "read_plan",
    "release",
    "view_facts",
]

_RANK: Final = "sfumato rank in unit"
_ROWS: Final = 1 << 17
"""Rows that are released at once; Spark hands over ten thousand at a time."""
_TOGETHER: Final = 1 << 20
"""About so many rows are brought together in a partition, some 150 bytes for each."""

Batches = Iterable[pa.RecordBatch]


def release(df: DataFrame, plan: Plan, key_source: KeySource) -> DataFrame:
    """Return the rows of a table as a plan's recipient is given them, in the release's own order.

    That no record key stands in two rows is found out first, by a group-by over the keys' hashes,
    and what the plan says of units and groups; all else is done when the result is asked for.

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
    schema = check_columns(plan, df.columns)
    parts = _check_rows(df, plan, key_source)
    if counts_classes(plan):
        refuse_small(plan, _smallest(df, plan, key_source))
    placed = plan.rows_as_in_table
    made = _made(df, plan, key_source, parts, placed)
    words = [PLACE] if placed else list(ORDER)
    if not placed or plan.groups or plan.unit:
        made = made.orderBy(*map(_quoted, words))
    return made.select(*map(_quoted, schema.names))


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


def view_facts(df: DataFrame, plan: Plan, key_source: KeySource) -> dict[str, ClassFacts]:
    """Return what the classes tell that a plan's recipient would see, before anything is released.

    Rows are in one class that agree on what is shown of the quasi-identifiers, among those that
    leave. In each, the true values are counted.

    Parameters
    ----------
    df, plan, key_source
        See `release`.

    Returns
    -------
    dict
        By each sensitive attribute with a list of values or bins; under "" where there is none.

    Raises
    ------
    PolicyError, TableError, KeyFileError
        As `release`; the table may also show no quasi-identifiers, or have no rows.
    """
    check_classes(plan, df.columns)
    names = counted_attributes(plan)
    made = _classes(df, plan, key_source, with_values=True).persist()
    try:
        if not names:
            return {"": class_facts(made, CLASS)}
        return {name: class_facts(made, CLASS, value_name(name)) for name in names}
    finally:
        made.unpersist()


def _made(
    df: DataFrame,
    plan: Plan,
    source: KeySource,
    parts: int,
    placed: bool,
) -> DataFrame:
    """Return the released rows as they come, with what they are ordered by.

    Rows of a unit are brought together, and those of a group in so many `parts`. `placed` ones say
    where they stood in the table.
    """
    from pyspark.sql import functions as f

    alone, text, words = shown_alone_by(plan), plan.to_json(), released_names(plan)
    schema = of_spark(alone.output_schema())
    read = df.select(*map(_quoted, plan.schema))
    if placed:
        read = read.withColumn(PLACE, f.monotonically_increasing_id())
        words = [*words, PLACE]
    work = partial(_released, text, source, schema)
    made = read.mapInArrow(work, types_of(schema, words))
    if plan.unit is not None:
        made = _leaving(made, plan.unit.most_rows)
    whole = of_spark(plan.output_schema())
    for place, entry in enumerate(grouped_entries(plan)):
        names = group_names(place)
        words = [name for name in words if name not in names]
        for name in entry.attributes:
            schema = schema.append(whole.field(name))
        work = partial(_together, text, source, place, [*schema.names, *words], schema)
        together = made.repartition(parts, _quoted(names[0]))
        made = together.mapInArrow(work, types_of(schema, words))
    return made


def _leaving(made: DataFrame, most: int) -> DataFrame:
    """Return so many rows of each unit."""
    from pyspark.sql import Window, functions

    unit, rank = map(_quoted, UNIT)
    place = functions.row_number().over(Window.partitionBy(unit).orderBy(rank))
    return made.withColumn(_RANK, place).where(f"{_quoted(_RANK)} <= {most}").drop(_RANK)


def _classes(df: DataFrame, plan: Plan, source: KeySource, with_values: bool = False) -> DataFrame:
    """Return the words of `class_part`, of rows that leave."""
    read = df.select(*map(_quoted, class_columns(plan, with_values)))
    work = partial(_class_words, plan.to_json(), source, with_values)
    made = read.mapInArrow(work, types_of(pa.schema([]), class_names(plan, with_values)))
    return made if plan.unit is None else _leaving(made, plan.unit.most_rows)


def _class_words(
    plan_text: str, source: KeySource, with_values: bool, batches: Batches
) -> Iterator[pa.RecordBatch]:
    for batch in _joined(batches):
        yield class_part(batch, plan_text, source, with_values)


def _smallest(df: DataFrame, plan: Plan, source: KeySource) -> int:
    """Return how many rows the smallest class of a view has, or units."""
    classes = _classes(df, plan, source)
    if plan.unit is not None:
        classes = classes.select(*map(_quoted, [*CLASS, UNIT[0]])).distinct()
    found: int = class_counts(classes, CLASS).agg({"rows": "min"}).collect()[0][0]
    return found


def _check_rows(df: DataFrame, plan: Plan, source: KeySource) -> int:
    """Refuse repeated record keys, units that differ in what they share, and other groups.

    Return in how many parts groups are brought together.
    """
    from pyspark.sql import functions as f

    text, entries = plan.to_json(), grouped_entries(plan)
    read = df.select(*map(_quoted, hashed_columns(plan)))
    types = types_of(pa.schema([]), hashed_names(plan))
    hashes = read.mapInArrow(partial(_hashes, text, source), types)
    refuse_repeated(plan.record_key, class_counts(hashes, ORDER).where("rows > 1").count())
    if plan.once_drawn:
        values = class_counts(hashes, UNIT)
        refuse_varying(plan, class_counts(values, UNIT[:1]).where("rows > 1").count())
    if not entries:
        return 1
    names = [str(place) for place in range(2 * len(entries))]
    read = df.select(*map(_quoted, group_columns(plan)))
    marks = read.mapInArrow(partial(_marks, text, source), types_of(pa.schema([]), names))
    # A sum of words may be longer than one.
    totals = marks.agg(*(f.sum(f.col(_quoted(name)).cast("decimal(20,0)")) for name in names))
    words = [int(total or 0) for total in totals.collect()[0]]
    refuse_other_groups(plan, list(zip(words[::2], words[1::2], strict=True)))
    rows = 0
    for place, entry in enumerate(entries):
        groups = class_counts(hashes, group_names(place)[:2])
        largest, rows = groups.agg(f.max("rows"), f.sum("rows")).collect()[0]
        refuse_large(entry.key, largest)
    return -(-rows // _TOGETHER)


def _released(
    plan_text: str, source: KeySource, schema: pa.Schema, batches: Batches
) -> Iterator[pa.RecordBatch]:
    for batch in _joined(batches):
        released = released_part(batch, plan_text, source)
        if PLACE in batch.schema.names:
            released = released.append_column(PLACE, batch[PLACE])
        yield _as_stated(released, schema)


def _together(
    plan_text: str,
    source: KeySource,
    place: int,
    names: Sequence[str],
    schema: pa.Schema,
    batches: Batches,
) -> Iterator[pa.RecordBatch]:
    held = list(batches)
    if not held:
        return
    rows = pa.concat_batches(held)
    words = rows.select([*group_names(place), RECORD])
    shown = together_part(words, plan_text, source, place)
    for name in shown.schema.names:
        rows = rows.append_column(name, shown[name])
    whole = _as_stated(rows.select(names), schema)
    yield from (whole.slice(start, _ROWS) for start in range(0, len(whole), _ROWS))


def _as_stated(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows whose columns of a schema have its types."""
    columns = [
        column.cast(schema.field(name).type) if name in schema.names else column
        for name, column in zip(rows.schema.names, rows.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, rows.schema.names)


def _hashes(plan_text: str, source: KeySource, batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in _joined(batches):
        yield hashed_part(batch, plan_text, source)


def _marks(plan_text: str, source: KeySource, batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in _joined(batches):
        words = np.array(marked_part(batch, plan_text, source), dtype=np.uint64).ravel()
        columns = [pa.array([word]) for word in words.view(np.int64).tolist()]
        yield pa.RecordBatch.from_arrays(columns, list(map(str, range(len(columns)))))


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


def of_spark(schema: pa.Schema) -> pa.Schema:
    """Return a schema with the types that Spark has in the place of those that it lacks."""
    types = {pa.uint64(): pa.decimal128(20, 0)}
    types |= {pa.timestamp(unit): pa.timestamp("us") for unit in ("s", "ms", "ns")}
    plain = plain_schema(schema)
    return pa.schema((field.name, types.get(field.type, field.type)) for field in plain)


def types_of(schema: pa.Schema, words: Sequence[str] = ()) -> StructType:
    """Return the types of released columns, with words of rows behind them."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import LongType, StructField, StructType

    shown = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    numbers = [StructField(name, LongType(), nullable=False) for name in words]
    return StructType([*shown.fields, *numbers])


def _quoted(name: str) -> str:
    """Return a column's name as Spark's SQL takes it, whatever characters it has."""
    return f"`{name.replace('`', '``')}`"
