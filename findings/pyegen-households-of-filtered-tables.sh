#!/usr/bin/env bash
# pyegen 0.2.4: in a table that was filtered, people have the numbers of other households.
#
# group() numbers the combinations of the columns that it is given, and returns the numbers with row labels of
# their own, from 0. Assigned as a column, they come to the rows with these labels, which pandas keeps when it
# filters: one household is torn apart, two become one, and the last people have none.
#
# Seen, of two people each of the households A, B, C and D, without A: 2, 2, 3, 3, missing and missing, where
# B, C and D are 1, 2 and 3; with C beside B where one person of A was left out.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyegen==0.2.4 pandas==3.1.1 numpy==2.4.6 <<'P'
import pandas as pd
import pyegen

people = pd.DataFrame({"household": list("AABBCCDD")})


def numbered(table):
    table = table.copy()
    table["number"] = pyegen.group(table, ["household"])
    print(table.T)
    return table["number"].fillna(0).tolist()


assert numbered(people) == [1, 1, 2, 2, 3, 3, 4, 4]
assert numbered(people[2:]) == [2, 2, 3, 3, 0, 0]
assert numbered(people[1:]) == [2, 2, 3, 3, 4, 4, 0]
P
