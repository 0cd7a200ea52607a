#!/usr/bin/env bash
# duckdb 2.0.1: the median of the amounts 1000 and 2001 is 1500.
#
# Of decimals, medians and quantiles between two values are cut to the decimal places of the column,
# not rounded; avg() is not. Of the same numbers as integers or doubles all are 1500.5.
#
# Seen:
#   DECIMAL(10, 0)    median 1500, third quartile 1750, mean 1500.5
#   INTEGER           median 1500.5, third quartile 1750.75
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with duckdb==2.0.1 <<'P'
import duckdb

seen = {}
for kind in ("DECIMAL(10, 0)", "INTEGER", "DOUBLE"):
    (seen[kind],) = duckdb.sql(
        "SELECT median(x), quantile_cont(x, 0.75), avg(x)"
        f" FROM (SELECT unnest([1000, 2001])::{kind} AS x)"
    ).fetchall()
    print(kind, *seen[kind])
assert seen["DECIMAL(10, 0)"] == (1500, 1750, 1500.5)
assert seen["INTEGER"] == seen["DOUBLE"] == (1500.5, 1750.75, 1500.5)
P
