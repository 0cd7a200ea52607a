#!/usr/bin/env bash
# pandas 3.1.1, DuckDB 1.4.4 and Polars 2.1.0: a region that names a folder of a Parquet dataset is
# another one to the next tool.
#
# The columns by which a dataset is divided stand in the folders' names alone, without a type. pandas
# and Polars make numbers of the regions if all look like one, whatever they were; DuckDB keeps texts
# with a leading zero. For a missing region pandas and DuckDB name the folder differently, and each
# takes the other's name for a region.
#
# Seen:
#                                 read by pandas   by Polars   by DuckDB
#   007, written by pandas        7                7           '007'
#   missing, written by pandas    an error         missing     '__HIVE_DEFAULT_PARTITION__'
#   missing, written by DuckDB    'NULL'           'NULL'      missing
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pandas==3.1.1 numpy==2.4.6 pyarrow==26.0.1 duckdb==1.4.4 polars==2.1.0 <<'P'
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa


def by_all(folder):
    frame = pd.read_parquet(folder)
    return {
        "pandas": dict(zip(frame["age"], frame["region"].astype(str))),
        "polars": dict(pl.read_parquet(f"{folder}/").select("age", "region").rows()),
        "duckdb": dict(duckdb.sql(f"SELECT age, region FROM '{folder}/**/*.parquet'").fetchall()),
    }


pd.DataFrame({"age": [41, 38], "region": ["007", "010"]}).to_parquet("regions", partition_cols=["region"])
regions = by_all("regions")
print(regions)
assert regions["pandas"] == {41: "7", 38: "10"}
assert regions["polars"] == {41: 7, 38: 10}
assert regions["duckdb"] == {41: "007", 38: "010"}

people = pd.DataFrame({"age": [41, 38], "region": ["Bern", None]})
people.to_parquet("pandas", partition_cols=["region"])
duckdb.sql("COPY people TO 'duckdb' (FORMAT parquet, PARTITION_BY (region))")
try:
    refused = pd.read_parquet("pandas").empty
except pa.ArrowInvalid:
    refused = True
polars = dict(pl.read_parquet("pandas/").select("age", "region").rows())
of_pandas = dict(duckdb.sql("SELECT age, region FROM 'pandas/**/*.parquet'").fetchall())
of_duckdb = by_all("duckdb")
print(polars, of_pandas, of_duckdb)
assert refused
assert polars[38] is None
assert of_pandas[38] == "__HIVE_DEFAULT_PARTITION__"
assert of_duckdb["pandas"][38] == of_duckdb["polars"][38] == "NULL"
assert of_duckdb["duckdb"][38] is None
P
