#!/usr/bin/env bash
# Hmisc 4.8-0 for R: the names of groups of ages tell the ages of the oldest and the youngest person.
#
# cut2 makes groups from given cuts, and ends the first and the last at the smallest and the largest
# value. The only child's group is named by the child's age alone, unless oneval=FALSE. cut() of R
# names groups by the cuts.
#
# Seen, of ages 17, 20, 35, 64, 70 and 98 with cuts at 18, 35 and 65:
#   cut2    17, [18,35), [35,65), [65,98]
#   cut     [-Inf,18), [18,35), [35,65), [65, Inf)
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-hmisc=4.8-0-1 <<'R'
ages <- c(17, 20, 35, 64, 70, 98)
told <- levels(Hmisc::cut2(ages, c(18, 35, 65)))
groups <- levels(cut(ages, c(-Inf, 18, 35, 65, Inf), right = FALSE))
print(list(told, groups))
stopifnot(trimws(told) == c("17", "[18,35)", "[35,65)", "[65,98]"))
stopifnot(groups == c("[-Inf,18)", "[18,35)", "[35,65)", "[65, Inf)"))
R
