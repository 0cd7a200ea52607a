#!/usr/bin/env bash
# survey 4.1-1 for R: the variance of two known ages is nearly halved by people whose age is missing.
#
# svyvar() multiplies by n / (n - 1). With na.rm = TRUE people whose value is missing are left out of the sum,
# but are still counted in n. Where the same people are chosen by subset(), n is the number of those
# who are left, and the variance another one.
#
# Seen, of the values 1 and 3 beside eight missing ones: 1.11 with na.rm = TRUE, 2 of the subset, as var() says.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-survey=4.1-1-1 <<'R'
suppressMessages(library(survey))
people <- data.frame(age = c(1, 3, rep(NA, 8)), weight = 1)
design <- svydesign(~1, weights = ~weight, data = people)
seen <- c(
  na.rm = coef(svyvar(~age, design, na.rm = TRUE)), subset = coef(svyvar(~age, subset(design, !is.na(age))))
)
print(c(seen, var = var(people$age, na.rm = TRUE)))
stopifnot(abs(seen - c(10 / 9, 2)) < 1e-9, var(people$age, na.rm = TRUE) == 2)
R
