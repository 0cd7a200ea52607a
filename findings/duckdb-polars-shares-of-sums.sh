#!/usr/bin/env bash
# duckdb 2.0.1 to polars 2.1.0: the shares 1, 1 and 6 of 8 people are 0, 0 and 1.
#
# DuckDB's sum of integers is a HUGEINT, which comes to Arrow as a decimal without decimal places.
# Polars divides decimals to the places of the dividend. Counts by count(*) are integers, and
# divided as one expects; so are sums that come by pandas.
#
# Seen, of sum(people) and count(*):
#   by sum      Decimal(38, 0): shares 0, 0, 1
#   by count    Int64: shares 0.125, 0.125, 0.75
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1 <<'P'
import duckdb
import polars as pl

people = "(SELECT unnest(['a', 'b', 'c', 'c', 'c', 'c', 'c', 'c']) AS town, 1 AS people)"
shares = {}
for count in ("sum(people)", "count(*)"):
    table = duckdb.sql(f"SELECT town, {count} AS n FROM {people} GROUP BY town ORDER BY town").pl()
    shares[count] = table.select(pl.col("n") / pl.col("n").sum()).to_series().to_list()
    print(count, table.schema["n"], [str(share) for share in shares[count]])
assert shares["sum(people)"] == [0, 0, 1]
assert shares["count(*)"] == [0.125, 0.125, 0.75]
P
