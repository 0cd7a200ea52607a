#!/usr/bin/env bash
# arsenal 3.6.3 for R: two tables in which everybody has another age have no differences.
#
# comparedf() compares tables as PROC COMPARE of SAS does, such as a release with what it was made from.
# A column that is of whole numbers in one table and of decimals in the other, as the same file read by two
# readers often is, or of texts in one and a factor in the other, is not compared, but counts as shared:
# no difference is found, and every row is one in which all values are equal.
#
# Seen, of ages 30, 40, 50 and 31, 99, 7 and of other towns: no difference, and 3 rows with all values equal;
# 6 differences once both tables have the same types.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-arsenal=3.6.3-1 <<'R'
before <- data.frame(person = 1:3, age = c(30L, 40L, 50L), town = c("Bern", "Chur", "Biel"))
after <- data.frame(person = 1:3, age = c(31, 99, 7), town = factor(c("Genf", "Genf", "Genf")))
compared <- arsenal::comparedf(before, after, by = "person")
counts <- summary(compared)$comparison.summary.table
print(counts)
count <- function(of) counts$value[counts$statistic == of]
stopifnot(arsenal::n.diffs(compared) == 0)
stopifnot(count("Number of values unequal") == 0)
stopifnot(count("Number of observations with all compared variables equal") == 3)
after <- transform(after, age = as.integer(age), town = as.character(town))
stopifnot(arsenal::n.diffs(arsenal::comparedf(before, after, by = "person")) == 6)
R
