#!/usr/bin/env bash
# hl7 0.4.5: somebody of whose birth only the year is known was born on 1 January.
#
# In HL7 a date is as exact as it is long: 1958 is a year, 195803 a month. parse_datetime() makes a
# moment of each, at midnight of the first day, and nothing tells it from a date that was given in
# full.
#
# Seen: 1958 and 19580101 are both 1958-01-01 00:00, 195803 is 1958-03-01 00:00.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with hl7==0.4.5 <<'P'
import datetime

import hl7

message = hl7.parse("MSH|^~\\&|A|B|C|D|20201130||ADT^A01|1|P|2.5\rPID|1||7||Muster^Anna||1958|F\r")
born = hl7.parse_datetime(str(message.segment("PID")[7]))
month = hl7.parse_datetime("195803")
print(born, month)
assert born == hl7.parse_datetime("19580101") == datetime.datetime(1958, 1, 1)
assert month == datetime.datetime(1958, 3, 1)
P
