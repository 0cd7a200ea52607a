#!/usr/bin/env bash
# pyreadstat 1.3.7: a SAS transport file that holds two tables is read as one table of noise.
#
# A transport file (version 5) may hold several tables, one after the other. read_xport takes the
# headers of the second for rows of the first, without an error: 3 rows become many, and text of
# the header stands in them.
#
# Seen: 3 rows in the first table, 93 read.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 <<'P'
import pathlib
import pandas as pd
import pyreadstat

pyreadstat.write_xport(pd.DataFrame({"a": [1.0, 2.0, 3.0]}), "one.xpt", table_name="ONE", file_format_version=5)
one = pathlib.Path("one.xpt").read_bytes()
# The library's own header is three records of 80 bytes; what follows is a member of its own.
pathlib.Path("two.xpt").write_bytes(one + one[240:])
rows = len(pyreadstat.read_xport("two.xpt")[0])
print("rows of the first table: 3, rows read:", rows)
assert rows > 3, "the second table is not read as rows any more"
P
