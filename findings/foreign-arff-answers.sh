#!/usr/bin/env bash
# foreign 0.8.84 for R: an ARFF file's order of answers is lost, and people beside an apostrophe.
#
# An ARFF file states the answers that there may be, in their order. read.arff() takes those that somebody gave, in the order
# of the alphabet. A text with an apostrophe is written as the format has it, and hides lines from the reader, which warns
# of the file's last line; logical values are written as TRUE in a column of numbers, which it refuses.
#
# Seen, of "low", "middle", "high" where nobody is in the middle: "high", "low"; of "x", "it's" and "y": "y".
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-foreign=0.8.84-1 <<'R'
library(foreign)
back <- function(table) {
  write.arff(table, "table.arff")
  suppressWarnings(read.arff("table.arff"))
}
answers <- factor(c("low", "high", "low"), c("low", "middle", "high"))
found <- back(data.frame(answers))$answers
texts <- back(data.frame(text = c("x", "it's", "y")))$text
logical <- try(back(data.frame(smokes = c(TRUE, FALSE))), silent = TRUE)
print(levels(found))
print(texts)
print(logical)
write.arff(data.frame(answers), "table.arff")
stopifnot(any(grepl("{'low','middle','high'}", readLines("table.arff"), fixed = TRUE)))
stopifnot(identical(levels(found), c("high", "low")), inherits(logical, "try-error"))
stopifnot(identical(texts, "y"))
R
