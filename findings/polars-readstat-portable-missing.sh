#!/usr/bin/env bash
# polars-readstat 0.25.0: refusals in an SPSS portable file are answers; in a .sav file they aren't.
#
# What SPSS declares as missing is null in a .sav file. Of the same data in a .por file the codes
# come as values, also where informative_nulls asks for them apart, and texts have trailing blanks,
# so that they don't equal those of the .sav file.
#
# Seen, of 1, 2 and 99, which is declared missing:
#   .sav    mean 1.5, town "Bern"
#   .por    mean 34, town "Bern" and four blanks
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
debian_unpacked pspp=1.6.2-2
printf '%s\n' 'DATA LIST LIST /children (F2) town (A8).' 'BEGIN DATA' '1 Bern' '2 Chur' '99 Bern' \
  'END DATA.' 'MISSING VALUES children (99).' \
  'SAVE OUTFILE="x.sav".' 'EXPORT OUTFILE="x.por".' >x.sps
pspp x.sps >/dev/null
python_with polars-readstat==0.25.0 polars==2.1.0 pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 <<'P'
import polars_readstat
import pyreadstat

sav = polars_readstat.read_readstat("x.sav")
por = polars_readstat.read_readstat("x.por")
print(sav.rows(), por.rows())
assert sav["children"].mean() == 1.5 and por["CHILDREN"].mean() == 34
assert sav["town"].to_list() == ["Bern", "Chur", "Bern"]
assert por["TOWN"].to_list() == ["Bern    ", "Chur    ", "Bern    "]
by_pyreadstat = pyreadstat.read_por("x.por")[0]
assert by_pyreadstat["CHILDREN"].mean() == 1.5 and by_pyreadstat["TOWN"][0] == "Bern"
P
