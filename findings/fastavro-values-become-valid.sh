#!/usr/bin/env bash
# fastavro 1.13.1: 17.6 years and the answer "False" are written as 17 and true, and a text may be a date.
#
# writer() does not check values against the schema, but takes what Python makes of them: a decimal for a whole number
# is cut, any text but the empty one is true; validate() finds both wrong. Where a column may have a date or a text, a
# text that looks like a date is written as one, and every other text is an error.
#
# Seen: 17.6 and -0.9 as long 17 and 0; "False" and "no" as boolean true; "2020-01-31" in a column of dates or texts
# the date of that day, and "Bern" refused.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with fastavro==1.13.1 <<'P'
import datetime as dt
import io
import fastavro
from fastavro.validation import validate


def read(kind, values):
    """What is read of values that were written in a column of this kind, and whether the first is valid."""
    schema = fastavro.parse_schema({"type": "record", "name": "person", "fields": [{"name": "x", "type": kind}]})
    file = io.BytesIO()
    fastavro.writer(file, schema, [{"x": value} for value in values])
    file.seek(0)
    return [row["x"] for row in fastavro.reader(file)], validate({"x": values[0]}, schema, raise_errors=False)


DATE = {"type": "int", "logicalType": "date"}
ages, answers = read("long", [17.6, -0.9]), read("boolean", ["False", "no"])
texts, _ = read([DATE, "string"], ["2020-01-31"])
try:
    refused = read([DATE, "string"], ["Bern"])
except ValueError as error:
    refused = str(error)
print(ages, answers, texts, refused)
assert ages == ([17, 0], False) and answers == ([True, True], False)
assert texts == [dt.date(2020, 1, 31)] and "isoformat" in refused
P
