#!/usr/bin/env bash
# car 3.1-1 for R: an age of 29.5 is in no group, and is released as it is beside the groups' codes.
#
# Recode(age, "18:29=1; 30:64=2") makes groups of ages, and what no rule is for stays what it is. Ages in
# years and months, such as those computed from births, fall between the groups: their owners are the only
# ones whose age is told, in a column of codes. sjmisc and admisc, whose rules read the same, make it missing.
#
# Seen, of the ages 25, 29.5 and 40: 1, 29.5 and 2 in car, 1, missing and 2 in sjmisc and admisc.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-car=3.1-1-1 r-cran-sjmisc=2.8.9-1 r-cran-admisc=0.30-1 <<'R'
ages <- c(25, 29.5, 40)
rules <- "18:29=1; 30:64=2"
seen <- rbind(
  car = car::Recode(ages, rules), sjmisc = sjmisc::rec(ages, rec = rules),
  admisc = admisc::recode(ages, rules)
)
print(seen)
stopifnot(identical(seen["car", ], c(1, 29.5, 2)))
stopifnot(identical(seen["sjmisc", ], c(1, NA, 2)), identical(seen["admisc", ], c(1, NA, 2)))
R
