#!/usr/bin/env bash
# dp-group-stats 0.1.2: New Year's Eve of 2020 is in a period that ended on 27 December.
#
# get_period_bounds() is to give the period that a day is in, for the privacy budget of each. Of two weeks, the 53rd of
# a year belongs to the 52nd, but the period has 14 days all the same: seven days of such a year are in none.
#
# Seen: 31 December 2020 and 1 January 2021 have the bounds 14 and 27 December; the next period begins on 4 January.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with dp-group-stats==0.1.2 <<'P'
from datetime import date
from dp_group_stats import get_period_bounds

seen = [get_period_bounds(day, "biweekly") for day in (date(2020, 12, 31), date(2021, 1, 1), date(2021, 1, 4))]
print(seen)
assert seen[0] == seen[1] == (date(2020, 12, 14), date(2020, 12, 27))
assert seen[2][0] == date(2021, 1, 4)
P
