#!/usr/bin/env bash
# oissyntheticdata 2.2.0: a profile that is to be safe to hand out has the oldest person's date of birth.
#
# Rare answers lose their label in it, and numbers are told between the 1st and the 99th hundredth. Of dates the first
# and the last are told to the day, and how many fall on each year, also where it is one; of "yes" and "no" both
# counts are told as well. Synthetic data are made from this file alone.
#
# Seen, of 99 births in 1980 and one on 4 March 1912: that day, and one birth in 1912; of answers, one "yes". A town that
# one person lives in is RARE_001, an income of 99999 is not told.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with oissyntheticdata==2.2.0 <<'P'
from oissyntheticdata.profile import profile_column

born = profile_column("born", ["1980-05-%02d" % (1 + day % 28) for day in range(99)] + ["1912-03-04"])
ill = profile_column("hiv", ["no"] * 99 + ["yes"])
town = profile_column("town", ["A"] * 99 + ["Hamlet"])
income = profile_column("income", ["%d" % (3000 + row % 7) for row in range(199)] + ["99999"])
print(born["min"], born["year_freqs"], ill["frequencies"], town["frequencies"], income["quantile_values"][-1])
assert born["min"] == "1912-03-04" and born["year_freqs"]["1912"] == 1 and ill["frequencies"]["yes"] == 1
assert "RARE_001" in town["frequencies"] and income["quantile_values"][-1] < 99999
P
