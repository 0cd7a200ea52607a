#!/usr/bin/env bash
# rsample 1.1.1 for R: of five people of a small town two to five come to the training part, not four.
#
# Strata with less than a tenth of the rows are put together with others, and then drawn as if the
# stratum did not exist: with one large and one small town nothing is stratified. Nothing is said of it;
# with pool = 0, which draws from each town by itself, there is a warning.
#
# Seen, of 95 people of Bern and 5 of Chur in 200 samples of 80 %: 2 to 5 of Chur; with pool = 0
# always 4.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-rsample=1.1.1+dfsg-1 <<'R'
people <- data.frame(town = rep(c("Bern", "Chur"), c(95, 5)), age = 1:100)
from_chur <- function(...) sapply(1:200, function(seed) {
  set.seed(seed)
  sum(rsample::training(rsample::initial_split(people, 0.8, strata = "town", ...))$town == "Chur")
})
pooled <- from_chur()
apart <- suppressWarnings(from_chur(pool = 0))
print(table(pooled))
print(table(apart))
stopifnot(identical(range(pooled), c(2L, 5L)), apart == 4)
R
