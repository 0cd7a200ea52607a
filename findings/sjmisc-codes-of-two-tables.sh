#!/usr/bin/env bash
# sjmisc 2.8.9 for R: women of a second table become men where its codes are the other way round.
#
# add_rows() puts tables below each other and keeps the labels of columns. Where code 1 is a man in the first table and
# a woman in the second, codes stay as they are and have the labels of the first, with no warning.
#
# Seen, of a man and a woman in each of two tables with opposite codes: "m", "f", "m", "f" are "m", "f", "f", "m".
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-sjmisc=2.8.9-1 r-cran-sjlabelled=1.2.0-1 <<'R'
options(warn = 2)
coded <- function(codes, ...) data.frame(sex = sjlabelled::set_labels(codes, labels = c(...)))
first <- coded(c(1, 2), m = 1, f = 2)
second <- coded(c(2, 1), f = 1, m = 2)
apart <- c(sjlabelled::as_character(first$sex), sjlabelled::as_character(second$sex))
together <- sjlabelled::as_character(sjmisc::add_rows(first, second)$sex)
print(rbind(apart, together))
stopifnot(apart == c("m", "f", "m", "f"), together == c("m", "f", "f", "m"))
R
