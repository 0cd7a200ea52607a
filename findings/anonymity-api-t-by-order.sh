#!/usr/bin/env bash
# anonymity-api 1.0.4: whether groups of people are t-close depends on the order of the rows.
#
# For numbers, the distance of a group's distribution to that of all adds up differences from the lowest
# value to the highest. Here they are added up in the order in which the values stand in the table; where
# high and low ones take turns, differences cancel out, and groups are let through that are beyond t.
#
# Seen, of eight people of 20 to 23 with the incomes 1 to 4 and of 30 to 33 with 5 to 8, and t = 0.2:
# sorted by income all are 20 to 33; in turns they are 20 to 23 and 30 to 33, whose distance is 0.29.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with anonymity-api==1.0.4 pandas==3.1.1 numpy==2.4.6 <<'P'
from itertools import accumulate

import pandas as pd
from anonymity_api import anonymity

people = pd.DataFrame({"age": [20, 21, 22, 23, 30, 31, 32, 33], "income": range(1, 9)})


def groups(rows):
    table = people.loc[rows].reset_index(drop=True)
    released = anonymity.t_closeness(table, ["age"], ["income"], 0.2)
    return released.sort_values("income")["age"].tolist()


by_income, in_turns = groups([0, 1, 2, 3, 4, 5, 6, 7]), groups([0, 4, 1, 5, 2, 6, 3, 7])
print(by_income, in_turns)
assert by_income == ["20 - 33"] * 8
assert in_turns == ["20 - 23"] * 4 + ["30 - 33"] * 4
# the distance of the younger ones' incomes to those of all
distance = sum(map(abs, accumulate([1 / 8 - 1 / 4] * 4 + [1 / 8] * 4))) / 7
print(round(distance, 2))
assert distance > 0.2
P
