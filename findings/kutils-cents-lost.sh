#!/usr/bin/env bash
# kutils 1.70 for R: amounts with decimals are whole numbers once one of them is above four million.
#
# safeInteger() makes integers of a column that has nothing but whole numbers, and nothing of others. Before it
# looks, it rounds to seven digits of the largest value; what was rounded is then whole, and is returned so.
#
# Seen, of 2.4 and 0.3: nothing; of 2.4, 0.3 and 5,000,000: 2, 0 and 5,000,000.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-kutils=1.70+dfsg-2 <<'R'
options(warn = 2)
seen <- list(kutils::safeInteger(c(2.4, 0.3)), kutils::safeInteger(c(2.4, 0.3, 5000000)))
print(seen)
stopifnot(is.null(seen[[1]]), identical(seen[[2]], c(2L, 0L, 5000000L)))
R
