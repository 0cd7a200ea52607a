#!/usr/bin/env bash
# pandas 3.1.1: grouped by columns named 1 and 2, the keys of column 2 are those of column 1.
#
# groupby(..., as_index=False) asks for each key by its place, and takes a place for a name where a
# column is called so. The sums are right, and stand beside other groups' keys; reset_index() of the
# same groups has the right ones.
#
# Seen: men and women (column 2) of two towns (column 1) come out as towns, in both columns.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pandas==3.1.1 <<'P'
import pandas as pd

people = pd.DataFrame({1: [0, 0, 1, 1], 2: [5, 6, 5, 6], "people": [1, 2, 3, 4]})
wrong = people.groupby([1, 2], as_index=False)[["people"]].sum()
right = people.groupby([1, 2])[["people"]].sum().reset_index()
print(wrong, right, sep="\n")
assert right[2].to_list() == [5, 6, 5, 6]
assert wrong[2].to_list() == [0, 0, 1, 1]
assert wrong["people"].to_list() == right["people"].to_list()
P
