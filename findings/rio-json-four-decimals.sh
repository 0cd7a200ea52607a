#!/usr/bin/env bash
# rio 0.5.29: weights and rates of a table that R writes as JSON are rounded to four decimals.
#
# export() picks the writer by the ending of the file's name. For .json it is jsonlite, which
# rounds to four decimals unless it is told otherwise: a rate of 0.00004 is 0, and places move by
# metres. For .csv all 15 digits are written.
#
# Seen, of 0.00004 and 47.3768866:
#   .json    0, 47.3769
#   .csv     4e-05, 47.3768866
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-rio=0.5.29-1 r-cran-jsonlite=1.8.4+dfsg-1 <<'R'
people <- data.frame(rate = 0.00004, north = 47.3768866)
seen <- lapply(c("x.json", "x.csv"), function(file) {
  rio::export(people, file)
  rio::import(file)
})
print(seen, digits = 10)
stopifnot(seen[[1]]$rate == 0, seen[[1]]$north == 47.3769)
stopifnot(all.equal(seen[[2]], people, tolerance = 1e-15, check.attributes = FALSE))
R
