#!/usr/bin/env bash
# survey 4.1-1 for R: weights that were trimmed to at most 3 are up to 4.3.
#
# trimWeights() cuts weights above the bound and shares out what was cut among all others, which may
# lift one of these above the bound: the largest weight is then one that was within it before. Only
# strict = TRUE goes on until none is above.
#
# Seen: of the weights 1, 1, 1, 1, 2.9 and 10 the trimmed ones are 2.4 four times, 4.3 and 3.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-survey=4.1-1-1 <<'R'
suppressMessages(library(survey))
people <- data.frame(weight = c(1, 1, 1, 1, 2.9, 10), age = 21:26)
design <- svydesign(~1, weights = ~weight, data = people)
trimmed <- as.vector(weights(trimWeights(design, upper = 3)))
strict <- as.vector(weights(trimWeights(design, upper = 3, strict = TRUE)))
print(rbind(trimmed, strict))
stopifnot(all.equal(trimmed, c(2.4, 2.4, 2.4, 2.4, 4.3, 3)))
stopifnot(max(strict) <= 3 + 1e-9)
R
