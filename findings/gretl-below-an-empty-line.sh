#!/usr/bin/env bash
# gretl 2022c: people below an empty line of a CSV file are not read.
#
# Where two files were put together there is often an empty line between them. Other readers skip it;
# to gretl the table ends there, without a word and with the exit code of success.
#
# Seen: of three people, the last one below an empty line, gretl has two.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
debian_unpacked gretl=2022c-1 libgretl1=2022c-1
export HOME="$FOLDER" LD_LIBRARY_PATH="$FOLDER/root/usr/lib:$LD_LIBRARY_PATH"
printf '%s\n' person,age 1,41 2,38 '' 3,25 >people.csv
printf '%s\n' 'open people.csv --quiet' 'printf "people: %d, mean age: %g\n", $nobs, mean(age)' >people.inp
gretlcli -b people.inp 2>/dev/null | grep '^people' | tee people
[ "$(cat people)" = 'people: 2, mean age: 39.5' ]
