#!/usr/bin/env bash
# psych 2.2.9 for R: somebody who answered no question has a score, and it is the middle person's.
#
# scoreItems() fills in missing answers by the question's median unless it is told not to. It makes
# no difference whether one answer of many is missing or all of them: a person without any answer is
# scored like the others. With missing = FALSE there is a score fewer than there are people, and from
# that person on each score stands at the place of the one before.
#
# Seen: of five people the third answered nothing and has the score 3.67; with missing = FALSE there are
# four scores, and the third is the fourth person's.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-psych=2.2.9-1 <<'R'
answers <- data.frame(q1 = c(1, 5, NA, 4, 2), q2 = c(2, 4, NA, 5, 4), q3 = c(1, 5, NA, 3, 5))
keys <- list(trust = c("q1", "q2", "q3"))
scores <- as.vector(psych::scoreItems(keys, answers)$scores)
left <- as.vector(psych::scoreItems(keys, answers, missing = FALSE)$scores)
print(rowMeans(answers))
print(scores)
print(left)
stopifnot(length(scores) == 5, all.equal(scores[3], mean(c(3, 4, 4))))
stopifnot(length(left) == 4, all.equal(left, rowMeans(answers)[-3]))
R
