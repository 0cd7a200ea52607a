"""Released rows that an engine makes on this machine: Dask or Spark, a process for each core."""

from __future__ import annotations

import base64
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence
from sfumato.project.errors import ReleaseError

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.engine.randomness.keys import DerivedKeys
    from sfumato.project.document.model import Document
    from sfumato.project.release.plan import Plan
    from sfumato.project.release.release import RowsBy
    from sfumato.project.release.workers import KeySource

_VARIABLE: Final = "SFUMATO_PLAN_KEYS"
_MADE: Final = "made"
_MODULES: Final = {"dask": ("dask", "distributed"), "spark": ("pyspark",)}


def files_for(document: Document, beside: Path, engine: str) -> list[Path]:
    """Return the Parquet files of a project's source table, which an engine can release.

    Raises
    ------
    ReleaseError
        If the engine is not installed, the table is not in Parquet files, or its rows can't be
        released each by itself.
    SourceMissing
        If the table is gone.
    """
    from sfumato.formats.tables.parquet import parts_of
    from sfumato.engine.mechanisms.adoption import adopted_in
    from sfumato.project.source import find_source

    missing = [name for name in _MODULES[engine] if find_spec(name) is None]
    if missing:
        raise ReleaseError(
            "{engine} is not installed: {modules} is missing.",
            'Install it: pip install "sfumato[{extra}]".',
            engine=engine.capitalize(),
            modules=missing[0],
            extra=engine,
        )
    place = find_source(document, beside)
    stated = document.source.options.get("format") if document.source is not None else None
    if not isinstance(place, Path) or stated != "parquet":
        raise ReleaseError(
            "An engine reads tables in Parquet files alone, and this one is {format}.",
            "Write the table as Parquet, as the help on clusters shows, and make a project of it,"
            " or release it without --engine.",
            format=stated or "in a database",
        )
    fitted = [entry.key for entry in document.policy if adopted_in(entry.settings)]
    why = Sentence("{entry} is fitted to earlier releases", entry=fitted[0]) if fitted else ""
    if document.record_key is None:
        why = Sentence("records are told apart by their position")
    if why:
        raise ReleaseError(
            "An engine can't make these rows: {why}.",
            "Release without --engine.",
            why=why,
        )
    return parts_of(place)


def rows_by(files: list[Path], engine: str) -> RowsBy:
    """Return what lets an engine make released rows of a table in some files.

    The rows are in files of the engine's from when they are made until they are written.
    """

    def made(
        plan: Plan, keys: DerivedKeys, context: Context, folder: Path
    ) -> Iterator[pa.RecordBatch]:
        from sfumato.formats.tables.parquet import rows_in
        from sfumato.project.release.workers import KeySource

        context.report(0.0, "The engine is making the rows")
        with tempfile.TemporaryDirectory(dir=folder, prefix=".engine-") as scratch:
            place = Path(scratch)
            variable = f"{_VARIABLE}_{keys.fingerprint}"
            with _keys_for_children(variable, keys):
                MAKERS[engine](files, plan, KeySource.in_variable(variable), place)
            yield from rows_in(place / _MADE)

    return made


@contextmanager
def _keys_for_children(variable: str, keys: DerivedKeys) -> Iterator[None]:
    """Let processes that are started meanwhile find the keys, which no file holds."""
    os.environ[variable] = base64.b64encode(keys.to_bytes()).decode()
    try:
        yield
    finally:
        del os.environ[variable]


def _by_dask(files: list[Path], plan: Plan, source: KeySource, scratch: Path) -> None:
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"temporary-directory": str(scratch)}),
        LocalCluster(
            threads_per_worker=1,
            n_workers=os.cpu_count(),
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster),
    ):
        write_by_dask(files, plan, source, scratch)


def write_by_dask(files: list[Path], plan: Plan, source: KeySource, scratch: Path) -> None:
    """Let Dask write a plan's rows, by whatever scheduler it has, into a folder of the scratch."""
    import dask.dataframe as dd

    from sfumato.dask import release
    from sfumato.project.release.workers import plain_schema

    # Arrow's own types: whole numbers with missing ones would become decimals.
    table = dd.read_parquet([str(file) for file in files], dtype_backend="pyarrow")
    release(table, plan, source).to_parquet(
        scratch / _MADE,
        write_index=False,
        name_function="{:08}.parquet".format,
        schema=plain_schema(plan.output_schema()),
    )


def _by_spark(files: list[Path], plan: Plan, source: KeySource, scratch: Path) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    from sfumato.spark import release

    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.local.dir", str(scratch))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    said = None
    try:
        table = spark.read.parquet(*(file.as_uri() for file in files))
        release(table, plan, source).write.parquet((scratch / _MADE).as_uri())
        return
    except PySparkException as error:
        # The last line of what a worker raised is Sfumato's own error.
        said = [line for line in str(error).splitlines() if "sfumato." in line and ": " in line]
    finally:
        spark.stop()
        # Java has the environment that it was started in, and with it the keys of this plan alone.
        if (gateway := SparkContext._gateway) is not None:
            gateway.shutdown()
            gateway.proc.stdin.close()
            SparkContext._gateway = SparkContext._jvm = None
    finding = said[-1].partition(": ")[2] if said else "Spark stopped."
    raise SfumatoError("{finding}", "Mend that, or release without --engine.", finding=finding)


MAKERS: Final[dict[str, Callable[[list[Path], Plan, KeySource, Path], None]]] = {
    "dask": _by_dask,
    "spark": _by_spark,
}
"""What lets each engine write a plan's rows of some files into a folder."""
