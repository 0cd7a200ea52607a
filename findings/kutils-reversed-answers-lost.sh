#!/usr/bin/env bash
# kutils 1.70 for R: people who "Skipped meals" have a missing answer once the answers are reversed.
#
# Answers that stand outside the scale, "Skip" and "DNP" unless others are named, are to stay at its end. Every
# answer in whose text one of them is found is taken out, and "Skip" itself put there: those who gave one of
# these answers have none any more, and "Skip" is an answer that nobody could give.
#
# Seen, of "Never", "Skipped meals" and "Always": "Never", missing and "Always", with the levels "Always",
# "Never" and "Skip".
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-kutils=1.70+dfsg-2 <<'R'
options(warn = 2)
answers <- c("Never", "Skipped meals", "Always")
reversed <- kutils::reverse(factor(answers, levels = answers))
print(reversed)
stopifnot(identical(as.character(reversed), c("Never", NA, "Always")))
stopifnot(identical(levels(reversed), c("Always", "Never", "Skip")))
R
