#!/usr/bin/env bash
# chron 2.3-59 for R: births of 1920 and of 2020 are the same text in a file.
#
# Dates of chron are shown and written with two digits of the year unless told otherwise, also
# where those of two centuries stand in one column. Read again, both are of 2020.
#
# Seen, of births on 2 January 1920 and 2020: "01/02/20" twice, and the day 18263 twice when read.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-chron=2.3-59-1 <<'R'
born <- chron::chron(c("01/02/1920", "01/02/2020"))
stopifnot(as.numeric(born) == c(-18262, 18263))
write.csv(data.frame(born), "people.csv", row.names = FALSE)
told <- read.csv("people.csv")$born
again <- chron::chron(told)
print(list(told, as.numeric(again)))
stopifnot(told == "01/02/20", as.numeric(again) == 18263)
R
