#!/usr/bin/env bash
# pywinsor2 0.4.3: somebody whose region is missing is no longer in the table.
#
# Incomes at both ends are replaced by a percentile; within groups where by is given. The table
# that comes back has only the rows with a group, with no warning; without by it has all of them.
#
# Seen: 4 of 5 rows within regions, 5 without.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pywinsor2==0.4.3 pandas==2.3.3 numpy==2.4.6 <<'P'
import pandas as pd
from pywinsor2 import winsor2

people = pd.DataFrame({"region": ["A", "A", None, "B", "B"], "income": [1, 2, 3, 4, 1000.0]})
within = winsor2(people, ["income"], cuts=(20, 80), by=["region"])
overall = winsor2(people, ["income"], cuts=(20, 80))
print(within, overall, sep="\n")
assert 3 not in within["income"].tolist() and (len(within), len(overall)) == (4, 5)
P
