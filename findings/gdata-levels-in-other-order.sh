#!/usr/bin/env bash
# gdata 2.18.0.1 for R: where unused answers are dropped, "high" becomes less than "low".
#
# drop.levels() does not only drop levels, it sorts those that are left by their letters unless it is told
# reorder = FALSE, also in an ordered factor, which stays an ordered one: comparisons, codes and medians
# of the answers are others. droplevels() of R keeps their order.
#
# Seen: of low < middle < high < very high, high < low < middle is left; two of four people are above low
# before, and one after.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-gdata=2.18.0.1-1 <<'R'
ends <- c("low", "middle", "high", "very high")
answers <- factor(c("low", "middle", "high", "low"), levels = ends, ordered = TRUE)
dropped <- gdata::drop.levels(answers)
print(dropped)
print(c(before = sum(answers > "low"), after = sum(dropped > "low")))
stopifnot(is.ordered(dropped), levels(dropped) == c("high", "low", "middle"))
stopifnot(sum(answers > "low") == 2, sum(dropped > "low") == 1)
stopifnot(levels(droplevels(answers)) == ends[1:3])
R
