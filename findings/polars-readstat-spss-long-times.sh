#!/usr/bin/env bash
# polars-readstat 0.25.0: a time of 24 hours and more in an SPSS file is missing.
#
# SPSS's format TIME holds durations of any length: hours worked in a week, a stay. They are read
# as times of day, and what is none is null, with no warning, so a mean is that of the short ones.
# Formats with days (DTIME) are read as durations.
#
# Seen, of 8, 36 and 40 hours:
#   TIME     08:00, null, null
#   DTIME    8 hours, 36 hours, 40 hours
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with polars-readstat==0.25.0 polars==2.1.0 pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 <<'P'
import datetime

import pandas as pd
import polars_readstat
import pyreadstat

seconds = [hours * 3600.0 for hours in (8, 36, 40)]
pyreadstat.write_sav(
    pd.DataFrame({"time": seconds, "dtime": seconds}),
    "x.sav",
    variable_format={"time": "TIME8", "dtime": "DTIME14"},
)
seen = polars_readstat.read_readstat("x.sav")
print(seen)
assert seen["time"].to_list() == [datetime.time(8), None, None]
assert seen["dtime"].to_list() == [datetime.timedelta(seconds=each) for each in seconds]
P
