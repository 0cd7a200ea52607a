#!/usr/bin/env bash
# svy-io 0.7.1: decimal amounts and times of day of Polars are missing in files that it writes.
#
# Polars holds exact amounts as decimals, which come from databases and Parquet. write_sav and
# write_dta take such a column, write a number for everybody, and all of them are missing; so are
# times of day in write_sav, while write_dta refuses these. There is no warning.
#
# Seen, of 1.10 and 2.25, and of 14:30 and 8:00:
#   .sav    missing, missing; missing, missing
#   .dta    missing, missing
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with svy-io==0.7.1 polars==2.1.0 pyarrow==26.0.1 pandas==2.3.3 numpy==2.4.6 pyreadstat==1.3.7 <<'P'
import datetime
from decimal import Decimal

import polars as pl
import pyreadstat
import svy_io

people = pl.DataFrame({"amount": [Decimal("1.10"), Decimal("2.25")], "age": [30, 40]})
woken = pl.DataFrame({"woken": [datetime.time(14, 30), datetime.time(8)], "age": [30, 40]})
svy_io.write_sav(people, "people.sav")
svy_io.write_dta(people, "people.dta")
svy_io.write_sav(woken, "woken.sav")
spss, stata = pyreadstat.read_sav("people.sav")[0], pyreadstat.read_dta("people.dta")[0]
times = pyreadstat.read_sav("woken.sav")[0]
print(spss, stata, times, sep="\n")
assert spss["amount"].isna().all() and stata["amount"].isna().all() and times["woken"].isna().all()
assert spss["age"].tolist() == stata["age"].tolist() == times["age"].tolist() == [30, 40]
P
