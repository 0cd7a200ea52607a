#!/usr/bin/env bash
# dask 2026.8.0: means by town have a group for people without a town, counts have none.
#
# groupby() leaves out missing keys unless it is told otherwise; of texts, mean, std and var keep
# them in a group of its own, while count, sum, min and size don't.
#
# Seen: 2 counts and 3 means, of the towns "a", "b" and missing; pandas has 2 of both.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with dask==2026.8.0 pandas==3.1.1 numpy==2.4.6 pyarrow==26.0.1 <<'P'
import dask.dataframe as dd
import pandas as pd

people = pd.DataFrame({"town": ["a", "a", "b", None], "age": [20, 30, 40, 50]})
groups = dd.from_pandas(people, npartitions=2).groupby("town")["age"]
known = {name: getattr(groups, name)().compute() for name in ("count", "sum", "mean", "std", "var")}
for name, found in known.items():
    print(name, found.to_dict(), len(people.groupby("town")["age"].agg(name)))
assert {name: len(found) for name, found in known.items()} == {
    "count": 2, "sum": 2, "mean": 3, "std": 3, "var": 3
}
assert known["mean"][known["mean"].index.isna()].tolist() == [50]
P
