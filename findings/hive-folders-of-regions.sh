#!/usr/bin/env bash
# pandas 3.1.1, Polars 2.1.0 and DuckDB 2.0.1: a region 007 that names a folder of a Parquet dataset is 7.
#
# The columns by which a dataset is divided stand in the folders' names alone, without a type. pandas
# makes whole numbers of texts that it wrote itself, as soon as all of them look like one, and Polars
# decimals, too; with one more region, which has a letter, all are texts again. DuckDB keeps those
# with a leading zero.
#
# Seen:
#                                       pandas            Polars            DuckDB
#   007 and 010                         7, 10             7, 10             007, 010
#   007 and 1E5                         007, 1E5          7.0, 100000.0     007, 1E5
#   007, 010 and B10                    007, 010, B10     007, 010, B10     007, 010, B10
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pandas==3.1.1 numpy==2.4.6 pyarrow==26.0.1 duckdb==2.0.1 polars==2.1.0 <<'P'
import duckdb
import pandas as pd
import polars as pl


def by_all(regions):
    folder = "-".join(regions)
    pd.DataFrame({"age": range(len(regions)), "region": regions}).to_parquet(folder, partition_cols=["region"])
    return (
        pd.read_parquet(folder).sort_values("age")["region"].tolist(),
        pl.read_parquet(f"{folder}/").sort("age")["region"].to_list(),
        [row[0] for row in duckdb.sql(f"SELECT region FROM '{folder}/**/*.parquet' ORDER BY age").fetchall()],
    )


digits, powers, letters = by_all(["007", "010"]), by_all(["007", "1E5"]), by_all(["007", "010", "B10"])
print(digits, powers, letters, sep="\n")
assert digits == ([7, 10], [7, 10], ["007", "010"])
assert powers == (["007", "1E5"], [7.0, 100000.0], ["007", "1E5"])
assert letters == (["007", "010", "B10"],) * 3
P
