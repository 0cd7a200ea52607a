#!/usr/bin/env bash
# sjmisc 2.8.9 for R: a town that no rule is for, and a missing one, become "-Inf".
#
# rec() makes values without a rule missing. Of texts that become texts they are "-Inf" instead, a town like others,
# and so are those that were missing before, with no warning; where the new values are digits they are missing.
#
# Seen, of Bern, Chur, Thun and missing by rules for Bern and Chur: "capital", "east", "-Inf" and "-Inf";
# by rules to 1 and 2: 1, 2, missing and missing.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-sjmisc=2.8.9-1 <<'R'
options(warn = 2)
towns <- c("Bern", "Chur", "Thun", NA)
texts <- sjmisc::rec(towns, rec = "Bern=capital; Chur=east")
numbers <- sjmisc::rec(towns, rec = "Bern=1; Chur=2")
print(cbind(towns, texts, numbers))
stopifnot(identical(as.character(texts), c("capital", "east", "-Inf", "-Inf")))
stopifnot(identical(as.numeric(numbers), c(1, 2, NA, NA)))
R
