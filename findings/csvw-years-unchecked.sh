#!/usr/bin/env bash
# csvw 4.1.1: a column of years may hold any text, and one of months a thirteenth.
#
# Years, months and their kin (gYear, gYearMonth, gMonth) are taken as texts and not checked, unlike
# dates: a table with such values is valid.
#
# Seen: abc is a year, 2020-13 a month of a year and 13 a month.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with csvw==4.1.1 <<'P'
from csvw.metadata import Datatype

for base, text in [("gYear", "abc"), ("gYearMonth", "2020-13"), ("gMonth", "13")]:
    kind = Datatype.fromvalue({"base": base})
    read = kind.parse(text)
    print(base, read)
    assert kind.validate(read) == text
try:
    Datatype.fromvalue("date").parse("2020-13-01")
except ValueError:
    print("date refused")
else:
    raise AssertionError("a thirteenth month in a date")
P
