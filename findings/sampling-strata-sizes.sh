#!/usr/bin/env bash
# sampling 2.9 for R: from the same table in another order, 2 men and 4 women are drawn, not 4 and 2.
#
# strata() draws as many people from each group as was asked for. Sizes belong to groups in the
# order in which groups first stand in the table, not in that of their names, by which table() and
# tapply() give sizes, and can't be named.
#
# Seen, of 6 women and 6 men with sizes 2 and 4: 2 women and 4 men where a woman stands first, 4
# women and 2 men where a man does, also if the sizes are named.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-sampling=2.9-2 <<'R'
set.seed(1)
drawn <- function(sexes) {
  people <- data.frame(sex = sexes)
  found <- sampling::strata(people, "sex", size = c(f = 2, m = 4), method = "srswor")
  table(sampling::getdata(people, found)$sex)
}
seen <- list(drawn(rep(c("f", "m"), 6)), drawn(rep(c("m", "f"), 6)))
print(seen)
stopifnot(seen[[1]][c("f", "m")] == c(2, 4), seen[[2]][c("f", "m")] == c(4, 2))
R
