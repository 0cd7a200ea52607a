#!/usr/bin/env bash
# microdf-python 1.5.12: groups are weighted for mean(), and not for agg({"income": "mean"}).
#
# A table with weights gives weighted means, by group too. Asked for by name, the mean of a group is
# that of its records, without a warning, though the same words weigh the whole table. So are
# numpy's average and median, and the counts of value_counts, where count() is the sum of weights.
#
# Seen: 1.67 and 1.5 for the mean of 1 and 2 with weights of 1 and 2.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with microdf-python==1.5.12 pandas==3.1.1 numpy==2.4.6 <<'P'
import microdf
import numpy as np

people = {"income": [1, 2, 3, 4], "region": list("nnss"), "weight": [1, 2, 3, 4]}
table = microdf.MicroDataFrame(people, weights="weight")
regions = table.groupby("region")
called, named = regions.mean().income.tolist(), regions.agg({"income": "mean"}).income.tolist()
whole = float(table.agg({"income": "mean"}).income), float(np.average(table.income))
counts = float(table.region.count()), int(table.region.value_counts().sum())
print(called, named, whole, counts)
assert np.allclose(called, [5 / 3, 25 / 7]) and named == [1.5, 3.5]
assert whole == (3.0, 2.5)
assert counts == (10.0, 4)
P
