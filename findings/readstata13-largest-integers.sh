#!/usr/bin/env bash
# readstata13 0.10.1: the identifier 2147483622 becomes the missing value .a of Stata.
#
# Stata's largest long integer is 2147483620; the numbers above it stand for its missing values.
# R's integers go to 2147483647, and are written as they are. With compress=TRUE decimals that
# would be exact become long integers too. haven refuses such integers, and pandas writes them as
# decimals.
#
# Seen, of 2147483620, 2147483621, 2147483622 and 2147483647:
#   integers                   2147483620, ., .a, .z
#   decimals, compress=TRUE    likewise
#   decimals                   as they are
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-readstata13=0.10.1-1 <<'R'
people <- data.frame(person = c(2147483620L, 2147483621L, 2147483622L, 2147483647L))
people$decimal <- as.numeric(people$person)
readstata13::save.dta13(people, "plain.dta")
readstata13::save.dta13(people, "compressed.dta", compress = TRUE)
again <- readstata13::read.dta13("plain.dta")
print(again)
stopifnot(is.na(again$person) == c(FALSE, TRUE, TRUE, TRUE))
R
python_with pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 <<'P'
import pandas as pd
import pyreadstat

largest = 2_147_483_620
plain = pyreadstat.read_dta("plain.dta", user_missing=True)[0]
compressed = pyreadstat.read_dta("compressed.dta", user_missing=True)[0]
print(plain, compressed, sep="\n")
for column in (plain["person"], compressed["person"], compressed["decimal"]):
    assert column.tolist()[:1] + column.tolist()[2:] == [largest, "a", "z"] and pd.isna(column[1])
assert plain["decimal"].tolist() == [largest, largest + 1, largest + 2, largest + 27]
P
