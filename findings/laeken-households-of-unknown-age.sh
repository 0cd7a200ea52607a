#!/usr/bin/env bash
# laeken 0.5.2 for R: where the age of one person who lives alone is missing, other households have another size.
#
# eqSS() counts the adults of each household, and leaves out households in which it knows of none. Its counts are then
# those of the next households, and start again from the first at the end; where the numbers of households divide
# evenly R does not warn. Equivalized incomes, and who is poor, follow from these sizes.
#
# Seen, of one person of unknown age, one of 30, three adults, and one of unknown age (1, 1, 2 and 1 where
# all ages are known): 1, 1.4, 1.6 and 1.4.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-laeken=0.5.2-1 <<'R'
options(warn = 2)
household <- c(1, 2, 3, 3, 3, 4)
known <- laeken::eqSS(household, c(50, 30, 40, 41, 20, 60))
unknown <- laeken::eqSS(household, c(NA, 30, 40, 41, 20, NA))
print(rbind(household, known, unknown))
stopifnot(all.equal(known, c(1, 1, 2, 2, 2, 1)))
stopifnot(all.equal(unknown, c(1, 1.4, 1.6, 1.6, 1.6, 1.4)))
R
