#!/usr/bin/env bash
# gtools 3.9 for R: the group of incomes from 100,000 to 200,000 is called "(0,2]", and the next one "(2,+05]".
#
# quantcut() makes groups of equal size. Where a value is so frequent that it is two bounds, names are put
# together from the numbers that are found in the names of cut(), which are written as 1e+05 and 2e+05 from a
# hundred thousand on: "e" ends a number. Who is in which group is right.
#
# Seen, of four incomes of 0 and 100,000, 200,000 … 600,000: "0", "(0,2]", "(2,+05]" and "(4,+05]";
# of the same in units of 100,000: "0", "(0,2]", "(2,4]" and "(4,6]".
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-gtools=3.9.4-1 <<'R'
options(warn = 2)
incomes <- c(0, 0, 0, 0, 1:6)
print(units <- gtools::quantcut(incomes))
print(francs <- gtools::quantcut(incomes * 1e5))
stopifnot(identical(levels(units), c("0", "(0,2]", "(2,4]", "(4,6]")))
stopifnot(identical(levels(francs), c("0", "(0,2]", "(2,+05]", "(4,+05]")))
R
