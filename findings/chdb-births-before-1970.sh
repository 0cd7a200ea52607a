#!/usr/bin/env bash
# chdb 4.4.0: a text that is cast to DATE is 1970-01-01 where someone was born before 1970.
#
# ClickHouse's Date counts days since 1970 without a sign. What lies before it becomes the first
# day, and days that no month has become days of the next month. No error is raised. DATE in a
# query means this type; in columns that come from Arrow, and in CSV files whose types are guessed,
# dates are of a wider one.
#
# Seen:
#   CAST('1950-05-05' AS DATE)    1970-01-01, and so is the oldest birth of 1931, 1950 and 1990
#   CAST('2020-02-30' AS DATE)    2020-03-01
#   1950-05-05 from Arrow         1950-05-05
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with chdb==4.4.0 pandas==3.1.1 numpy==2.4.6 pyarrow==26.0.1 <<'P'
import datetime

import chdb
import pyarrow as pa

born = ["1950-05-05", "1931-01-01", "1990-01-01"]
people = pa.table({"text": born, "day": [datetime.date.fromisoformat(each) for each in born]})
found = {}
for query in (
    "SELECT min(text::DATE), countIf(text::DATE = '1970-01-01') FROM Python(people)",
    "SELECT min(day), countIf(day = '1970-01-01') FROM Python(people)",
    "SELECT CAST('2020-02-30' AS DATE), 0",
):
    found[query] = str(chdb.query(query, "CSV")).strip().replace('"', "")
    print(query, found[query])
assert list(found.values()) == ["1970-01-01,2", "1931-01-01,0", "2020-03-01,0"]
P
