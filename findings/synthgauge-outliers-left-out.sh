#!/usr/bin/env bash
# synthgauge 2.2.0: the distance of synthetic data to outliers is measured to everybody else.
#
# min_nearest_neighbour looks only at outliers of the real data unless told otherwise, since they
# are most at risk. Those whose outlier factor is below the threshold are taken, and outliers have
# a high one: a copy of the one outlier goes unnoticed.
#
# Seen: 1.20 with and without a copy of the richest person; 0 for the copy if all are looked at.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with synthgauge==2.2.0 matplotlib==3.7.5 scikit-learn==1.5.2 pandas==2.2.3 numpy==1.26.4 <<'P'
import numpy as np
import pandas as pd
from synthgauge.metrics import min_nearest_neighbour

generator = np.random.default_rng(0)


def people(count):
    """Made-up people."""
    incomes = generator.normal(3000, 500, count)
    return pd.DataFrame({"age": generator.uniform(20, 60, count), "income": incomes})


richest = pd.DataFrame({"age": [45.0], "income": [900_000.0]})
real, synthetic = pd.concat([people(100), richest], ignore_index=True), people(50)
leaking = pd.concat([synthetic, richest], ignore_index=True)
outliers = [min_nearest_neighbour(real, table) for table in (synthetic, leaking)]
everybody = min_nearest_neighbour(real, leaking, outliers_only=False)
print(outliers, everybody)
assert outliers[0] == outliers[1] > 0.01
assert everybody == 0
P
