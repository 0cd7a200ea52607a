#!/usr/bin/env bash
# aweek 1.0.3 for R and isoweek 1.3.3 for Python: week 53 of a year that has 52 is a week of the next.
#
# Both turn weeks into dates. A week that does not exist, because it was counted by another calendar
# or mistyped, becomes a date in a later year, with no warning. isoweek takes any two digits.
#
# Seen, of 2021, which has 52 weeks: week 53 is that of 3 January 2022; week 60, of isoweek, that of
# 21 February 2022.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-aweek=1.0.3-1 <<'R'
seen <- as.character(aweek::week2date("2021-W53"))
print(seen)
stopifnot(seen == "2022-01-03")
R
python_with isoweek==1.3.3 <<'P'
from isoweek import Week

seen = [str(Week.fromstring(week).monday()) for week in ("2021W53", "2021W60")]
print(seen, Week.last_week_of_year(2021).week)
assert seen == ["2022-01-03", "2022-02-21"] and Week.last_week_of_year(2021).week == 52
P
