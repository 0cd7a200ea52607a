#!/usr/bin/env bash
# pyorc 0.12.0: rows with a moment before 1970 are left out by a filter that they satisfy.
#
# An ORC file has the least and the greatest value of each part, and a filter leaves out the parts that can have
# no row. Of moments before 1970 with a fraction of a second the bounds are a second too late, so that
# the part with the value that is asked for is left out, though the values themselves are read as they
# were written. pyarrow 26.0.1 writes the same bounds.
#
# Seen, of 2,000 births on 1 January 1950 at half a second past midnight: 0 are found at that moment, and
# 0 up to it; the least value is told as 1.5 seconds past midnight. Of 1980: 2,000, 2,000 and half a second.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyorc==0.12.0 pyarrow==26.0.1 numpy==2.4.6 <<'P'
import datetime as dt
import io
import pyarrow as pa
import pyarrow.orc as orc
import pyorc
from pyorc.predicates import PredicateColumn

COLUMN = PredicateColumn(pyorc.TypeKind.TIMESTAMP, "born")


def counts(year):
    """How many rows a filter finds: those of a moment, and those up to it; and the least value told."""
    born = dt.datetime(year, 1, 1, 0, 0, 0, 500000, tzinfo=dt.timezone.utc)
    file = io.BytesIO()
    with pyorc.Writer(file, "struct<born:timestamp>") as writer:
        writer.writerows([(born,)] * 2000)
    filters = (COLUMN == born, COLUMN <= born)
    found = [len(list(pyorc.Reader(file, predicate=each))) for each in filters]
    reader = pyorc.Reader(file)
    assert {row[0] for row in reader} == {born}
    least = reader[1].statistics["minimum"]
    arrow = io.BytesIO()
    orc.write_table(pa.table({"born": pa.array([born.replace(tzinfo=None)])}), arrow)
    assert pyorc.Reader(arrow)[1].statistics["minimum"] == least
    return (*found, least.second + least.microsecond / 1e6)


print(counts(1950), counts(1980))
assert counts(1950) == (0, 0, 1.5)
assert counts(1980) == (2000, 2000, 0.5)
P
