#!/usr/bin/env bash
# daft 0.6.14: the identifier 2147483653 becomes -2147483643, and an unknown income 0.
#
# Integers that are cast to a narrower type keep their last bits. Decimals beyond the type become
# its largest value, and NaN 0. Texts that can't be read are null, where one blank before the
# digits is enough. None of them is an error.
#
# Seen, cast to int32 or int64:
#   2147483653, -1099511627776    -2147483643, 0
#   1e20, NaN                     2147483647, 0
#   "12", " 12", "1e3"            12, null, null
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with daft==0.6.14 pyarrow==26.0.1 <<'P'
import daft
from daft import DataType, col

narrow, wide = DataType.int32(), DataType.int64()
found = []
for values, to in (
    ([2_147_483_653, -(2**40)], narrow),
    ([1e20, float("nan")], narrow),
    (["12", " 12", "1e3"], wide),
):
    found.append(daft.from_pydict({"x": values}).select(col("x").cast(to)).to_pydict()["x"])
    print(values, found[-1])
assert found == [[-2_147_483_643, 0], [2_147_483_647, 0], [12, None, None]]
P
