"""Released rows that an engine makes on this machine: Dask or Spark, a process for each core."""

from __future__ import annotations

import base64
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence
from sfumato.formats.language import worded
from sfumato.project.errors import ReleaseError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from sfumato.engine.randomness.keys import DerivedKeys
    from sfumato.formats.table_format import TablePart
    from sfumato.project.document.model import Document
    from sfumato.project.release.batched_table import BatchedTable
    from sfumato.project.release.plan import Plan
    from sfumato.project.release.release import RowsBy
    from sfumato.project.release.workers import ClassFacts, KeySource

    Tell = Callable[[dict[str, ClassFacts]], None] | None

_VARIABLE: Final = "SFUMATO_PLAN_KEYS"
_MADE: Final = "made"
_FEWEST_ROWS: Final = 1 << 16
_MOST_ROWS: Final = 1 << 20
"""About so many rows are in a part of a table; more where a file can't be cut finely."""
_MODULES: Final = {"dask": ("dask", "distributed"), "spark": ("pyspark",)}


def check_engine(document: Document, engine: str) -> None:
    """Refuse a project whose source table an engine can't release.

    Raises
    ------
    ReleaseError
        If the engine is not installed, the table is neither in Parquet nor in CSV files, or its
        rows are not made from the table alone.
    """
    from sfumato.engine.mechanisms.adoption import adopted_in

    missing = [name for name in _MODULES[engine] if find_spec(name) is None]
    if missing:
        raise ReleaseError(
            "{engine} is not installed: {modules} is missing.",
            'Install it: pip install "sfumato[{extra}]".',
            engine=engine.capitalize(),
            modules=missing[0],
            extra=engine,
        )
    stated = None if document.source is None else document.source.options.get("format")
    if stated not in ("parquet", "csv", None):
        raise ReleaseError(
            "An engine reads tables in Parquet and CSV files, and this one is read as {format}.",
            "Write the table as Parquet or CSV and make a project of it, or release it without"
            " --engine.",
            format=stated,
        )
    fitted = [entry.key for entry in document.policy if adopted_in(entry.settings)]
    why = Sentence("{entry} is fitted to earlier releases", entry=fitted[0]) if fitted else ""
    if document.record_key is None:
        why = Sentence("records are told apart by their position")
    if why:
        raise ReleaseError(
            "An engine can't make these rows: {why}.", "Release without --engine.", why=why
        )


def rows_by(table: BatchedTable, engine: str, tell: Tell = None) -> RowsBy:
    """Return what lets an engine make released rows of a table.

    The rows are in files of the engine's from when they are made until they are written. Whoever is
    to be told what classes of records tell (`sfumato.dask.view_facts`) is told it before.
    """

    def made(
        plan: Plan, keys: DerivedKeys, context: Context, folder: Path
    ) -> Iterator[pa.RecordBatch]:
        from sfumato.formats.tables.parquet import rows_in

        context.report(0.0, "The engine is making the rows")
        with tempfile.TemporaryDirectory(dir=folder, prefix=".engine-") as scratch:
            place = Path(scratch)
            with _keys_in_variable(keys) as source:
                MAKERS[engine](Cut.of(table), plan, source, place, tell)
            yield from rows_in(place / _MADE)

    return made


def facts_here(plan: Plan, keys: DerivedKeys, table: BatchedTable) -> dict[str, ClassFacts]:
    """Return what classes of records tell that a recipient would see, counted in this process.

    Raises
    ------
    PolicyError
        If the plan shows no quasi-identifiers.
    """
    from sfumato.project.release.engine import LocalRows, view_facts

    rows = LocalRows(list(table.columns), table.whole.batches.read)
    with _keys_in_variable(keys) as source:
        return view_facts(rows, plan, source)


@dataclass(frozen=True)
class Cut:
    """A table in parts, which engines' processes read by Sfumato's own means.

    So their values are those that the project reads, and no copy of the table is made.

    Parameters
    ----------
    parts
        The parts, in the table's order.
    types
        What each column is read as.
    """

    parts: Sequence[TablePart]
    types: Mapping[str, pa.DataType]

    @classmethod
    def of(cls, table: BatchedTable) -> Cut:
        """Return a long table in parts, at least two for each core where it is long enough."""
        rows = table.whole.rows // (2 * (os.cpu_count() or 1))
        parts = table.batches.parts(min(max(rows, _FEWEST_ROWS), _MOST_ROWS))
        return cls(parts, table.batches.types)


