"""Releases a table on Spark, and leaves what came of it in a folder."""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet
from pyspark import TaskContext
from pyspark.sql import SparkSession, functions

import sfumato.spark
from sfumato.engine.core.errors import SfumatoError
from sfumato.spark import KeySource, class_facts, read_plan, release, view_facts
from tests.cluster.sent import dies_once


def main(folder: Path) -> None:
    sfumato.spark._TOGETHER = 90
    plan, source = read_plan(folder / "plan.json"), KeySource.in_file(folder / "keys.bin")
    (folder / "events").mkdir()
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
    table = spark.read.parquet(str(folder / "table.parquet"))

    def dying(table, name, at):
        """The same table, of which a part is read so often until its process ends at once."""

        def read(batches):
            if TaskContext.get().partitionId() == 1:
                dies_once(folder, name, at)
            yield from batches

        return table.repartition(4).mapInArrow(read, table.schema)

    def keep(name, made):
        pyarrow.parquet.write_table(made.toArrow(), folder / f"{name}.parquet")

    keep("whole", release(table.repartition(1), plan, source))
    # For the keys, then for the release.
    keep("killed", release(dying(table, "read", 2), plan, source))

    # As Arrow reads it: whole numbers that Spark hands on are decimals where some are missing.
    whole = pyarrow.parquet.read_table(folder / "table.parquet").to_pandas()
    whole.to_csv(folder / "table.csv", index=False)
    texts = spark.read.csv(str(folder / "table.csv"), header=True)
    keep("texts", release(texts.repartition(3), plan, source))

    def sent(name):
        place = folder / name
        return read_plan(place / "plan.json"), KeySource.in_file(place / "keys.bin")

    keep("strict", release(table.repartition(3), *sent("strict")))
    of_units = in_halves(spark, folder / "units")
    keep("units", release(of_units, *sent("units")))
    # For the keys, two attributes' groups and the mark of both, then for the release.
    keep("groups", release(dying(table, "groups", 5), *sent("groups")))
    facts = {"": class_facts(table.repartition(3), ["age", "zip"], "illness")}
    facts |= view_facts(of_units, *sent("units"))
    told = {name: asdict(each) for name, each in facts.items()}
    (folder / "facts.json").write_text(json.dumps(told))
    illness = functions.when(table.age == 30, "Secret").otherwise(table.illness)
    alone = functions.when(table.person == table.first()["person"], 200).otherwise(table.age)
    for name, spoilt in (
        ("class", table.withColumn("age", alone)),
        ("groups", table.withColumn("grade", functions.lit("low"))),
        ("row", table.withColumn("illness", illness)),
        ("keys", table.union(table.limit(2)).repartition(3)),
        ("columns", table.drop("zip")),
    ):
        try:
            of = {"class": "strict", "groups": "groups"}.get(name, ".")
            release(spoilt, *sent(of)).toArrow()
        except SfumatoError as error:
            said = f"{type(error).__name__}: {error}"
        except Exception as error:
            said = str(error)
        (folder / f"{name}.txt").write_text(said)
    tables = {"strict": table, "units": of_units, "groups": table}
    plans = [made_plan(release(each, *sent(name))) for name, each in tables.items()]
    (folder / "explained.txt").write_text("".join(plans))
    files = [path.read_bytes() for path in (folder / "scratch").rglob("*") if path.is_file()]
    (folder / "scratch.bin").write_bytes(b"".join(files))
    spark.stop()


def in_halves(spark, folder):
    """The table in two partitions, in its own order."""
    whole = pyarrow.parquet.read_table(folder / "table.parquet")
    halves = []
    for number in range(2):
        path = folder / f"half-{number}.parquet"
        pyarrow.parquet.write_table(whole.slice(number * len(whole) // 2, len(whole) // 2), path)
        halves.append(spark.read.parquet(str(path)))
    return halves[0].union(halves[1])


def made_plan(made) -> str:
    execution = made._jdf.queryExecution()
    return str(execution.toString())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
