#!/usr/bin/env bash
# lifelines 0.30.3: somebody who was observed from 1 January 2010 to 1 January 2020 has 9 years.
#
# datetimes_to_durations divides days by the mean length of a year or month and cuts what is left,
# as numpy does. Whether a full year counts depends on the leap days in it, and all of February is
# no month.
#
# Seen:
#   Y    1 January 2019 to 2020: 0; 2020 to 2021: 1; 2010 to 2020: 9; 30 June 2010 to 2020: 10
#   M    1 February to 1 March 2021: 0; 1 January to 1 February: 1
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with lifelines==0.30.3 pandas==2.3.3 numpy==2.4.6 <<'P'
from lifelines.utils import datetimes_to_durations

starts = ["2019-01-01", "2020-01-01", "2010-01-01", "2010-06-30"]
ends = ["2020-01-01", "2021-01-01", "2020-01-01", "2020-06-30"]
years, _ = datetimes_to_durations(starts, ends, freq="Y")
months, _ = datetimes_to_durations(["2021-02-01", "2021-01-01"], ["2021-03-01", "2021-02-01"], freq="M")
print(years, months)
assert years.tolist() == [0, 1, 9, 10] and months.tolist() == [0, 1]
P
