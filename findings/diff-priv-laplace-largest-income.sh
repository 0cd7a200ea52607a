#!/usr/bin/env bash
# diff-priv-laplace-python 1.0.5: the largest income at epsilon = 1 is told to within a few francs.
#
# One person can move a maximum, a minimum or a median by any amount, so that noise for them must be as wide
# as the incomes themselves. Here it is always that of a count, as if nobody moved them by more than 1: what
# is private depends on the unit, and of an income in francs little more than the last digit is hidden.
# The sum, which is given bounds, has noise as wide as these.
#
# Seen, of 999 incomes up to 100,000 and one of 9,812,345, in 1,000 maxima at epsilon = 1: all between
# 9,812,330 and 9,812,360. The median's noise has the scale 1, that of a sum up to 10,000,000 this.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with diff-priv-laplace-python==1.0.5 numpy==2.4.6 <<'P'
import numpy as np
from diffpriv_laplace import DiffPrivLaplaceMechanism, DiffPrivStatistics

np.random.seed(1)
incomes = [*np.linspace(20_000, 100_000, 999), 9_812_345.0]
maxima = [float(DiffPrivStatistics.max(incomes, 1.0)) for _ in range(1000)]
median = DiffPrivLaplaceMechanism.create_median_anonymizer(1.0)
total = DiffPrivLaplaceMechanism.create_sum_anonymizer(1.0, 0, 10_000_000)
print(min(maxima), max(maxima), median.scale, total.scale)
assert all(abs(value - 9_812_345) < 15 for value in maxima)
assert median.scale == 1 and total.scale == 10_000_000
P
