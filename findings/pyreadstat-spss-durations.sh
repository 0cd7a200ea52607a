#!/usr/bin/env bash
# pyreadstat 1.3.7 and readstat-arrow 2026.10.20.0: 38 hours and a half become 14 hours and a half.
#
# SPSS's formats TIME and DTIME show how long something lasts, with as many hours or days as it
# takes. pyreadstat makes times of day of both, readstat-arrow of TIME: whole days are gone, without
# a warning. With disable_datetime_conversion pyreadstat gives the seconds.
#
# Seen, of 38 h 30 min and of 2 days 1 h:
#   pyreadstat        14:30:00 and 01:00:00
#   readstat-arrow    14:30:00 and a duration of 2 days 1 h
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyreadstat==1.3.7 readstat-arrow==2026.10.20.0 pyarrow==26.0.1 pandas==3.1.1 numpy==2.4.6 <<'P'
import datetime
import pandas as pd
import pyreadstat
import readstat_arrow

seconds = {"worked": [38.5 * 3600], "stayed": [49 * 3600.0]}
pyreadstat.write_sav(
    pd.DataFrame(seconds), "x.sav", variable_format={"worked": "TIME8", "stayed": "DTIME11"}
)
by_pandas = {name: values[0] for name, values in pyreadstat.read_sav("x.sav")[0].items()}
kept = pyreadstat.read_sav("x.sav", disable_datetime_conversion=True)[0].to_dict("list")
by_arrow = {name: values[0] for name, values in readstat_arrow.read_sav("x.sav")[0].to_pydict().items()}
print("pyreadstat     ", by_pandas)
print("readstat-arrow ", by_arrow)
assert by_pandas == {"worked": datetime.time(14, 30), "stayed": datetime.time(1)}
assert by_arrow == {"worked": datetime.time(14, 30), "stayed": datetime.timedelta(hours=49)}
assert kept == seconds
P
