#!/usr/bin/env bash
# agate 1.14.2: amounts in two currencies, and shares beside counts, become plain numbers.
#
# Signs of currencies and of per cent are left out when a column is read as numbers, and a column
# may mix them: $5 and €6 are 5 and 6, and 10% beside 10 is the same number twice.
#
# Seen: 5, 6, 7 and 10, 10, 20.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with agate==1.14.2 <<'P'
import io

import agate

table = agate.Table.from_csv(io.StringIO("paid,part\n$5,10%\n€6,10\n7,20\n"))
found = {name: [int(one) for one in table.columns[name].values()] for name in ("paid", "part")}
print(found)
assert found == {"paid": [5, 6, 7], "part": [10, 10, 20]}
P
