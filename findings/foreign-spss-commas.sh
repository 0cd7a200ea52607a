#!/usr/bin/env bash
# foreign 0.8-84 to PSPP 1.6.2: a comma in one person's town takes values from those below.
#
# write.foreign() writes a text file and the syntax by which SPSS reads it. Texts stand in it
# without quotes between commas, so that a comma within a text is one value more. SPSS reads in
# free format, where a case goes on in the next line, so what follows moves by one. Dates and
# logical values are written as texts and declared as numbers: all of them are missing.
#
# Seen, of people from Bern (30), St. Gallen, Ost (40) and Chur (50): Bern (30), St. Gallen
# (missing) and a town "40" (missing); nobody from Chur.
command -v Rscript >/dev/null || { echo "R is needed" >&2; exit 2; }
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
debian_unpacked r-cran-foreign=0.8.84-1 pspp=1.6.2-2
libraries="$LD_LIBRARY_PATH"
unset LD_LIBRARY_PATH
export R_LIBS="$FOLDER/root/usr/lib/R/site-library:$FOLDER/root/usr/lib/R/library"
Rscript --vanilla -e '
  people <- data.frame(
    town = c("Bern", "St. Gallen, Ost", "Chur"), age = c(30, 40, 50), smokes = c(TRUE, FALSE, TRUE),
    born = as.Date(c("1990-01-02", "1980-01-02", "1970-01-02"))
  )
  foreign::write.foreign(people[c("town", "age")], "a.txt", "a.sps", package = "SPSS")
  foreign::write.foreign(people[c("age", "smokes", "born")], "b.txt", "b.sps", package = "SPSS")'
export LD_LIBRARY_PATH="$libraries"
for table in a b; do
  echo 'LIST.' >>"$table.sps"
  pspp -O format=csv "$table.sps" | sed -n '/^Table: Data List/,$p' | tee "$table.csv"
done
[ "$(tail -n +3 a.csv | tr -d ' ' | paste -sd' ')" = 'Bern,30.00 St.Gallen,. 40,.' ]
[ "$(tail -n +3 b.csv | tr -d ' ' | paste -sd' ')" = '30.00,.,. 40.00,.,. 50.00,.,.' ]
