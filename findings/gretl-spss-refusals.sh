#!/usr/bin/env bash
# gretl 2022c: incomes that are declared as refused in an SPSS file are incomes.
#
# A .sav file says which codes are missing values, and PSPP leaves them out of figures. gretl reads
# the file's numbers and labels, and takes the codes for amounts, without a word.
#
# Seen, of the incomes 1000, 2000, -9 and -8, the last two declared missing: mean 1500 (PSPP), 745.75
# (gretl, no value missing).
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
debian_unpacked gretl=2022c-1 libgretl1=2022c-1 pspp=1.6.2-2
export HOME="$FOLDER" LD_LIBRARY_PATH="$FOLDER/root/usr/lib:$LD_LIBRARY_PATH"
export GRETL_PLUGIN_PATH="$FOLDER/root/usr/lib/gretl-gtk3/"
cat >people.sps <<'S'
DATA LIST LIST /income.
BEGIN DATA
1000
2000
-9
-8
END DATA.
VALUE LABELS income -9 'refused' -8 'not asked'.
MISSING VALUES income (-9, -8).
SAVE OUTFILE='people.sav'.
DESCRIPTIVES income /STATISTICS=MEAN.
S
pspp -O format=csv people.sps | grep '^income,2' | tee pspp
printf '%s\n' 'open people.sav --quiet' \
  'printf "mean %g, missing %d\n", mean(income), sum(missing(income))' >people.inp
gretlcli -b people.inp 2>/dev/null | grep '^mean' | tee gretl
[ "$(cat pspp)" = 'income,2,1500.00' ]
[ "$(cat gretl)" = 'mean 745.75, missing 0' ]
