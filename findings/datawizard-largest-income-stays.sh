#!/usr/bin/env bash
# datawizard 0.6.5 for R: beside one missing income, the largest income is not winsorized.
#
# winsorize() sorts the values, where missing ones fall away, and counts the place of the upper bound in all rows,
# missing ones among them. With as many missing values as are to be cut at an end, the upper bound is the largest value
# or none: the lower end is cut, the upper one is not, with no warning.
#
# Seen, of 1 to 9 and 1000 with a tenth cut at each end: 2 to 9; beside one missing value 2 to 1000.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-datawizard=0.6.5+dfsg-1 <<'R'
options(warn = 2)
incomes <- c(1:9, 1000)
alone <- datawizard::winsorize(incomes, threshold = 0.1)
beside <- datawizard::winsorize(c(incomes, NA), threshold = 0.1)
three <- datawizard::winsorize(c(incomes, NA, NA, NA), threshold = 0.1)
print(list(alone, beside, three))
stopifnot(range(alone) == c(2, 9), range(beside, na.rm = TRUE) == c(2, 1000))
stopifnot(range(three, na.rm = TRUE) == c(2, 1000))
R
