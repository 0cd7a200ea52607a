#!/usr/bin/env bash
# forcats 1.0.0 for R: of towns with less than five people, a group of one is made.
#
# fct_lump_min puts levels with fewer than min people together, so that no small group should be
# left. Nothing is said of the size of what was put together: where one town is too small, "Other"
# is that town under another name, and fct_lump_n does the same.
#
# Seen, of five people from Bern, five from Chur and one from Wil, with min = 5: Other 1.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-forcats=1.0.0-1 <<'R'
towns <- factor(rep(c("Bern", "Chur", "Wil"), c(5, 5, 1)))
lumped <- table(forcats::fct_lump_min(towns, 5))
largest <- table(forcats::fct_lump_n(towns, 2))
print(list(lumped, largest))
stopifnot(lumped[["Other"]] == 1, largest[["Other"]] == 1)
R
