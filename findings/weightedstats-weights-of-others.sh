#!/usr/bin/env bash
# weightedstats 0.4.1: once the plain median was asked for, the weighted one uses the weights of others.
#
# median() sorts the caller's list itself, and so does weighted_median() without weights. The list of weights
# stays as it was, so that from then on every weighted figure joins ages to the weights of other people.
#
# Seen, of the ages 50, 20, 40 and 30 with weights 3, 1, 1 and 2: a weighted median of 40 and a weighted mean
# of 38.6; after the plain median was asked for 30 and 32.9.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with weightedstats==0.4.1 <<'P'
import weightedstats as ws

ages, weights = [50, 20, 40, 30], [3, 1, 1, 2]
before = ws.weighted_median(ages, weights=weights), ws.weighted_mean(ages, weights=weights)
assert ws.median(ages) == 35
after = ws.weighted_median(ages, weights=weights), ws.weighted_mean(ages, weights=weights)
print(before, after, ages)
assert before[0] == 40 and after[0] == 30
assert abs(before[1] - 270 / 7) < 1e-9 and abs(after[1] - 230 / 7) < 1e-9
P
