#!/usr/bin/env bash
# eeprivacy 0.0.5: one large income makes a clamped mean the upper bound, with certainty.
#
# A clamped mean cuts every value at the bounds first: then one person moves it by little, for which there
# is noise. PrivateClampedMean cuts the noisy mean, not the values. Whether one very rich person is in the
# table is told by a mean at the bound, every time; PrivateClampedSum beside it cuts the values.
#
# Seen, of 99 incomes of 10 and bounds of 0 and 100 at epsilon = 1, in 1,000 releases each: never 100;
# with one income of 20,000 more always 100, though the mean of the values cut at 100 is 10.9.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with eeprivacy==0.0.5 numpy==2.4.6 scipy==1.17.1 <<'P'
import numpy as np
from eeprivacy.operations import PrivateClampedMean, PrivateClampedSum

incomes, rich = [10.0] * 99, [10.0] * 99 + [20_000.0]


def releases(operation, values):
    made = operation(lower_bound=0, upper_bound=100)
    return [made.execute(values=values, epsilon=1) for _ in range(1000)]


without, with_one = releases(PrivateClampedMean, incomes), releases(PrivateClampedMean, rich)
print(np.mean(without), set(with_one), np.clip(rich, 0, 100).mean())
assert max(without) < 100 and set(with_one) == {100}
assert abs(np.median(releases(PrivateClampedSum, rich)) / 100 - 10.9) < 1
P
