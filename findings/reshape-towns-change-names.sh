#!/usr/bin/env bash
# reshape 0.8.9 for R: where the two largest towns are kept, people of the other towns have their names.
#
# combine_factor() keeps the levels whose numbers it is given, as in the last of its documented examples, and puts the rest
# together. It keeps the first levels instead, as many as were asked for, under the names of those that were to be kept.
# Only where these are the first ones, in this order, are the names right.
#
# Seen, of 1 person of Bern, 5 of Chur, 3 of Thun and 2 of Zug, where Chur and Thun are kept: 1 of Chur, 5 of Thun,
# and 5 others.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-reshape=0.8.9-1 <<'R'
options(warn = 2)
people <- data.frame(town = factor(rep(c("Bern", "Chur", "Thun", "Zug"), c(1, 5, 3, 2))))
largest <- order(table(people$town), decreasing = TRUE)[1:2]
people$kept <- reshape::combine_factor(people$town, largest)
seen <- table(people)
print(seen)
stopifnot(levels(people$town)[largest] == c("Chur", "Thun"), colnames(seen) == c("Chur", "Thun", "Other"))
stopifnot(seen["Bern", ] == c(1, 0, 0), seen["Chur", ] == c(0, 5, 0))
stopifnot(seen["Thun", ] == c(0, 0, 3), seen["Zug", ] == c(0, 0, 2))
first <- table(people$town, reshape::combine_factor(people$town, 1:2))
stopifnot(diag(first[1:2, c("Bern", "Chur")]) == c(1, 5))
R
