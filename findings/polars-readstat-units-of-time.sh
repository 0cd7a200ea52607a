#!/usr/bin/env bash
# polars-readstat 0.25.0: a moment of 2020 that is written to an SPSS portable file is of 51972.
#
# Polars keeps moments and durations in microseconds. In .sav files they come to seconds. In .por
# files moments are a thousand times too late, counted from 1970, and in .xpt files durations are
# numbers of microseconds without a format that says so.
#
# Seen, of 2020-01-02 03:04:05 and 36 hours:
#   .sav    2020-01-02 03:04:05, 36 hours
#   .por    year 51972, 36 hours
#   .xpt    2020-01-02 03:04:05, 129600000000
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with polars-readstat==0.25.0 polars==2.1.0 pandas==3.1.1 numpy==2.4.6 pyreadstat==1.3.7 <<'P'
import datetime

import polars as pl
import polars_readstat
import pyreadstat

moment, stay = datetime.datetime(2020, 1, 2, 3, 4, 5), datetime.timedelta(hours=36)
table = pl.DataFrame({"came": [moment], "stayed": [stay]})
polars_readstat.write_readstat(table, "x.sav")
polars_readstat.write_por(table, "x.por")
polars_readstat.write_xpt(table, "x.xpt")
sav = polars_readstat.read_readstat("x.sav").row(0)
years = polars_readstat.read_readstat("x.por").select(pl.col("CAME").dt.year()).item()
stored = pyreadstat.read_por("x.por", disable_datetime_conversion=True)[0].iloc[0]
xpt = polars_readstat.read_readstat("x.xpt").row(0)
by_pyreadstat, about = pyreadstat.read_xport("x.xpt")
print("sav", sav, "| por", years, stored.tolist(), "| xpt", xpt, about.original_variable_types)
assert sav == (moment, stay)
since_1582 = (datetime.datetime(1970, 1, 1) - datetime.datetime(1582, 10, 14)).total_seconds()
assert years == 51972
since_1970 = (moment - datetime.datetime(1970, 1, 1)).total_seconds()
assert stored["CAME"] == since_1582 + since_1970 * 1000
assert stored["STAYED"] == 129_600
assert xpt == (moment, 129_600_000_000.0) and by_pyreadstat["stayed"][0] == 129_600_000_000
P
