#!/usr/bin/env bash
# data.table 1.14.8 for R: the spread of incomes in a town is 0 once one income elsewhere is above two billion.
#
# fread() reads whole numbers as integer64 where one of them does not fit into 32 bits. sd() and var() by group
# then work on the bits of such numbers as if they were those of decimals, with no warning; means and medians by group,
# and sd() of the whole column, are right. ifelse() gives numbers next to 0.
#
# Seen, of incomes of 1000 and 2000 in Bern: standard deviation 0 beside 3,000,000,000 in Chur, 707 beside 3000.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-data.table=1.14.8+dfsg-1 r-cran-bit64=4.0.5-1 <<'R'
suppressMessages({library(data.table); library(bit64)})
spread <- function(largest) {
  people <- fread(text = paste0("town,income\nBern,1000\nBern,2000\nChur,", largest, "\n"))
  print(people[, .(mean = mean(income), sd = sd(income), median = median(income)), by = town])
}
large <- spread("3000000000")
small <- spread("3000")
stopifnot(large$mean[1] == 1500, large$median[1] == 1500, large$sd[1] < 1e-300)
stopifnot(small$mean[1] == 1500, abs(small$sd[1] - 707.1) < 0.1)
R
