#!/usr/bin/env bash
# rjson 0.2.21 for R: a missing income is the text "NA" in JSON, and a birth a number.
#
# toJSON() has null for NULL alone. A missing number becomes a text among numbers, which no reader takes for missing,
# and read again by rjson itself it is a text; dates are the number of days since 1970, with nothing that says so.
# jsonlite leaves a missing value out or writes null, and dates as texts.
#
# Seen: incomes 10 and missing as [10,"NA"], the 1st of January 2020 as 18262.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-rjson=0.2.21-1 r-cran-jsonlite=1.8.4+dfsg-1 <<'R'
options(warn = 2)
people <- list(income = c(10, NA), born = as.Date("2020-01-01"))
text <- rjson::toJSON(people)
cat(text, jsonlite::toJSON(people, na = "null"), "\n")
stopifnot(identical(text, '{"income":[10,"NA"],"born":18262}'))
stopifnot(identical(rjson::fromJSON(text)$income, list(10, "NA")))
R
