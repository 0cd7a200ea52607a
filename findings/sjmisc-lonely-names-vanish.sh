#!/usr/bin/env bash
# sjmisc 2.8.9 for R: names become missing where a package that is only said to be quicker is not there.
#
# group_str() gives names that are alike one name. It says that stringdist makes this quicker if it is installed;
# without it other distances are taken, and names that are like no other are missing.
#
# Seen, of Meier, Meyer, Weier, Beyer and Huber, at a distance of at most 1: without stringdist all five are missing;
# with it three are "Meier, Meyer, Weier", and Beyer and Huber stay.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cat >grouped.R <<'R'
names <- c("Meier", "Meyer", "Weier", "Beyer", "Huber")
grouped <- suppressMessages(sjmisc::group_str(names, precision = 1))
print(cbind(names, grouped))
alike <- "Meier, Meyer, Weier"
expected <- if (requireNamespace("stringdist", quietly = TRUE)) c(alike, alike, alike, "Beyer", "Huber") else NA
stopifnot(identical(as.character(grouped), rep(as.character(expected), length.out = 5)))
R
r_with r-cran-sjmisc=2.8.9-1 <grouped.R
r_with r-cran-sjmisc=2.8.9-1 r-cran-stringdist=0.9.10-1 <grouped.R
