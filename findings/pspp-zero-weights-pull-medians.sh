#!/usr/bin/env bash
# PSPP 1.6.2: people with weight 0 are ignored, but pull the median.
#
# FREQUENCIES says that it ignores cases with weight 0, and counts none of them. Where a percentile
# falls between two values it is interpolated towards the next value that is there at all, though
# only people with weight 0 have it. EXAMINE states 26 both times.
#
# Seen: the median of 1, 2, 50 and 100 is 4.50 beside a person of weight 0 with 7, and 26.00
# without that person.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
debian_unpacked pspp=1.6.2-2
median() {
  printf '%s\n' 'DATA LIST LIST /x w.' 'BEGIN DATA' '1 1' '2 1' '50 1' '100 1' "$@" 'END DATA.' \
    'WEIGHT BY w.' 'FREQUENCIES x /STATISTICS=MEDIAN.' >median.sps
  pspp median.sps | sed -n 's/^|Median *| *\([0-9.]*\)|$/\1/p'
}
with="$(median '7 0')"
without="$(median)"
echo "with: $with, without: $without"
[ "$with" = 4.50 ] && [ "$without" = 26.00 ]
