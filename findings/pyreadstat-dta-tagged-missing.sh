#!/usr/bin/env bash
# pyreadstat 1.3.7: a missing whole number beside tagged ones of a Stata file is read as 0.
#
# With user_missing=True, Stata's .a and .b come as the letters 'a' and 'b'. A plain missing value
# in the same column of whole numbers then comes as the number 0, as if somebody had answered 0.
# Without user_missing, with output_format="dict", and in a column of doubles it is missing.
#
# Seen:
#   user_missing, pandas   [1, 'a', 'b', 0]
#   user_missing, dict     [1, 'a', 'b', None]
#   without                [1, nan, nan, nan]
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 <<'P'
import math
import pandas as pd
import pyreadstat

x = pd.Series([1, "a", "b", None], dtype=object)
pyreadstat.write_dta(pd.DataFrame({"x": x}), "x.dta", version=14, missing_user_values={"x": ["a", "b"]})
framed = pyreadstat.read_dta("x.dta", user_missing=True)[0].x.tolist()
listed = list(pyreadstat.read_dta("x.dta", user_missing=True, output_format="dict")[0]["x"])
plain = pyreadstat.read_dta("x.dta")[0].x.tolist()
print("user_missing, pandas  ", framed)
print("user_missing, dict    ", listed)
print("without               ", plain)
missing = lambda value: value is None or (isinstance(value, float) and math.isnan(value))
assert missing(plain[3]) and missing(listed[3])
assert framed[3] == 0, "the missing value is no 0 any more"
P
