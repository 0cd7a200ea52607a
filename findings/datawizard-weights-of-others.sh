#!/usr/bin/env bash
# datawizard 0.6.5 for R: below somebody whose region is missing, people weigh as others do.
#
# rescale_weights() makes weights for multilevel models, which sum to the size of each region. Nobody
# without a region takes part in this; their own weights are kept out of the result, but not their rows:
# the weights of the others move up into these and begin anew at the end. R warns of it only where the
# numbers of rows don't happen to fit.
#
# Seen, of weights 1, 50, 3, 60 and the regions north, missing, north, missing: 0.5, 1.5, 0.5, 1.5. The
# third, whose weight is 3 of 4, has 0.5; without those of unknown region 0.5 and 1.5.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-datawizard=0.6.5+dfsg-1 <<'R'
options(warn = 2)
people <- data.frame(region = c("north", NA, "north", NA), weight = c(1, 50, 3, 60))
weights <- function(rows) {
  datawizard::rescale_weights(rows, group = "region", probability_weights = "weight")$pweights_a
}
all_rows <- weights(people)
known <- weights(people[!is.na(people$region), ])
print(all_rows)
print(known)
stopifnot(identical(all_rows, c(0.5, 1.5, 0.5, 1.5)), identical(known, c(0.5, 1.5)))
R
