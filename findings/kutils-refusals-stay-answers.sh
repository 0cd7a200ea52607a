#!/usr/bin/env bash
# kutils 1.70 for R: refusals with a hyphen become missing where they are numbers, and stay answers as texts.
#
# A space is put before each hyphen of the codes that are to be missing. A number is read with it all the same;
# among texts and factors "-9" and "non-response" are looked for as " -9" and "non -response", and not found.
#
# Seen, of -9 as a number, a text and in a factor: missing, "-9" and "-9"; "refused" becomes missing, and
# "non-response" does not.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-kutils=1.70+dfsg-2 <<'R'
options(warn = 2)
seen <- list(
  kutils::assignMissing(c(1, -9), "-9"),
  kutils::assignMissing(c("1", "-9"), "-9"),
  kutils::assignMissing(factor(c("1", "-9")), "-9"),
  kutils::assignMissing(c("yes", "refused", "non-response"), "refused;non-response")
)
print(seen)
stopifnot(is.na(seen[[1]][2]), identical(seen[[2]], c("1", "-9")), seen[[3]][2] == "-9")
stopifnot(identical(seen[[4]], c("yes", NA, "non-response")))
R
