#!/usr/bin/env bash
# pyreadr 0.5.8: stays of 2 hours and of 2 days in R are both 2.
#
# Where R subtracts two times, it picks the unit by the shortest difference of the column, from
# seconds to days, and keeps it as an attribute. The attribute is not read, so columns of two files
# are in two units: one short stay makes all of a file's stays hours. haven's write_sav and
# write_dta leave the unit out as well.
#
# Seen: stays of 2 and 3 days are 2 and 3; beside one of 2 hours they are 2, 48 and 72.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-haven=2.5.1-1 <<'R'
came <- as.POSIXct("2020-01-02 08:00", tz = "UTC")
a <- data.frame(stay = came + c(2, 3) * 86400 - came)
b <- data.frame(stay = came + c(2 / 24, 2, 3) * 86400 - came)
stopifnot(units(a$stay) == "days", units(b$stay) == "hours")
saveRDS(a, "a.rds"); saveRDS(b, "b.rds")
haven::write_sav(a, "a.sav"); haven::write_sav(b, "b.sav")
R
python_with pyreadr==0.5.8 pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 <<'P'
import pyreadr
import pyreadstat

for name, stays in (("a", [2, 3]), ("b", [2, 48, 72])):
    read = pyreadr.read_r(f"{name}.rds")[None]["stay"]
    spss, about = pyreadstat.read_sav(f"{name}.sav")
    print(name, read.dtype, read.tolist(), spss["stay"].tolist(), about.original_variable_types)
    assert read.dtype == float and read.tolist() == stays
    assert spss["stay"].tolist() == stays and about.original_variable_types["stay"].startswith("F")
P
