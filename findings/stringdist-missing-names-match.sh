#!/usr/bin/env bash
# stringdist 0.9.10 for R: two people whose names are missing have the same name.
#
# amatch() looks up each name in a table by its distance. A missing name is nearest to the table's
# first missing name, whatever distance was allowed, although stringdist() says that the distance
# of the two is missing: linked by it, a person without a name gets another one's income.
# matchNA = FALSE leaves such people without a match.
#
# Seen: the person without a name has an income of 2000, that of a person without a name.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-stringdist=0.9.10-1 <<'R'
people <- data.frame(name = c("Meier", NA, "Muster"), age = c(41, 38, 25))
taxes <- data.frame(name = c("Mayer", NA, "Muster"), income = c(1000, 2000, 3000))
found <- stringdist::amatch(people$name, taxes$name, maxDist = 2)
apart <- stringdist::amatch(people$name, taxes$name, maxDist = 2, matchNA = FALSE)
print(cbind(people, income = taxes$income[found], apart = taxes$income[apart]))
stopifnot(identical(taxes$income[found], c(1000, 2000, 3000)))
stopifnot(identical(taxes$income[apart], c(1000, NA, 3000)))
stopifnot(is.na(stringdist::stringdist(NA, NA)))
R
