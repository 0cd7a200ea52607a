#!/usr/bin/env bash
# GNU datamash 1.7: of a sum of two 16-digit numbers the last two digits are lost, unique keeps them.
#
# Results are printed with 14 significant digits, whole numbers too: identifiers under max and min,
# and totals in cents from a trillion on. What the same command groups by, or finds unique, is a text.
# A code with letters like 0x10 is a number: 16.
#
# Seen:
#   max of 1234567890123456 and 1234567890123457    1.2345678901235e+15
#   sum of 0x10 and 10                              26
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
debian_unpacked datamash=1.7-2
seen="$(printf '%s\n' 1234567890123456 1234567890123457 | datamash max 1 sum 1 unique 1)"
codes="$(printf '%s\n' 0x10 10 | datamash sum 1)"
echo "$seen, $codes"
[ "$seen" = "$(printf '%s\t%s\t%s' 1.2345678901235e+15 2.4691357802469e+15 \
  1234567890123456,1234567890123457)" ] && [ "$codes" = 26 ]
