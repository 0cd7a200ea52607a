#!/usr/bin/env bash
# vcdExtra 0.8 for R: in groups of ages of which the last is called "65+", people above 90 are missing.
#
# cutfac() takes the bounds of groups, and names the last one after its lower bound, with a "+". It ends at the
# last bound all the same, and who is older is in no group, with no warning.
#
# Seen, of the ages 10, 40, 70 and 95 with the bounds 0, 18, 65 and 90: "0-17", "18-64", "65+" and missing.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-vcdextra=0.8-2-1 <<'R'
suppressPackageStartupMessages(library(vcdExtra))
options(warn = 2)
groups <- cutfac(c(10, 40, 70, 95), breaks = c(0, 18, 65, 90))
print(groups)
stopifnot(identical(as.character(groups), c("0-17", "18-64", "65+", NA)))
R
