#!/usr/bin/env bash
# foreign 0.8-84: moments in a Stata file of R lose their time of day, and dates are numbers.
#
# write.dta() turns moments into days since 1960, as it does with dates, and gives both the format
# of a number (%9.0g). Two visits of one day are equal, and nothing shows that 21916 is a day.
#
# Seen, of a visit on 2020-01-02 at 08:15 and one at 23:30: 21916 twice; of that date: 21916.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-foreign=0.8.84-1 <<'R'
visits <- data.frame(
  came = as.POSIXct(c("2020-01-02 08:15", "2020-01-02 23:30"), tz = "UTC"),
  day = as.Date(c("2020-01-02", "2020-01-02"))
)
foreign::write.dta(visits, "x.dta")
R
python_with pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 <<'P'
import pandas as pd
import pyreadstat

visits, about = pyreadstat.read_dta("x.dta")
print(visits, about.original_variable_types, pd.read_stata("x.dta").dtypes, sep="\n")
assert visits["came"].tolist() == visits["day"].tolist() == [21916, 21916]
assert about.original_variable_types == {"came": "%9.0g", "day": "%9.0g"}
P
