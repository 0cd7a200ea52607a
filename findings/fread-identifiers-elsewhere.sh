#!/usr/bin/env bash
# data.table 1.14.8 to haven 2.5.1 and pyreadr 0.5.8: every long identifier is next to zero.
#
# fread reads whole numbers beyond 2147483647 as integer64: R keeps their bits in a decimal and
# knows by a class that it is none. write_sav, write_dta and pyreadr take the decimal: it is 0 as
# F8.2 shows it, and joins with no other file. write_xpt writes 0 for everybody. A missing
# identifier is -0, and counts as a person, where pyreadr reads it.
#
# Seen, of the identifiers 7560000000001, 7560000000002 and missing:
#   .sav, .dta, both without the missing one    3.735136e-311, 3.735136e-311 (as R shows them)
#   .xpt, likewise                              0, 0
#   pyreadr                                     the same, and -0.0
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-data.table=1.14.8+dfsg-1 r-cran-bit64=4.0.5-1 r-cran-haven=2.5.1-1 <<'R'
people <- data.table::fread(text = "person,age\n7560000000001,30\n7560000000002,40\n,50\n")
stopifnot(inherits(people$person, "integer64"))
saveRDS(people, "people.rds")
known <- people[1:2]
haven::write_sav(known, "people.sav")
haven::write_dta(known, "people.dta")
haven::write_xpt(known, "people.xpt")
seen <- list(
  sav = haven::read_sav("people.sav")$person, dta = haven::read_dta("people.dta")$person,
  xpt = haven::read_xpt("people.xpt")$person
)
str(seen)
stopifnot(seen$sav > 0, seen$sav < 1e-300, identical(format(seen$sav[1]), format(seen$sav[2])))
stopifnot(as.numeric(seen$dta) == as.numeric(seen$sav), seen$xpt == 0)
R
python_with pyreadr==0.5.8 pandas==3.1.1 numpy==2.4.6 <<'P'
import pyreadr

person = pyreadr.read_r("people.rds")[None]["person"]
print(person.tolist())
assert (person[:2] > 0).all() and (person[:2] < 1e-300).all()
assert str(person[2]) == "-0.0" and person.notna().all()
P
