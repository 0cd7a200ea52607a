#!/usr/bin/env bash
# prettyR 2.2 for R: where the identifier is not the first column, the first one has identifiers in a wide table.
#
# stretch_df() makes one row a person of several visits. Identifiers are put into the first column, and all
# columns have the names that they had in the order of the table: a second column has the identifiers as well,
# and what was in the first is lost.
#
# Seen, of two visits each of a woman 7 and a man 8: sex 7 and 8 where sex is the first column; f and m where
# the identifier is.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-prettyr=2.2-3-2 <<'R'
options(warn = 2)
visits <- data.frame(sex = c("f", "f", "m", "m"), id = c(7, 7, 8, 8), weight = c(60, 61, 80, 82))
print(wide <- prettyR::stretch_df(visits, "id", "weight"))
print(right <- prettyR::stretch_df(visits[c("id", "sex", "weight")], "id", "weight"))
stopifnot(identical(wide$sex, c(7, 8)), identical(wide$id, c(7, 8)), identical(right$sex, c("f", "m")))
R
