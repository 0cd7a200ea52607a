#!/usr/bin/env bash
# datawizard 0.6.5 for R: people who stand below a missing value are taken for the next one above.
#
# data_match() chooses the rows that are like a given one. Rows where a value is missing are left out before
# they are compared, and the numbers of those that are alike are then taken for numbers of the whole table:
# each missing value moves the choice up by a row, to other people, with no warning. With
# drop_na = FALSE, and by data_filter(), the right ones are chosen.
#
# Seen, of people from Bern, unknown, Chur and Chur: those from Chur are the second and third, one of them of
# an unknown town.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-datawizard=0.6.5+dfsg-1 <<'R'
people <- data.frame(person = 1:4, town = c("Bern", NA, "Chur", "Chur"))
matched <- datawizard::data_match(people, data.frame(town = "Chur"))
kept <- datawizard::data_match(people, data.frame(town = "Chur"), drop_na = FALSE)
filtered <- datawizard::data_filter(people, town == "Chur")
print(list(matched, kept, filtered))
stopifnot(matched$person == 2:3, is.na(matched$town[1]), kept$person == 3:4)
stopifnot(filtered$person == 3:4)
stopifnot(datawizard::data_match(people[-2, ], data.frame(town = "Chur"))$person == 3:4)
R
