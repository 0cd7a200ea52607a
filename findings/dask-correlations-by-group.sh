#!/usr/bin/env bash
# dask 2026.8.0: within a group, the correlation of a column with itself is -1.38.
#
# groupby().corr() and cov() are wrong as soon as one of the two columns has missing values that
# the other doesn't: the sums of each column alone count its other values in. How far they are off
# hangs on what is added to a column; without groups, corr() and cov() are those of pandas.
#
# Seen, of y = x in those rows where both are known:
#   missing in both columns        -0.6, and -10.6 where y is x + 100
#   missing at the end of one      -1.38, and -77.77
#   pandas, and without groups     1
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with dask==2026.8.0 pandas==3.1.1 numpy==2.4.6 pyarrow==26.0.1 <<'P'
import dask.dataframe as dd
import pandas as pd

seen = []
for x, y in (
    ([1, 2, 3, 4, 5, None], [None, 2, 3, 4, 5, 6]),
    ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, None, None]),
):
    for added in (0, 100):
        table = pd.DataFrame({"town": "a", "x": x, "y": pd.Series(y) + added})
        parts = dd.from_pandas(table, npartitions=2)
        by_town = parts.groupby("town")[["x", "y"]].corr().compute().iloc[0, 1]
        whole = parts[["x", "y"]].corr().compute().iloc[0, 1]
        by_pandas = table.groupby("town")[["x", "y"]].corr().iloc[0, 1]
        print(added, by_town, "without groups", whole, "pandas", by_pandas)
        assert round(whole, 9) == round(by_pandas, 9) == 1
        seen.append(round(float(by_town), 2))
assert seen == [-0.6, -10.6, -1.38, -77.77]
P
