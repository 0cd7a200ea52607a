#!/usr/bin/env bash
# Epi 2.47 for R: somebody born on 1 January 2000 is born in 1999.
#
# cal.yr() turns a date into a year with its fraction, the unit of the package's follow-up times. A
# year has 365.25 days there, counted from 1970, so that every other 1 January is a fraction
# before its year begins, and a year that is cut from it is the one before.
#
# Seen: 2000-01-01 is 1999.999. Of the first days of 1970 to 2019, 25 come to the year before.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-epi=2.47-1 <<'R'
years <- 1970:2019
cut <- floor(as.numeric(Epi::cal.yr(as.Date(paste0(years, "-01-01")))))
print(as.numeric(Epi::cal.yr(as.Date("2000-01-01"))), digits = 10)
print(table(years - cut))
stopifnot(cut[years == 2000] == 1999, all(years - cut <= 1), sum(years - cut) == 25)
R
