#!/usr/bin/env bash
# pyreadstat 1.3.7: missing ranges of an SPSS date variable come as dates, those of numbers as numbers.
#
# They come as datetime.date even with metadataonly=True, and only as the seconds that the file
# holds with disable_datetime_conversion=True. Whoever keeps the metadata as JSON is refused.
#
# Seen:
#   by default   {'born': [{'lo': datetime.date(1999, 9, 9), 'hi': datetime.date(1999, 9, 9)}]}
#   without      {'born': [{'lo': 13156214400.0, 'hi': 13156214400.0}]}
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 <<'P'
import datetime
import json
import pandas as pd
import pyreadstat

seconds = (pd.Timestamp("1999-09-09") - pd.Timestamp("1582-10-14")).total_seconds()
pyreadstat.write_sav(
    pd.DataFrame({"born": [seconds, seconds - 86_400 * 400]}),
    "x.sav",
    variable_format={"born": "DATE11"},
    missing_ranges={"born": [seconds]},
)
_, told = pyreadstat.read_sav("x.sav", metadataonly=True, user_missing=True)
_, plain = pyreadstat.read_sav("x.sav", metadataonly=True, user_missing=True, disable_datetime_conversion=True)
print("by default                 ", told.missing_ranges)
print("without conversion of dates", plain.missing_ranges)
assert isinstance(told.missing_ranges["born"][0]["lo"], datetime.date)
assert isinstance(plain.missing_ranges["born"][0]["lo"], float)
try:
    json.dumps(told.missing_ranges)
except TypeError as error:
    print("json:", error)
else:
    raise SystemExit("the ranges can be written as JSON now")
P
