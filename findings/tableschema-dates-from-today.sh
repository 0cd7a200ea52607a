#!/usr/bin/env bash
# tableschema 1.21.0: in a column of dates in any format, "May" is a day of this year.
#
# What a date with `"format": "any"` leaves out is filled from the day on which it is read, so a file
# read on another day has other values, and 03/02 is read month first where 13/02 is read day first.
#
# Seen: "May" is a day in May of this year; 03/02/2020 the second of March, 13/02/2020 in February.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with tableschema==1.21.0 python-dateutil==2.9.0.post0 setuptools==75.8.0 <<'P'
from datetime import date

from tableschema import Field

any_date = Field({"name": "born", "type": "date", "format": "any"})
before = date.today().year
may = any_date.cast_value("May")
both = [any_date.cast_value(text) for text in ("03/02/2020", "13/02/2020")]
print(may, both)
assert may.month == 5
assert before <= may.year <= date.today().year
assert both == [date(2020, 3, 2), date(2020, 2, 13)]
P
