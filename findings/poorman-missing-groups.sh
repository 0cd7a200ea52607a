#!/usr/bin/env bash
# poorman 0.2.6 for R: people whose town is missing are lost, or lose their values, once towns are groups.
#
# The package has dplyr's functions under their names. Where dplyr has a group for a missing town,
# summarise(), count() and slice_head() of poorman leave these people out without a word, and
# mutate() within groups keeps their row and makes every value of it missing.
#
# Seen, of Anna (Bern) and Ben (no town, 38 years): count has Bern alone; after mutate Ben's row has
# neither a name nor an age.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-poorman=0.2.6+dfsg-1 r-cran-dplyr=1.0.10-1 <<'R'
people <- data.frame(name = c("Anna", "Ben"), town = c("Bern", NA), age = c(41, 38))
counted <- poorman::count(people, town)
means <- poorman::summarise(poorman::group_by(people, town), age = mean(age))
first <- poorman::slice_head(poorman::group_by(people, town), n = 1)
sized <- as.data.frame(poorman::mutate(poorman::group_by(people, town), people = poorman::n()))
print(as.data.frame(counted))
print(sized)
stopifnot(identical(counted$town, "Bern"), nrow(means) == 1, nrow(first) == 1)
stopifnot(nrow(sized) == 2, identical(sized$name, c("Anna", NA)), identical(sized$age, c(41, NA)))
stopifnot(nrow(dplyr::count(people, town)) == 2)
stopifnot(dplyr::mutate(dplyr::group_by(people, town), people = dplyr::n())$age == c(41, 38))
R
