#!/usr/bin/env bash
# rstatix 0.7.2 for R: answers that are not named when their order is changed become missing.
#
# reorder_levels() is for the order of a factor's levels. Where only those that are to come first are named, as
# in forcats' fct_relevel(), people with the other answers lose theirs, without a warning; their next figures are of the
# rest.
#
# Seen, of f, m, m and x with "m" to come first: missing, m, m and missing.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-rstatix=0.7.2-1 <<'R'
suppressMessages(library(rstatix))
options(warn = 2)
people <- data.frame(sex = factor(c("f", "m", "m", "x")))
found <- reorder_levels(people, "sex", order = "m")
print(found)
stopifnot(identical(as.character(found$sex), c(NA, "m", "m", NA)))
R
