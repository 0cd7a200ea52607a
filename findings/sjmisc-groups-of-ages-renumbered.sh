#!/usr/bin/env bash
# sjmisc 2.8.9 for R: group 2 of ages in groups of ten is 20 to 29 in one town, and 80 to 89 in another.
#
# group_var() numbers groups of equal width, and leaves out those that nobody is in: the numbers do not say
# which ages they stand for, and those of two tables, or of two years, are not the same groups. So do labels
# of group_labels(), made from the same values alone.
#
# Seen: the ages 5, 25, 45 and 65, 85, 95 are both groups 1, 2 and 3.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-sjmisc=2.8.9-1 <<'R'
groups <- function(ages) sjmisc::group_var(ages, size = 10)
seen <- rbind(young = groups(c(5, 25, 45)), old = groups(c(65, 85, 95)), all = groups(c(5, 15, 25)))
print(seen)
print(sjmisc::group_labels(c(65, 85, 95), size = 10))
stopifnot(seen["young", ] == 1:3, seen["old", ] == 1:3, seen["all", ] == 1:3)
stopifnot(sjmisc::group_labels(c(65, 85, 95), size = 10) == c("60-69", "80-89", "90-99"))
R
