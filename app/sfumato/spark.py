"""Releases made by Spark: the same rows as Sfumato's own, on as many executors as there are.

Executors need Sfumato, pandas, pyarrow, numpy and cryptography, and the keys in the place that the
`KeySource` names. No key stands in a plan of Spark's, an event log or a shuffle. Spark is imported
where it is used: the module itself is there without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, Self

import pyarrow as pa

from sfumato.engine.core.frozen import dataclass
from sfumato.project.release import engine
from sfumato.project.release.engine import ClassTotals, EngineRows, EngineTable, Work
from sfumato.project.release.plan import Plan
from sfumato.project.release.workers import PLACE, ClassFacts, KeySource, plain_schema, read_plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from sfumato.formats.table_format import TablePart

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


def release(df: DataFrame | EngineTable, plan: Plan, key_source: KeySource) -> DataFrame:
    """Return the rows of a table as a plan's recipient is given them, in the release's own order.

    Categories in an order are texts, moments have no time zone. What is checked before is computed
    at once.

    Parameters
    ----------
    df
        The table, with all columns of the plan.
    plan
        From `read_plan`.
    key_source
        Where each executor finds the key file that was made together with the plan.

    Raises
    ------
    PolicyError, DiversityError, TableError
        As `sfumato.project.release.engine.released`.
    pyspark.errors.PythonException
        When the result is computed, if a row does not fit the plan or the keys are not there: it
        quotes Sfumato's error, which names columns and never a value.
    """
    made = engine.released(_table_of(df), plan, key_source)
    assert isinstance(made, SparkRows)
    return made.frame


def class_counts(df: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return the distinct rows of some columns, missing values among them, and how many each has.

    These are in a column ``rows``. They are counted by the engine's own group-by.
    """
    return SparkRows(df).class_counts(columns)


def class_facts(df: DataFrame, columns: Sequence[str], sensitive: str | None = None) -> ClassFacts:
    """Return what classes tell of a table; see `sfumato.project.release.engine.class_facts`."""
    return engine.class_facts(SparkRows(df), columns, sensitive)


def view_facts(
    df: DataFrame | EngineTable, plan: Plan, key_source: KeySource
) -> dict[str, ClassFacts]:
    """Return what classes would tell; see `sfumato.project.release.engine.view_facts`."""
    return engine.view_facts(_table_of(df), plan, key_source)


def _table_of(df: DataFrame | EngineTable) -> EngineTable:
    return df if isinstance(df, EngineTable) else SparkRows(df)


