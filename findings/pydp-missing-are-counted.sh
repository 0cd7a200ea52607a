#!/usr/bin/env bash
# python-dp 1.1.5: people without an income are in the count, and not in the mean and the sum.
#
# Algorithms of PyDP take a list of numbers. A missing one (NaN) is left out of means and sums, but
# counts: with half of the incomes missing, mean times count is twice the sum.
#
# Seen, of 100 incomes of 50 and 100 missing ones at ε = 50: count 200, mean 50, sum 5,000.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with python-dp==1.1.5 <<'P'
from pydp.algorithms.laplacian import BoundedMean, BoundedSum, Count

incomes = [50.0] * 100 + [float("nan")] * 100
bounds = {"epsilon": 50.0, "lower_bound": 0.0, "upper_bound": 100.0, "dtype": "float"}
count = Count(epsilon=50.0, dtype="float").quick_result(incomes)
mean, total = BoundedMean(**bounds).quick_result(incomes), BoundedSum(**bounds).quick_result(incomes)
print(count, mean, total)
assert 195 <= count <= 205 and 49 < mean < 51 and 4_900 < total < 5_100
P
