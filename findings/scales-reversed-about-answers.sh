#!/usr/bin/env bash
# psych 2.2.9, sjmisc 2.8.9 and datawizard 0.6.5 for R: a scale on which nobody chose an end is reversed
# about another middle.
#
# The end from which psych and datawizard count back is the largest answer that was given, unless the
# scale's ends are stated: the answer 1 of a scale from 1 to 5 becomes 4 in a sample where nobody
# chose 5. sjmisc exchanges the answers that occur, the smallest by the largest and so on, so that 2
# may stay 2. None of them warns.
#
# Seen, reversed:        psych and datawizard    sjmisc
#   1, 2, 4              4, 3, 1                 4, 2, 1
#   1, 2, 3, 4, 5        5, 4, 3, 2, 1           5, 4, 3, 2, 1
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-psych=2.2.9-1 r-cran-sjmisc=2.8.9-1 r-cran-datawizard=0.6.5+dfsg-1 <<'R'
reversed <- function(answers) cbind(
  psych = psych::reverse.code(-1, data.frame(answers))[, 1],
  sjmisc = sjmisc::rec(answers, rec = "rev"),
  datawizard = datawizard::reverse(answers)
)
some <- reversed(c(1, 2, 4))
all <- reversed(1:5)
print(some)
print(all)
stopifnot(some[, c("psych", "datawizard")] == c(4, 3, 1), some[, "sjmisc"] == c(4, 2, 1), all == 5:1)
stopifnot(psych::reverse.code(-1, data.frame(c(1, 2, 4)), mini = 1, maxi = 5) == c(5, 4, 2))
R
