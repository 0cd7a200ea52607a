#!/usr/bin/env bash
# petl 1.7.30: somebody whose age is missing is under 18.
#
# petl puts missing values before all others, when it compares as when it sorts. Whoever selects
# those below a bound gets them too, and whoever selects those from a bound up does not; texts come
# after all numbers, so that an age of "unknown" is above every bound. SQL and pandas leave missing
# ages out of both.
#
# Seen, of the ages 12, 40, missing and "unknown": below 18 are 12 and missing; from 18 up are 40 and
# "unknown".
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with petl==1.7.30 <<'P'
import petl

people = [["age"], [12], [40], [None], ["unknown"]]
minors = list(petl.values(petl.selectlt(people, "age", 18), "age"))
adults = list(petl.values(petl.selectge(people, "age", 18), "age"))
between = list(petl.values(petl.selectrangeopenleft(people, "age", 0, 18), "age"))
print(minors, adults, between)
assert minors == [12, None]
assert adults == [40, "unknown"]
assert between == [12]
P
