#!/usr/bin/env bash
# sjmisc 2.8.9 with tidyr 1.3.0 for R: a wide table that is made long has no values any more.
#
# to_long() is to gather several groups of columns at once, each into a column of its own. Used as in its documented
# example, with two groups, the result has the people and the names of the first columns, and none of the values, with no
# warning.
#
# Seen, of two people with two scores and two speeds each: four rows of id and time.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-sjmisc=2.8.9-1 r-cran-tidyr=1.3.0-1 <<'R'
options(warn = 2)
people <- data.frame(id = 1:2, score_t1 = 1:2, score_t2 = 3:4, speed_t1 = 5:6, speed_t2 = 7:8)
long <- sjmisc::to_long(
  people, keys = "time", values = c("score", "speed"), c("score_t1", "score_t2"), c("speed_t1", "speed_t2")
)
print(long)
stopifnot(names(long) == c("id", "time"), nrow(long) == 4)
R
