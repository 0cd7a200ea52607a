#!/usr/bin/env bash
# survey 4.1-1 for R: the mean age depends on what else is asked about in the same call.
#
# svymean() and svytotal() with na.rm = TRUE leave out everybody for whom any of the named variables is
# missing, from the figures of all of them. Where people with a missing income are older, the mean
# age that is computed beside that of the income is too young, and the total number is too small.
#
# Seen, of the ages 20, 40 and 90, where the income of the last is missing: the mean age is 50 alone and
# 30 beside the income; the total of the weights is 30 alone and 20 beside it.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-survey=4.1-1-1 <<'R'
suppressMessages(library(survey))
people <- data.frame(age = c(20, 40, 90), income = c(1000, 3000, NA), one = 1, weight = 10)
design <- svydesign(~1, weights = ~weight, data = people)
alone <- c(coef(svymean(~age, design, na.rm = TRUE)), coef(svytotal(~one, design, na.rm = TRUE)))
beside <- c(
  coef(svymean(~age + income, design, na.rm = TRUE))["age"],
  coef(svytotal(~one + income, design, na.rm = TRUE))["one"]
)
print(rbind(alone, beside))
stopifnot(all.equal(as.vector(alone), c(50, 30)), all.equal(as.vector(beside), c(30, 20)))
R
