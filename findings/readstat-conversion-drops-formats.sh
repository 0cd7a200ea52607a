#!/usr/bin/env bash
# readstat 1.1.8: converted from .sav to .zsav, dates are numbers; to .dta, refusals are answers.
#
# The command converts between the formats of SPSS, Stata and SAS. Formats of variables stay behind,
# also between two files of SPSS: a date is the number of its seconds since 1582. Codes that SPSS
# declares missing become answers of the Stata file, with their labels, and count in means.
#
# Seen:
#   format of the date              DATE11 in the .sav, F8.2 in the .zsav
#   mean of 1, 2 and a missing 9    1.5 in the .sav, 4 in the .dta
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
debian_unpacked readstat=1.1.8-1
python_with pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 <<'P'
import datetime
import subprocess
import pandas as pd
import pyreadstat

day = datetime.date(2020, 1, 2)
table = pd.DataFrame({"smokes": [1, 2, 9], "born": [day, day, None]})
labels = {"smokes": {1: "yes", 2: "no", 9: "refused"}}
pyreadstat.write_sav(table, "a.sav", variable_value_labels=labels, missing_ranges={"smokes": [9]})
for file in ("a.zsav", "a.dta"):
    subprocess.run(["readstat", "a.sav", file], check=True)
spss, about_spss = pyreadstat.read_sav("a.sav")
packed, about_packed = pyreadstat.read_sav("a.zsav")
stata, about_stata = pyreadstat.read_dta("a.dta", user_missing=True)
for frame, about in ((spss, about_spss), (packed, about_packed), (stata, about_stata)):
    print(about.original_variable_types["born"], frame.born.tolist(), frame.smokes.mean())
assert about_spss.original_variable_types["born"].startswith("DATE")
assert about_packed.original_variable_types["born"] == "F8.2"
assert packed.born[0] > 1e10
assert spss.smokes.mean() == 1.5 and stata.smokes.mean() == 4
assert about_stata.variable_value_labels == labels
P
