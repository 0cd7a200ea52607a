#!/usr/bin/env bash
# ibis-framework 12.0.0: 17.6 years as a whole number are 18 in DuckDB and 17 in Polars.
#
# The same expression runs in several engines, and each does as it always does: DuckDB rounds where
# Polars cuts, halves are rounded away from zero or to the even number, and a missing town counts
# as one more town in Polars.
#
# Seen:
#                                                  DuckDB    Polars
#   17.6 cast to int64                             18        17
#   2.5 rounded                                    3         2
#   number of towns of Bern, Chur and missing      2         3
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with 'ibis-framework[duckdb,polars]==12.0.0' duckdb==1.4.4 polars==2.1.0 pyarrow==26.0.1 pandas==2.3.3 \
  numpy==2.4.6 sqlglot==30.30.0 <<'P'
import ibis
import pyarrow as pa

people = ibis.memtable(pa.table({"age": [17.6, 17.6, 17.6], "half": [2.5] * 3, "town": ["Bern", "Chur", None]}))
seen = {}
for engine in (ibis.duckdb.connect(), ibis.polars.connect()):
    years = engine.execute(people.age.cast("int64"))[0]
    rounded = engine.execute(people.half.round())[0]
    seen[engine.name] = int(years), int(rounded), int(engine.execute(people.town.nunique()))
print(seen)
assert seen == {"duckdb": (18, 3, 2), "polars": (17, 2, 3)}
P
