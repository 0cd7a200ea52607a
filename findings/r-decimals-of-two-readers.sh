#!/usr/bin/env bash
# R 4.2.2, readr 2.1.4, data.table 1.14.8: 45.2147945 from one file is not 45.2147945 from another.
#
# read.csv, fread and R's own source text make one number of it, readr and jsonlite its neighbour,
# which is the nearest one there is. Tables that were read in both ways don't join on it, and == is
# false. Of coordinates with 7 decimals this happens to about one in 3,000.
#
# Seen:
#   read.csv, fread, 45.2147945 typed    45.214794499999996
#   readr, jsonlite                      45.214794500000004
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-readr=2.1.4-1 r-cran-data.table=1.14.8+dfsg-1 r-cran-jsonlite=1.8.4+dfsg-1 <<'R'
text <- "place,n\n45.2147945,1\n"
seen <- c(
  read.csv = read.csv(text = text)$place, fread = data.table::fread(text)$place,
  typed = 45.2147945, readr = readr::read_csv(I(text), show_col_types = FALSE)$place,
  jsonlite = jsonlite::fromJSON("[45.2147945]")
)
print(sprintf("%s %.17g", names(seen), seen))
one <- seen[c("read.csv", "fread", "typed")]
other <- seen[c("readr", "jsonlite")]
stopifnot(one == one[1], other == other[1], one[1] < other[1])
joined <- merge(read.csv(text = text), readr::read_csv(I(text), show_col_types = FALSE), "place")
stopifnot(nrow(joined) == 0)
many <- sprintf("%.7f", seq(-179.9999999, 180, length.out = 20000))
exact <- jsonlite::fromJSON(paste0("[", paste(many, collapse = ","), "]"))
print(sum(as.numeric(many) != exact))
R
