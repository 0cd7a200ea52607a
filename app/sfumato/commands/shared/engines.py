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
from sfumato.project.errors import ReleaseError

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.engine.randomness.keys import DerivedKeys
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.release.plan import Plan
    from sfumato.project.release.release import RowsBy
    from sfumato.project.release.workers import KeySource

_VARIABLE: Final = "SFUMATO_PLAN_KEYS"
_MODULES: Final = {"dask": ("dask", "distributed"), "spark": ("pyspark",)}


def rows_of(project: ProjectFile, engine: str) -> RowsBy:
    """Return what lets an engine make released rows of a project's source table.

    Raises
    ------
    ReleaseError
        If the engine is not installed, or the table is not in Parquet files.
    SourceMissing
        If the table is gone.
    """
    from sfumato.formats.tables.parquet import parts_of
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
    document = project.document
    place = find_source(document, project.path.parent)
    stated = document.source.options.get("format") if document.source is not None else None
    if not isinstance(place, Path) or stated != "parquet":
        raise ReleaseError(
            "An engine reads tables in Parquet files alone, and this one is {format}.",
            "Write the table as Parquet and make it the project's source, or release it without"
            " --engine.",
            format=stated or "in a database",
        )
    parts = parts_of(place)

    def made(plan: Plan, keys: DerivedKeys) -> pa.Table:
        from sfumato.project.release.workers import KeySource

        with _keys_for_children(keys), tempfile.TemporaryDirectory() as scratch:
            return _BY[engine](parts, plan, KeySource.in_variable(_VARIABLE), scratch)

    return made


@contextmanager
def _keys_for_children(keys: DerivedKeys) -> Iterator[None]:
    """Let processes that are started meanwhile find the keys, which no file holds."""
    os.environ[_VARIABLE] = base64.b64encode(keys.to_bytes()).decode()
    try:
        yield
    finally:
        del os.environ[_VARIABLE]


def _by_dask(parts: list[Path], plan: Plan, source: KeySource, scratch: str) -> pa.Table:
    import dask
    import dask.dataframe as dd
    import pyarrow as pa
    from distributed import Client, LocalCluster

    from sfumato.dask import release

    with (
        dask.config.set({"temporary-directory": scratch}),
        LocalCluster(
            threads_per_worker=1,
            n_workers=os.cpu_count(),
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster),
    ):
        files = [str(part) for part in parts]
        # Arrow's own types: whole numbers with missing ones would become decimals.
        table = dd.read_parquet(files, columns=list(plan.schema), dtype_backend="pyarrow")
        return pa.Table.from_pandas(release(table, plan, source).compute(), preserve_index=False)


def _by_spark(parts: list[Path], plan: Plan, source: KeySource, scratch: str) -> pa.Table:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    from sfumato.spark import release

    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.local.dir", scratch)
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    said = None
    try:
        table = spark.read.parquet(*(str(part) for part in parts))
        return release(table, plan, source).toArrow()
    except PySparkException as error:
        # The last line of what a worker raised is Sfumato's own error.
        said = [line for line in str(error).splitlines() if "sfumato." in line and ": " in line]
    finally:
        spark.stop()
    finding = said[-1].partition(": ")[2] if said else "Spark stopped."
    raise SfumatoError("{finding}", "Mend that, or release without --engine.", finding=finding)


_BY: Final[dict[str, Callable[[list[Path], Plan, KeySource, str], pa.Table]]] = {
    "dask": _by_dask,
    "spark": _by_spark,
}
