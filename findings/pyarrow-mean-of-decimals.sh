#!/usr/bin/env bash
# pyarrow 26.0.1: the mean of the decimals 1 and 2 is 2.
#
# A mean of decimals has the decimal places of the column, so a mean age of 1.5 is 2, and a share of
# answers of 0.4 is 0. Quantiles, variances and means of the same numbers as integers are not
# rounded, and a standard deviation beside such a mean is that around the true one.
#
# Seen, of 0, 1, 0, 1 and 0 in decimal128(5, 0): mean 0, standard deviation 0.49; by groups the same.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyarrow==26.0.1 <<'P'
from decimal import Decimal
import pyarrow as pa
import pyarrow.compute as pc

answers = [0, 1, 0, 1, 0]
decimals = pa.array([Decimal(answer) for answer in answers], pa.decimal128(5, 0))
table = pa.table({"town": ["a"] * 5, "yes": decimals})
(group,) = table.group_by("town").aggregate([("yes", "mean"), ("yes", "stddev")]).to_pylist()
print("decimals", pc.mean(decimals), group)
print("integers", pc.mean(pa.array(answers)))
assert pc.mean(decimals).as_py() == group["yes_mean"] == 0
assert round(group["yes_stddev"], 2) == 0.49
assert pc.mean(pa.array(answers)).as_py() == 0.4
assert pc.mean(pa.array([Decimal(1), Decimal(2)], pa.decimal128(5, 0))).as_py() == 2
P
