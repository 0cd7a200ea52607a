#!/usr/bin/env bash
# microagg1d 0.4.0: beside a missing value, an income of 3 is averaged with those of 50.
#
# Values are put into groups of at least k, so that the groups are narrow. A missing value counts
# as a member, and the other groups are no longer the narrow ones either; nothing is said.
#
# Seen, of 1, 2, 3, 2, 50, 51, 52 with k = 3:
#   without a missing value    1, 2, 3, 2 | 50, 51, 52
#   with one                   1, 2, 2 | 3, 50, 51, 52 and the missing one
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with microagg1d==0.4.0 numpy==2.4.6 <<'P'
import numpy as np
from microagg1d import univariate_microaggregation

incomes = np.array([1, 2, 3, 2, 50, 51, 52.0])
without = univariate_microaggregation(incomes, k=3).tolist()
beside = univariate_microaggregation(np.append(incomes, np.nan), k=3).tolist()
print(without, beside)
assert without == [0, 0, 0, 0, 1, 1, 1]
assert beside == [0, 0, 1, 0, 1, 1, 1, 1]
P
