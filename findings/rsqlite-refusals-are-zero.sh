#!/usr/bin/env bash
# RSQLite 2.2.20 for R: an income that was refused, and stands as a text, is an income of 0.
#
# A column of SQLite may hold values of several types. RSQLite takes the type of the first one that
# isn't missing; texts among numbers are 0 then, which a warning calls coercing. Where a text
# stands first, all are texts: what comes depends on the order of rows.
#
# Seen, of incomes 1000, "refused" and missing:
#   number first    1000, 0, missing
#   text first      "refused", "1000", missing
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-rsqlite=2.2.20-1 <<'R'
library(RSQLite)
people <- dbConnect(SQLite(), ":memory:")
dbExecute(people, "CREATE TABLE people (income)")
dbExecute(people, "INSERT INTO people VALUES (1000), (\"refused\"), (NULL)")
incomes <- dbGetQuery(people, "SELECT income FROM people")$income
turned <- dbGetQuery(people, "SELECT income FROM people ORDER BY typeof(income) DESC")$income
print(list(incomes, turned))
stopifnot(is.numeric(incomes), incomes[1:2] == c(1000, 0), is.na(incomes[3]))
stopifnot(identical(sort(turned), c("1000", "refused")))
R
