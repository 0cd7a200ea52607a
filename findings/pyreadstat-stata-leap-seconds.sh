#!/usr/bin/env bash
# pyreadstat 1.3.7: moments of Stata that count leap seconds (%tC) come up to 27 seconds late.
#
# Stata's %tC counts the leap seconds since 1972, %tc does not. The library turns both into
# datetimes alike, without a word, so all moments of a %tC column since then are late; what happened
# shortly before midnight gets the next day. (haven 2.5.1 for R, made of the same library, does too.)
# pandas 3.1.1 leaves the numbers as they are, and warns.
#
# Seen:
#   Stata shows      2016-11-19 23:59:50 1970-01-01 00:00:00
#   pyreadstat, %tC  2016-11-20 00:00:16 1970-01-01 00:00:00
#   pandas, %tC      1795219216000.0 315619200000.0
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 <<'P'
import pandas as pd
import pyreadstat

# 26 leap seconds lie between 1972 and November 2016.
shown = pd.Timestamp("2016-11-19 23:59:50"), pd.Timestamp("1970-01-01")
numbers = [(when - pd.Timestamp("1960-01-01")) / pd.Timedelta(1, "ms") + 1000.0 * leaps for when, leaps in zip(shown, (26, 0))]
pyreadstat.write_dta(pd.DataFrame({"when": numbers}), "x.dta", version=14, variable_format={"when": "%tC"})
found = pyreadstat.read_dta("x.dta")[0]["when"].tolist()
by_pandas = pd.read_stata("x.dta")["when"].tolist()
print("Stata shows     ", *shown)
print("pyreadstat, %tC ", *found)
print("pandas, %tC     ", *by_pandas)
assert by_pandas == numbers
assert pd.Timestamp(found[1]) == shown[1]
assert pd.Timestamp(found[0]) - shown[0] == pd.Timedelta(26, "s"), "leap seconds are heeded now"
P
