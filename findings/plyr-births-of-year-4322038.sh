#!/usr/bin/env bash
# plyr 1.8.8 for R: a birth becomes one of the year 4322038 where tables are put together.
#
# rbind.fill() takes the kind of a column from the first table that has it. If that has dates and another moments,
# the seconds of these are taken for days, and nothing is said; the other way round they are converted, and
# rbind() of R itself converts them both ways.
#
# Seen: 1 January 2020 of the second table is 30 December 4322038.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-plyr=1.8.8-1 <<'R'
options(warn = 2)
dates <- data.frame(born = as.Date("2020-01-01"))
moments <- data.frame(born = as.POSIXct("2020-01-01 10:00", tz = "UTC"))
far <- format(plyr::rbind.fill(dates, moments)$born)
early <- format(plyr::rbind.fill(moments, dates)$born, tz = "UTC")
print(c(far, early))
print(format(rbind(dates, moments)$born))
stopifnot(identical(far, c("2020-01-01", "4322038-12-30")))
stopifnot(substr(early, 1, 10) == c("2020-01-01", "2020-01-01"))
stopifnot(identical(format(rbind(dates, moments)$born), c("2020-01-01", "2020-01-01")))
R
