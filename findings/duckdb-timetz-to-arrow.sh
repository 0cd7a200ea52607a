#!/usr/bin/env bash
# duckdb 2.0.0: a time of day with a time zone comes to Arrow without it.
#
# TIME WITH TIME ZONE becomes time64[us], which has no zone: 10:00+02 and 10:00-05 are the same there.
# fetchall() keeps the zone, and a TIMESTAMP WITH TIME ZONE keeps it in Arrow, too.
#
# Seen: two values that differ by seven hours, one value in Arrow.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with duckdb==2.0.0 pyarrow==26.0.1 <<'P'
import duckdb

times = duckdb.sql("SELECT unnest(['10:00:00+02', '10:00:00-05'])::TIMETZ AS t")
rows = {row[0] for row in times.fetchall()}
arrow = times.to_arrow_table()["t"]
print("rows:", rows, "Arrow:", arrow.type, set(arrow.to_pylist()))
assert len(rows) == 2
assert len(set(arrow.to_pylist())) == 1, "the zone is not dropped any more"
P
