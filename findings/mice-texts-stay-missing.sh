#!/usr/bin/env bash
# mice 3.15.0 for R: missing towns stay missing where towns are texts, and are said to be constant.
#
# mice fills missing values of all columns from one another. Since R 4.0 texts are read as texts and
# not as factors; such a column is neither filled nor used to fill others. All that is said is one
# logged event, and there that the column is constant.
#
# Seen, of 100 people of whom 5 have no town and 5 no income: of the filled table
#   towns as texts      5 towns missing, no income
#   towns as factors    none
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-mice=3.15.0-1 <<'R'
set.seed(1)
people <- data.frame(
  town = sample(c("Bern", "Chur"), 100, TRUE), income = rnorm(100, 50), age = rnorm(100, 40, 9)
)
people$town[1:5] <- NA
people$income[6:10] <- NA
filled <- mice::mice(people, m = 1, seed = 1, printFlag = FALSE)
texts <- colSums(is.na(mice::complete(filled)))
people$town <- factor(people$town)
factors <- colSums(is.na(mice::complete(mice::mice(people, m = 1, seed = 1, printFlag = FALSE))))
print(list(texts, factors, filled$loggedEvents))
stopifnot(texts == c(5, 0, 0), factors == 0, filled$loggedEvents$meth == "constant")
R
