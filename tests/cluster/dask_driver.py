"""Releases a table on a cluster of Dask's, and leaves what came of it in a folder."""

from __future__ import annotations

import faulthandler
import pickle
import sys
from pathlib import Path

import cloudpickle
import dask
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from distributed import Client, LocalCluster

from sfumato.dask import KeySource, read_plan, release
from tests.cluster.sent import DEATHS, dies_once

PARTS = 5


def read_part(part: int, folder: str, columns: list[str] | None = None) -> pd.DataFrame:
    table = pa.parquet.read_table(Path(folder) / "table.parquet", columns=columns)
    start, end = (len(table) * each // PARTS for each in (part, part + 1))
    return table.slice(start, end - start).to_pandas()


def read_or_die(part: int, folder: str, columns: list[str] | None = None) -> pd.DataFrame:
    if part == PARTS - 2:
        dies_once(Path(folder), "read", DEATHS[Path(folder).name])
    return read_part(part, folder, columns)


def spoilt(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(illness=frame["illness"].astype(str).where(frame["age"] != 30, "Secret"))


def main(folder: Path) -> None:
    scratch = folder / "scratch"
    with (
        dask.config.set({"temporary-directory": str(scratch)}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        for name in DEATHS:
            in_folder(folder / name)
        kept = [path.read_bytes() for path in scratch.rglob("*") if path.is_file()]
        (folder / "scratch.bin").write_bytes(b"".join(kept))
        (folder / "logs.txt").write_text(str(dict(cluster.get_logs())))


def in_folder(folder: Path) -> None:
    plan, source = read_plan(folder / "plan.json"), KeySource.in_file(folder / "keys.bin")

    def table(read):
        return dd.from_map(read, range(PARTS), folder=str(folder), meta=read_part(0, str(folder)))

    made = release(table(read_part), plan, source)
    graphs = [cloudpickle.dumps(made.expr), pickle.dumps(dict(made.optimize().dask))]
    (folder / "graphs.bin").write_bytes(b"".join(graphs))
    frame = release(table(read_or_die), plan, source).compute()
    frame.to_parquet(folder / "killed.parquet", index=False)
    try:
        release(table(read_part).map_partitions(spoilt), plan, source).compute()
    except Exception as error:
        (folder / "error.txt").write_text(f"{type(error).__name__}: {error}")


LONG = 420
"""A minute is usual. A cluster that stands still after so many seconds ends and says where."""


if __name__ == "__main__":
    faulthandler.dump_traceback_later(LONG, exit=True)
    main(Path(sys.argv[1]))
