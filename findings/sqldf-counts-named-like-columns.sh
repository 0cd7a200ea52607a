#!/usr/bin/env bash
# sqldf 0.4-11 for R: a count that is named like a column becomes of that column's type.
#
# What a query returns under the name of a column is turned back into what that column is, whatever
# was computed: a sum of TRUE and FALSE named as it was is TRUE or FALSE again, and a count of dates
# is a date. Under any other name both are numbers, and the earliest date is a number as well.
#
# Seen, of two smokers in Bern, whose births are known:
#   sum(smokes) AS smokes       TRUE            sum(smokes) AS smokers    2
#   count(born) AS born         1970-01-03      count(born) AS known      2
#                                               min(born) AS first        7305
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-sqldf=0.4-11-2 <<'R'
options(gsubfn.engine = "R")
suppressMessages(library(sqldf))
people <- data.frame(
  town = "Bern", smokes = c(TRUE, TRUE, FALSE), born = as.Date(c("1990-01-01", "1991-01-01", NA))
)
same <- sqldf("SELECT sum(smokes) AS smokes, count(born) AS born FROM people GROUP BY town")
other <- sqldf("SELECT sum(smokes) AS smokers, count(born) AS known, min(born) AS first FROM people GROUP BY town")
print(same)
print(other)
stopifnot(identical(same$smokes, TRUE), same$born == as.Date("1970-01-03"))
stopifnot(other$smokers == 2, other$known == 2, other$first == 7305, !inherits(other$first, "Date"))
R
