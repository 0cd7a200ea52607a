#!/usr/bin/env bash
# prettyR 2.2 for R: three men and a woman of an SPSS file that foreign reads are counted as three women and a man.
#
# freq() counts codes in their order, and writes beside them the labels in the order in which they are kept.
# foreign keeps those of an SPSS file from the last to the first. A crosstabulation by the same package sorts
# them, and has the right ones; where a code without a label is among the answers, and a label without answers,
# the count of the one has the label of the other.
#
# Seen, of the codes 1, 1, 1 and 2 for man, man, man and woman: "woman" 3 and "man" 1; of 1, 1, 2 and 9 with
# labels for 1, 2 and 8, a refusal: one refusal, where nobody refused.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-prettyr=2.2-3-2 r-cran-foreign=0.8.84-1 r-cran-haven=2.5.1-1 <<'R'
options(warn = 2)
haven::write_sav(data.frame(sex = haven::labelled(c(1, 1, 1, 2), c(man = 1, woman = 2))), "people.sav")
sex <- suppressWarnings(foreign::read.spss("people.sav", use.value.labels = FALSE))$sex
answers <- structure(c(1, 1, 2, 9), value.labels = c(yes = 1, no = 2, refused = 8))
print(counted <- prettyR::freq(sex))
print(refused <- prettyR::freq(answers))
stopifnot(identical(as.numeric(sex), c(1, 1, 1, 2)), attr(sex, "value.labels")[["man"]] == 1)
stopifnot(counted[[1]][["woman"]] == 3, counted[[1]][["man"]] == 1, refused[[1]][["refused"]] == 1)
R
