"""Releases a table on Spark, and leaves what came of it in a folder."""

from __future__ import annotations

import sys
import tempfile
import warnings
from functools import partial, reduce
from pathlib import Path

import pyarrow.parquet
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

import sfumato.spark
from sfumato.spark import KeySource, SparkRows, read_plan, release
from tests.cluster.engine_cases import CASES, AskedEngine, in_parts
from tests.cluster.sent import dies_once


def main(folder: Path) -> None:
    sfumato.spark._TOGETHER = 90
    for name in ("events", "read"):
        (folder / name).mkdir()
    spark = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", (folder / "events").as_uri())
        .config("spark.eventLog.compress", "false")
        .config("spark.shuffle.compress", "false")
        .config("spark.local.dir", str(folder / "scratch"))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    read = partial(rows_of, spark, folder / "read")
    AskedEngine(folder, read, lambda rows: rows.frame.toArrow()).answer()

    def sent(name):
        place = folder / name
        table = spark.read.parquet(str(place / "table.parquet"))
        return table, read_plan(place / "plan.json"), KeySource.in_file(place / "keys.bin")

    def dying(name, at):
        """A table of which a part is read so often until its process ends at once."""
        table, plan, source = sent(name)

        def read(batches):
            if TaskContext.get().partitionId() == 1:
                dies_once(folder, name, at)
            yield from batches

        made = release(table.repartition(4).mapInArrow(read, table.schema), plan, source)
        pyarrow.parquet.write_table(made.toArrow(), folder / f"{name}-killed.parquet")

    # For the keys, then for the release.
    dying("plain", 2)
    # For the keys, two attributes' groups and the mark of both, then for the release.
    dying("groups", 5)
    plans = [made_plan(release(*sent(name))) for name in CASES]
    (folder / "explained.txt").write_text("".join(plans))
    files = [path.read_bytes() for path in (folder / "scratch").rglob("*") if path.is_file()]
    (folder / "scratch.bin").write_bytes(b"".join(files))
    spark.stop()


def rows_of(spark, folder, table):
    """The table in three partitions, in its own order, from files of its own."""
    place = Path(tempfile.mkdtemp(dir=folder))
    parts = []
    for number, part in enumerate(in_parts(table)):
        path = place / f"{number}.parquet"
        pyarrow.parquet.write_table(part, path)
        parts.append(spark.read.parquet(str(path)))
    return SparkRows(reduce(DataFrame.union, parts))


def made_plan(made) -> str:
    execution = made._jdf.queryExecution()
    return str(execution.toString())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
