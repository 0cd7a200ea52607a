#!/usr/bin/env bash
# pyarrow 26.0.1: casting a decimal to a float gives other digits than casting its text.
#
# 1004.81 becomes 1004.8100000000001, which is not the float nearest to it. By way of text it is.
# So an amount of money changes where a decimal column of Parquet is read as floats.
#
# Seen: 116 of 1,000 are not the nearest float, first: 1004.81 1004.8100000000001.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyarrow==26.0.1 <<'P'
from decimal import Decimal
import pyarrow as pa

amounts = pa.array([Decimal(100_000 + 37 * place).scaleb(-2) for place in range(1_000)], pa.decimal128(12, 2))
direct = amounts.cast(pa.float64()).to_pylist()
by_text = amounts.cast(pa.string()).cast(pa.float64()).to_pylist()
nearest = [float(amount) for amount in amounts.to_pylist()]
off = [(amount, found) for amount, found, near in zip(amounts.to_pylist(), direct, nearest) if found != near]
print(len(off), "of 1,000 are not the nearest float, first:", *off[0])
assert by_text == nearest
assert off, "the cast is exact now"
P
