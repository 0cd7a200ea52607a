#!/usr/bin/env bash
# csvw 4.1.1: a time of day in a stated format is read as a moment of today.
#
# Without a format a time is checked alone; with one, such as HH:mm, it comes as a date-time with the
# date on which it is read, so a file read twice has other values.
#
# Seen: 10:30 is half past ten of today.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with csvw==4.1.1 <<'P'
from datetime import date, datetime

from csvw.metadata import Datatype

before = date.today()
read = Datatype.fromvalue({"base": "time", "format": "HH:mm"}).parse("10:30")
print(type(read).__name__, read.time())
assert isinstance(read, datetime)
assert before <= read.date() <= date.today()
P
