#!/usr/bin/env bash
# chdb 4.4.0: a missing income is an income of 0 once somebody states the column's type.
#
# Types that are guessed from a CSV file admit missing values. Int64, Float64 or Date as one states
# them admit none, and an empty field becomes 0, or 1970-01-01, with no error. Nullable(Int64) is
# as one expects.
#
# Seen, of 10, nothing and 20:
#   guessed                    2 incomes, mean 15
#   income Int64               3 incomes, mean 10
#   income Nullable(Int64)     2 incomes, mean 15
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with chdb==4.4.0 pandas==3.1.1 numpy==2.4.6 pyarrow==26.0.1 <<'P'
import pathlib

import chdb

pathlib.Path("x.csv").write_text("person,income,died\n1,10,2020-01-02\n2,,\n3,20,\n")
found = {}
for how, types in {
    "guessed": "",
    "stated": ", 'CSVWithNames', 'person Int64, income Int64, died Date'",
    "nullable": ", 'CSVWithNames', 'person Int64, income Nullable(Int64), died Nullable(Date)'",
}.items():
    query = f"SELECT count(income), avg(income), count(died), min(died) FROM file('x.csv'{types})"
    found[how] = str(chdb.query(query, "CSV")).strip().replace('"', "")
    print(how, found[how])
assert found["guessed"] == found["nullable"] == "2,15,1,2020-01-02"
assert found["stated"] == "3,10,3,1970-01-01"
P
