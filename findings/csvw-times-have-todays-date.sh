#!/usr/bin/env bash
# csvw 4.1.1: a time of day is read as a moment of the day on which it is read.
#
# With a stated format, such as HH:mm, and without one it comes as a date-time with the present date, so
# a file that is read on another day has other values.
#
# Seen: 10:30 and 10:30:00 are half past ten of today.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with csvw==4.1.1 <<'P'
from datetime import date, datetime

from csvw.metadata import Datatype

before = date.today()
for stated, text in [({"base": "time", "format": "HH:mm"}, "10:30"), ({"base": "time"}, "10:30:00")]:
    read = Datatype.fromvalue(stated).parse(text)
    print(type(read).__name__, read.time())
    assert isinstance(read, datetime)
    assert before <= read.date() <= date.today()
P
