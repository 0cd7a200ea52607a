#!/usr/bin/env bash
# psych 2.2.9 for R: the ages "8", "10" and "9" become 2, 1 and 3 where texts are made numbers.
#
# char2numeric() is to make answers that came as texts into numbers for what needs them. Each column's
# texts are numbered in the order of letters: numbers that were read as texts, such as for one "refused"
# among them, lose their values, and the same answer has another number in another question.
#
# Seen: besides the ages, 2 is "disagree" in a question that was answered with "agree" and "disagree", and
# "strongly agree" in one that was answered with this and "agree".
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-psych=2.2.9-1 <<'R'
people <- data.frame(
  age = c("8", "10", "9"), first = c("disagree", "agree", "agree"),
  second = c("strongly agree", "agree", "agree")
)
seen <- psych::char2numeric(people, flag = FALSE)
print(seen)
stopifnot(seen$age == c(2, 1, 3), as.numeric(people$age) == c(8, 10, 9))
stopifnot(seen$first == c(2, 1, 1), seen$second == c(2, 1, 1))
R
