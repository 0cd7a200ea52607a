#!/usr/bin/env bash
# Hmisc 4.8-0 for R: with weights that sum to 1, the minimum and all quartiles are the largest value.
#
# wtd.quantile takes weights for counts of people unless it is told normwt=TRUE; where they sum to 1
# or less, every quantile is the last value, with no warning. wtd.mean of the same weights is right.
#
# Seen, of 1, 2, 3 and 10:
#   weights of 0.25 each    0 % 10, 25 % 10, 50 % 10, mean 4
#   weights of 1 each       0 % 1, 25 % 1.75, 50 % 2.5, mean 4
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-hmisc=4.8-0-1 <<'R'
x <- c(1, 2, 3, 10)
shares <- Hmisc::wtd.quantile(x, rep(0.25, 4))
counts <- Hmisc::wtd.quantile(x, rep(1, 4))
print(rbind(shares, counts))
stopifnot(all(shares == 10), counts == c(1, 1.75, 2.5, 4.75, 10))
stopifnot(Hmisc::wtd.mean(x, rep(0.25, 4)) == 4)
R
