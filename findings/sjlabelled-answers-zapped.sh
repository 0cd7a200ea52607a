#!/usr/bin/env bash
# sjlabelled 1.2.0 beside haven 2.5.1 for R: zap_labels() of one removes labels, of the other the answers.
#
# Both packages have functions for labelled answers, some under the same name; the one loaded later
# is called. haven's zap_labels() drops the labels and keeps all values, sjlabelled's makes each
# value that has a label missing. as_label() makes each value without a label missing, where
# haven's as_factor() keeps it: ages, of which only the code for refusals is labelled, are gone.
#
# Seen, of the answers 1 (no), 2 (yes), 9 (refused) and 40:
#   haven         zap_labels 1, 2, 9, 40           as_factor no, yes, refused, 40
#   sjlabelled    zap_labels missing × 3, 40       as_label no, yes, refused, missing
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-sjlabelled=1.2.0-1 r-cran-sjmisc=2.8.9-1 r-cran-haven=2.5.1-1 <<'R'
answers <- haven::labelled(c(1, 2, 9, 40), c(no = 1, yes = 2, refused = 9))
kept <- haven::zap_labels(answers)
lost <- sjlabelled::zap_labels(answers)
texts <- data.frame(haven = haven::as_factor(answers), sjlabelled = sjlabelled::as_label(answers))
print(list(kept, as.numeric(lost), texts))
stopifnot(identical(kept, c(1, 2, 9, 40)), identical(as.numeric(lost), c(NA, NA, NA, 40)))
stopifnot(identical(as.character(texts$haven), c("no", "yes", "refused", "40")))
stopifnot(identical(as.character(texts$sjlabelled), c("no", "yes", "refused", NA)))
R
