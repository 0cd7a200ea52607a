#!/usr/bin/env bash
# polars-readstat 0.25.0: November 2020 of a Stata file is 31 December 1961.
#
# Stata counts months, quarters, half-years and weeks since 1960, and years as they are. Their
# numbers are all read as days since 1960, and come as dates, so nothing shows that they are others.
#
# Seen:
#   %tm 2020m11    1961-12-31
#   %tq 2020q4     1960-08-31
#   %ty 2020       1965-07-13
#   %td            as it should be
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with polars-readstat==0.25.0 polars==2.1.0 pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 <<'P'
import datetime
import pandas as pd
import polars_readstat
import pyreadstat

stored = {"month": 730, "quarter": 243, "year": 2020, "day": 22225}
formats = {"month": "%tm", "quarter": "%tq", "year": "%ty", "day": "%td"}
frame = pd.DataFrame({name: [float(count)] for name, count in stored.items()})
pyreadstat.write_dta(frame, "x.dta", version=14, variable_format=formats)
by_pandas = pd.read_stata("x.dta").iloc[0]
seen = polars_readstat.scan_readstat("x.dta").collect().row(0, named=True)
for name, read in seen.items():
    print(name, read, "by pandas:", by_pandas[name].date())
days = {name: datetime.date(1960, 1, 1) + datetime.timedelta(count) for name, count in stored.items()}
assert seen == days
assert by_pandas["month"].date() == datetime.date(2020, 11, 1)
assert by_pandas["day"].date() == seen["day"]
P
