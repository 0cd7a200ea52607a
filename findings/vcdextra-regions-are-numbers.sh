#!/usr/bin/env bash
# vcdExtra 0.8 for R: region 007 is 7, and a woman FALSE, where counts are written out as people.
#
# expand.dft() makes a row a person of a table of counts. Whatever looks like a number, a truth value or missing
# becomes one, column by column: codes lose their leading zeros, "F" is a truth value where nobody else is
# there, and the answer "NA" of Namibia is missing. The table itself has them as texts.
#
# Seen, of two women of region 007 and country NA, and one of region 012: regions 7, 7 and 12, sex FALSE, and
# a missing country.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-vcdextra=0.8-2-1 <<'R'
suppressPackageStartupMessages(library(vcdExtra))
options(warn = 2)
counts <- data.frame(region = c("007", "012"), sex = "F", country = c("NA", "ZA"), Freq = c(2, 1))
people <- expand.dft(counts)
print(people)
stopifnot(identical(people$region, c(7L, 7L, 12L)), identical(people$sex, rep(FALSE, 3)))
stopifnot(identical(people$country, c(NA, NA, "ZA")))
R