def lines_of_classes(recipient: str, engine: str, found: Mapping[str, ClassFacts]) -> Iterator[str]:
    """Yield what an engine counted in classes, for a person to read."""
    for facts in list(found.values())[:1]:
        yield worded(
            "{engine} counted {rows:,} {rows:record|records} in {classes:,} {classes:class|classes}"
            " that look alike to {recipient}: the smallest has {smallest:,}, and {unique:,}"
            " {unique:record is|records are} unique.",
            engine=engine.capitalize(),
            recipient=recipient,
            rows=facts.rows,
            classes=facts.classes,
            smallest=facts.smallest,
            unique=facts.unique,
        )
    for column, facts in found.items():
        if facts.values is not None:
            yield worded(
                "{column}: {values:,} {values:value|values} or more in each class (l), as mixed as"
                " {entropy:.3g} that are equally frequent; the most frequent one has at most"
                " {share:.1%} of a class.",
                column=column,
                values=facts.values,
                entropy=facts.entropy,
                share=facts.largest_share,
            )


@contextmanager
def _keys_in_variable(keys: DerivedKeys) -> Iterator[KeySource]:
    """Let processes that are started meanwhile find the keys, which no file holds."""
    from sfumato.project.release.workers import KeySource

    variable = f"{_VARIABLE}_{keys.fingerprint}"
    os.environ[variable] = base64.b64encode(keys.to_bytes()).decode()
    try:
        yield KeySource.in_variable(variable)
    finally:
        del os.environ[variable]


def _by_dask(table: Cut, plan: Plan, source: KeySource, scratch: Path, tell: Tell) -> None:
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
        write_by_dask(table, plan, source, scratch, tell)


def write_by_dask(table: Cut, plan: Plan, source: KeySource, scratch: Path, tell: Tell) -> None:
    """Let Dask write a plan's rows, by whatever scheduler it has, into a folder of the scratch."""
    import dask.dataframe as dd
    import pyarrow as pa

    from sfumato.dask import release, view_facts
    from sfumato.project.release.workers import plain_schema, seen_by

    empty = pa.schema(dict(table.types)).empty_table()
    rows = dd.from_map(_read, table.parts, every=empty.column_names, meta=_frame(empty))
    if tell is not None and seen_by(plan) is not None:
        tell(view_facts(rows, plan, source))
    release(rows, plan, source).to_parquet(
        scratch / _MADE,
        write_index=False,
        name_function="{:08}.parquet".format,
        schema=plain_schema(plan.output_schema()),
    )


def _read(
    part: TablePart, every: Sequence[str], columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return some columns of a part; Dask asks for no more than are looked at."""
    import pyarrow as pa

    return _frame(pa.Table.from_batches(part.read(every if columns is None else list(columns))))


def _frame(rows: pa.Table) -> pd.DataFrame:
    import pandas as pd

    # Arrow's own types: whole numbers with missing ones would become decimals.
    frame: pd.DataFrame = rows.to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def _by_spark(table: Cut, plan: Plan, source: KeySource, scratch: Path, tell: Tell) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for kind in (FutureWarning, RuntimeWarning):  # the latter where Java was killed
        warnings.filterwarnings("ignore", category=kind, module="pyspark")
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from sfumato.project.release.workers import seen_by
    from sfumato.spark import SparkParts, release, view_facts

    said = list[str]()
    with quiet("py4j"):
        try:
            rows = SparkParts(_spark_session(scratch), table.parts, table.types)
            if tell is not None and seen_by(plan) is not None:
                tell(view_facts(rows, plan, source))
            release(rows, plan, source).write.parquet((scratch / _MADE).as_uri())
            return
        except PySparkException as error:
            # The last line of what a worker raised is Sfumato's own error.
            said += [
                line for line in str(error).splitlines() if "sfumato." in line and ": " in line
            ]
        except (Py4JError, ConnectionError):  # Java, with which Python talks, has ended
            pass
        finally:
            _end_spark()
    if said:
        finding = said[-1].partition(": ")[2]
        raise SfumatoError(
            "{finding}", "Correct that, or release without --engine.", finding=finding
        )
    raise SfumatoError(
        "Spark ended before all rows were made, so nothing is released.",
        "Release again; where Spark ends again, give it more memory, or release without --engine.",
    )


def _spark_session(scratch: Path) -> SparkSession:
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master("local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "OFF")
        .config("spark.local.dir", str(scratch))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )


def _end_spark() -> None:
    """End Java, and forget it where it has ended already: else the next release would ask it."""
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    with suppress(Py4JError, PySparkException, ConnectionError):
        if (session := SparkSession._instantiatedSession) is not None:
            session.stop()
    SparkSession._instantiatedSession = SparkContext._active_spark_context = None
    # Java has the environment that it was started in, and with it the keys of this plan alone.
    if (gateway := SparkContext._gateway) is not None:
        with suppress(Py4JError, OSError):
            gateway.shutdown()
            gateway.proc.stdin.close()
    SparkContext._gateway = SparkContext._jvm = None


@contextmanager
def quiet(name: str) -> Iterator[None]:
    """Let a library log nothing meanwhile: what matters is said as an error."""
    logger = logging.getLogger(name)
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before


MAKERS: Final[dict[str, Callable[[Cut, Plan, KeySource, Path, Tell], None]]] = {
    "dask": _by_dask,
    "spark": _by_spark,
}
"""What lets each engine write a plan's rows of a table into a folder."""
