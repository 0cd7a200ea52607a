#!/usr/bin/env bash
# csvw 4.1.1: with a comma as the group separator, 1,5 is read as 15.
#
# Where a column's description states the group separator, it is taken out wherever it stands, even
# where no group of three digits follows. With a pattern beside it, such a value is refused.
#
# Seen: 1,5 is 15 and 12.34,50, with points between groups, 1234.50.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with csvw==4.1.1 <<'P'
from decimal import Decimal

from csvw.metadata import Datatype

comma = Datatype.fromvalue({"base": "decimal", "format": {"groupChar": ","}})
point = Datatype.fromvalue({"base": "decimal", "format": {"groupChar": ".", "decimalChar": ","}})
read = [comma.parse("1,5"), point.parse("12.34,50")]
print(read)
assert read == [Decimal("15"), Decimal("1234.50")]
P
