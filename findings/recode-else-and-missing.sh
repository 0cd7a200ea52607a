#!/usr/bin/env bash
# car 3.1-1 and sjmisc 2.8.9 for R: by one rule somebody whose age is missing is an adult, or is not.
#
# Both packages recode by texts of the same form. `else` is everybody who is left to car, those with
# a missing value among them, and to sjmisc everybody but those. A value between two ranges, as 17.5
# between 0 to 17 and 18 to 99, stays as it is by car, a 17.5 among codes, and is missing by sjmisc.
#
# Seen, of the ages 12, 17.5, 40 and missing (codes: 1 minor, 2 adult):
#   minors, else adults        car 1 2 2 2         sjmisc 1 2 2 missing
#   minors, adults by range    car 1 17.5 2 missing   sjmisc 1 missing 2 missing
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-car=3.1-1-1 r-cran-sjmisc=2.8.9-1 <<'R'
ages <- c(12, 17.5, 40, NA)
others <- "0:17=1; else=2"
ranges <- "0:17=1; 18:99=2"
print(cbind(ages, car = car::recode(ages, others), sjmisc = sjmisc::rec(ages, rec = others)))
print(cbind(ages, car = car::recode(ages, ranges), sjmisc = sjmisc::rec(ages, rec = ranges)))
stopifnot(identical(as.numeric(car::recode(ages, others)), c(1, 2, 2, 2)))
stopifnot(identical(as.numeric(sjmisc::rec(ages, rec = others)), c(1, 2, 2, NA)))
stopifnot(identical(as.numeric(car::recode(ages, ranges)), c(1, 17.5, 2, NA)))
stopifnot(identical(as.numeric(sjmisc::rec(ages, rec = ranges)), c(1, NA, 2, NA)))
R
