#!/usr/bin/env bash
# gretl 2022c: in a CSV file the number -999 is a missing value, -99 and -999.0 are not.
#
# Nothing has to be declared for it, and nothing is said. A loss of 999 francs is missing beside
# losses that are kept, and a code of -99 for a refusal is a figure like others. -9999 is missing, too.
#
# Seen, of -998, -999, -999.0, -9999 and -99: -998, missing, -999, missing, -99.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
debian_unpacked gretl=2022c-1 libgretl1=2022c-1
export HOME="$FOLDER" LD_LIBRARY_PATH="$FOLDER/root/usr/lib:$LD_LIBRARY_PATH"
printf '%s\n' person,gain 1,-998 2,-999 3,-999.0 4,-9999 5,-99 >people.csv
cat >gains.inp <<'S'
open people.csv --quiet
loop i=1..5 --quiet
  printf "gain %d: %g\n", i, gain[i]
endloop
S
gretlcli -b gains.inp 2>/dev/null | grep '^gain' | tee gains
[ "$(cut -d' ' -f3 gains | paste -sd' ')" = '-998 NA -999 NA -99' ]
