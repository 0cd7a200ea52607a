#!/usr/bin/env bash
# chdb 4.4.0 to pandas 3.1.1: somebody insured until 9999-12-31 comes as insured until long ago.
#
# Moments come to a DataFrame in nanoseconds, which reach to 2262; later ones wrap round, with no
# warning. Registers write such days for "no end". The same query as an Arrow table has them as
# they are, and so have columns of plain dates.
#
# Seen, of moments in a Parquet file:
#   9999-12-31, DataFrame     1816-03-29
#   9999-12-31, ArrowTable    9999-12-31
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with chdb==4.4.0 pandas==3.1.1 numpy==2.4.6 pyarrow==26.0.1 <<'P'
import datetime

import chdb
import pyarrow as pa
import pyarrow.parquet

until = [datetime.datetime(2021, 3, 4), datetime.datetime(9999, 12, 31)]
pyarrow.parquet.write_table(pa.table({"until": pa.array(until, pa.timestamp("us"))}), "x.parquet")
query = "SELECT until FROM file('x.parquet')"
frame = chdb.query(query, "DataFrame")["until"]
arrow = chdb.query(query, "ArrowTable")["until"].to_pylist()
print("DataFrame:", frame.tolist())
print("ArrowTable:", arrow)
assert [each.year for each in frame] == [2021, 1816]
assert [each.year for each in arrow] == [2021, 9999]
P
