#!/usr/bin/env bash
# pyegen 0.2.4: two members of one household have the same number, unless the table is sorted by household.
#
# Numbers within groups are made group by group, and are put beside the rows in the order in which they were
# made, not beside the rows of the group. Nothing is said; a table with one row a household by "number 1" has
# some households twice, and others not at all.
#
# Seen, of the households A, A, B and B: 1, 2, 1 and 2; of A, B, A and B the same numbers, so that both
# members of A are number 1, and both of B number 2.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyegen==0.2.4 pandas==3.1.1 numpy==2.4.6 <<'P'
import pandas as pd
import pyegen

for households in ("AABB", "ABAB"):
    numbers = pyegen.seq(length=4, by=pd.Series(list(households))).tolist()
    print(households, numbers)
    assert numbers == [1, 2, 1, 2]
P
