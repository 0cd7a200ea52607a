#!/usr/bin/env bash
# miller 6.6.0: of amounts 500, 0020 and 3 the sum is 503, the count 3 and the mean 251.5.
#
# A whole number with leading zeros is a text, as its manual says. Sums and means leave it out
# without a word, but counts don't, so the mean is not the sum by the count. It is sorted before all
# numbers as the largest one, and int() makes 16 of it.
#
# Seen: 503,251.5,3 and, sorted from the largest down, 0020 500 3, and 16 for int.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
debian_unpacked miller=6.6.0-2+b3
printf 'amount\n500\n0020\n3\n' >amounts.csv
sums="$(mlr --icsv --ocsv --headerless-csv-output stats1 -a sum,mean,count -f amount amounts.csv)"
sorted="$(mlr --icsv --onidx sort -nr amount amounts.csv | xargs)"
whole="$(mlr --icsv --onidx filter 'NR == 2' then put '$amount = int($amount)' amounts.csv)"
echo "$sums; $sorted; $whole"
[ "$sums" = 503,251.5,3 ] && [ "$sorted" = "0020 500 3" ] && [ "$whole" = 16 ]