@dataclass(frozen=True)
class SparkRows(EngineRows):
    """Rows in a frame of Spark's.

    Parameters
    ----------
    frame
        The frame.
    """

    frame: DataFrame

    @property
    def columns(self) -> list[str]:
        """See `EngineRows.columns`."""
        return list(self.frame.columns)

    def select(self, names: Sequence[str]) -> SparkRows:
        """See `EngineRows.select`."""
        return SparkRows(self.frame.select(*map(_quoted, names)))

    def placed(self) -> SparkRows:
        """See `EngineRows.placed`."""
        from pyspark.sql import functions as f

        return SparkRows(self.frame.withColumn(PLACE, f.monotonically_increasing_id()))

    def mapped(self, work: Work, schema: pa.Schema) -> SparkRows:
        """See `EngineRows.mapped`."""
        types = of_spark(schema)
        return SparkRows(self.frame.mapInArrow(partial(_worked, work, types), types_of(types)))

    def together(self, by: str, work: Work, schema: pa.Schema, rows: int) -> SparkRows:
        """See `EngineRows.together`."""
        types = of_spark(schema)
        gathered = self.frame.repartition(max(-(-rows // _TOGETHER), 1), _quoted(by))
        return SparkRows(gathered.mapInArrow(partial(_whole, work, types), types_of(types)))

    def first_of_each(self, unit: str, rank: str, most: int) -> SparkRows:
        """See `EngineRows.first_of_each`."""
        from pyspark.sql import Window, functions

        window = Window.partitionBy(_quoted(unit)).orderBy(_quoted(rank))
        ranked = self.frame.withColumn(_RANK, functions.row_number().over(window))
        return SparkRows(ranked.where(f"{_quoted(_RANK)} <= {most}").drop(_RANK))

    def in_order(self, words: Sequence[str]) -> SparkRows:
        """See `EngineRows.in_order`."""
        return SparkRows(self.frame.orderBy(*map(_quoted, words)))

    def class_counts(self, columns: Sequence[str]) -> DataFrame:
        """See `EngineRows.class_counts`."""
        counted = self.frame.groupBy(*map(_quoted, columns)).count()
        return counted.withColumnRenamed("count", "rows")

    def class_totals(self, by: Sequence[str], within: Sequence[str] = ()) -> ClassTotals:
        """See `EngineRows.class_totals`."""
        from pyspark.sql import functions as f

        names = [*by, *within]
        # Places in the place of the table's own names, of which one might be "rows".
        places = [f"q{place}" for place in range(len(names))]
        renamed = self.frame.select(*map(_quoted, names)).toDF(*places)
        classes, told = SparkRows(renamed).class_counts(places), []
        if within:
            rows = f.sum("rows")
            classes = classes.groupBy(*places[: len(by)]).agg(
                rows.alias("rows"),
                (f.max("rows") / rows).alias("share"),
                f.count("rows").alias("values"),
                (f.log(rows) - f.sum(f.col("rows") * f.log("rows")) / rows).alias("entropy"),
            )
            told = [
                f.min("values").alias("values"),
                f.count_if(f.col("values") > 1).alias("varying"),
                f.min("entropy").alias("entropy"),
                f.max("share").alias("largest_share"),
            ]
        found = classes.agg(
            f.sum("rows").alias("rows"),
            f.count("rows").alias("classes"),
            f.min("rows").alias("smallest"),
            f.max("rows").alias("largest"),
            f.count_if(f.col("rows") == 1).alias("unique"),
            *told,
        )
        totals: ClassTotals = found.collect()[0].asDict()
        return totals

    def gathered(self) -> pa.Table:
        """See `EngineRows.gathered`."""
        return self.frame.toArrow()

    @contextmanager
    def kept(self) -> Iterator[Self]:
        """See `EngineRows.kept`."""
        self.frame.persist()
        try:
            yield self
        finally:
            self.frame.unpersist()


@dataclass(frozen=True)
class SparkParts(EngineTable):
    """A table in parts, which executors read by Sfumato's own means.

    No columns are read but those that are asked for.

    Parameters
    ----------
    session
        Spark.
    parts
        The parts, in the table's order.
    types
        What each column is read as.
    """

    session: SparkSession
    parts: Sequence[TablePart]
    types: Mapping[str, pa.DataType]

    @property
    def columns(self) -> list[str]:
        """See `EngineTable.columns`."""
        return list(self.types)

    def select(self, names: Sequence[str]) -> SparkRows:
        """See `EngineTable.select`."""
        schema = of_spark(pa.schema((name, self.types[name]) for name in names))
        numbers = len(self.parts)
        # A partition for each part, in their order.
        places = self.session.range(0, numbers, 1, numbers)
        read = partial(_read, self.parts, schema)
        return SparkRows(places.mapInArrow(read, types_of(schema)))


def _read(
    parts: Sequence[TablePart], schema: pa.Schema, batches: Batches
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for place in batch.column(0).to_pylist():
            for rows in parts[place].read(schema.names):
                yield rows.cast(schema)


def _worked(work: Work, types: pa.Schema, batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in _joined(batches):
        yield work(batch).cast(types)


def _whole(work: Work, types: pa.Schema, batches: Batches) -> Iterator[pa.RecordBatch]:
    if held := list(batches):
        whole = work(pa.concat_batches(held)).cast(types)
        yield from (whole.slice(start, _ROWS) for start in range(0, len(whole), _ROWS))


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
    return pa.schema(
        [field.with_type(types.get(field.type, field.type)) for field in plain_schema(schema)]
    )


def types_of(schema: pa.Schema) -> StructType:
    """Return Spark's types of columns."""
    from pyspark.sql.pandas.types import from_arrow_schema

    found: StructType = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    return found


def _quoted(name: str) -> str:
    """Return a column's name as Spark's SQL takes it, whatever characters it has."""
    return f"`{name.replace('`', '``')}`"
