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

from sfumato.engine.core.errors import SfumatoError
from sfumato.spark import KeySource, class_facts, read_plan, release
from tests.cluster.sent import dies_once


def main(folder: Path) -> None:
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

    def die_once(batches):
        if TaskContext.get().partitionId() == 1:  # for the keys, then for the release
            dies_once(folder, "read", 2)
        yield from batches

    def keep(name, made):
        pyarrow.parquet.write_table(made.toArrow(), folder / f"{name}.parquet")

    keep("whole", release(table.repartition(1), plan, source))
    killed = table.repartition(4).mapInArrow(die_once, table.schema)
    keep("killed", release(killed, plan, source))
    strict = folder / "strict"
    kept = (read_plan(strict / "plan.json"), KeySource.in_file(strict / "keys.bin"))
    keep("strict", release(table.repartition(3), *kept))
    units = folder / "units"
    given = (read_plan(units / "plan.json"), KeySource.in_file(units / "keys.bin"))
    of_units = spark.read.parquet(str(units / "table.parquet"))
    keep("units", release(of_units.repartition(3), *given))
    facts = class_facts(table.repartition(3), ["age", "zip"], "illness")
    (folder / "facts.json").write_text(json.dumps(asdict(facts)))
    illness = functions.when(table.age == 30, "Secret").otherwise(table.illness)
    alone = functions.when(table.person == table.first()["person"], 200).otherwise(table.age)
    for name, spoilt in (
        ("class", table.withColumn("age", alone)),
        ("row", table.withColumn("illness", illness)),
        ("keys", table.union(table.limit(2)).repartition(3)),
        ("columns", table.drop("zip")),
    ):
        try:
            release(spoilt, *(kept if name == "class" else (plan, source))).toArrow()
        except SfumatoError as error:
            said = f"{type(error).__name__}: {error}"
        except Exception as error:
            said = str(error)
        (folder / f"{name}.txt").write_text(said)
    plans = made_plan(release(table, plan, source)) + made_plan(release(of_units, *given))
    (folder / "explained.txt").write_text(plans)
    files = [path.read_bytes() for path in (folder / "scratch").rglob("*") if path.is_file()]
    (folder / "scratch.bin").write_bytes(b"".join(files))
    spark.stop()


def made_plan(made) -> str:
    execution = made._jdf.queryExecution()
    return str(execution.toString())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
