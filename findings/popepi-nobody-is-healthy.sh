#!/usr/bin/env bash
# popEpi 0.4.10 for R: an age group that nobody of a town is in counts as one in which nobody falls ill.
#
# rate() adjusts rates by age with the weights of a standard population. Where a town has no person-years in an age
# group, its rate is taken for 0, and the weight of the group stays: the adjusted rate of that town is too low,
# with no warning. epitools says that it is not a number.
#
# Seen, of two towns with rates of 1 and 4 in a thousand among the young and the middle-aged, and old people in
# Bern alone (20 in a thousand), by equal weights: Bern 8.33, Chur 1.67, where Chur's own rate is 2.5.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-popepi=0.4.10+dfsg-1 r-cran-epitools=1:0.5-10.1-2 <<'R'
suppressMessages(library(popEpi))
towns <- data.frame(
  age = c(1:3, 1:2), town = rep(c("Bern", "Chur"), 3:2), cases = c(1, 4, 20, 1, 4), years = 1000
)
told <- rate(towns, obs = "cases", pyrs = "years", print = "town", adjust = "age", weights = rep(1 / 3, 3))
seen <- 1000 * cbind(adjusted = told$rate.adj, own = told$rate)
rownames(seen) <- told$town
print(seen)
stopifnot(all.equal(seen["Bern", ], c(adjusted = 25 / 3, own = 25 / 3)))
stopifnot(all.equal(seen["Chur", ], c(adjusted = 5 / 3, own = 2.5)))
other <- epitools::ageadjust.direct(c(1, 4, 0), c(1000, 1000, 0), stdpop = c(1, 1, 1))
stopifnot(is.nan(other["adj.rate"]))
R
