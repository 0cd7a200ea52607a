#!/usr/bin/env bash
# wquantiles 0.6: the median of 1, 2 and 100, where 100 counts twice, is 34.67 and not 51.
#
# A value with weight 2 is not like two records of it: the weighted quantile is interpolated between
# values at the middles of their weights. A missing value counts as the largest one.
#
# Seen: 34.67 beside 51 for the four records, and 2 for the median of 1, 2 and a missing value.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with wquantiles==0.6 numpy==1.26.4 <<'P'
import numpy as np
import wquantiles

weighted = wquantiles.median(np.array([1.0, 2.0, 100.0]), np.array([1.0, 1.0, 2.0]))
records = wquantiles.median(np.array([1.0, 2.0, 100.0, 100.0]), np.ones(4))
missing = wquantiles.median(np.array([1.0, 2.0, np.nan]), np.ones(3))
print(weighted, records, missing)
assert abs(weighted - (2 + 98 / 3)) < 1e-9
assert records == 51
assert missing == 2
P
