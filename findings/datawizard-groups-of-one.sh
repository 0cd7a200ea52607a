#!/usr/bin/env bash
# datawizard 0.6.5 for R: for the only person of a town somebody of another town is drawn, a second time.
#
# data_partition() draws by group. Of a group of one person it draws from the numbers 1 up to that person's row,
# as sample() of R does with a single number: the training part has a row more than it should, which belongs
# to another group and is mostly there already, and the person of the small group is in the test part.
#
# Seen, of 99 people of Bern and one of Chur: the parts have 101 rows with most of 20 seeds, one of them
# twice in the training part, and the person of Chur is in training in none.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-datawizard=0.6.5+dfsg-1 <<'R'
people <- data.frame(person = 1:100, town = rep(c("Bern", "Chur"), c(99, 1)))
seen <- sapply(1:20, function(seed) {
  parts <- datawizard::data_partition(people, proportion = 0.7, group = "town", seed = seed)
  training <- parts[[1]]
  c(rows = nrow(training) + nrow(parts$test), twice = sum(duplicated(training$person)),
    chur = sum(training$town == "Chur"))
})
print(seen)
stopifnot(seen["rows", ] == 100 + seen["twice", ], sum(seen["twice", ]) > 10, seen["chur", ] == 0)
R
