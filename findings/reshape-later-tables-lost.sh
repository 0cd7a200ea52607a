#!/usr/bin/env bash
# reshape 0.8.9 for R: where tables are merged, columns of all but the first are lost.
#
# merge_all() merges tables, and then chooses the columns of the first one. What the others add is gone, and their
# people stay with missing values, with no warning. merge_recurse() keeps all columns.
#
# Seen, of a table of ages and one of incomes: a table of ages.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-reshape=0.8.9-1 <<'R'
options(warn = 2)
ages <- data.frame(person = 1:2, age = c(30, 40))
incomes <- data.frame(person = 2:3, income = c(1000, 2000))
all <- reshape::merge_all(list(ages, incomes), by = "person")
recursive <- reshape::merge_recurse(list(ages, incomes), by = "person")
print(list(all, recursive))
stopifnot(names(all) == c("person", "age"), all$person == 1:3, is.na(all$age[3]))
stopifnot(setequal(names(recursive), c("person", "age", "income")), 1000 %in% recursive$income)
R
