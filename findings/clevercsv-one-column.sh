#!/usr/bin/env bash
# clevercsv 0.8.5: a file of one column is cut at the spaces or commas within its values.
#
# A table of one column has no delimiter. Where most values hold one space, the space is found to
# be it, and first names and surnames come as two columns, with a header of one.
#
# Seen: the delimiter ' '.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with clevercsv==0.8.5 <<'P'
import clevercsv

found = clevercsv.Sniffer().sniff("name\nAnna Berg\nJon Holm\nEva Lind\n").delimiter
print(repr(found))
assert found == " "
P
