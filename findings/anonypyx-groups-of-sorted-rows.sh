#!/usr/bin/env bash
# anonypyx 0.2.11: once the table was sorted by age, people of 20 are grouped with those of 90.
#
# Microaggregation (MDAV) puts those who are most alike into one group. Distances between people are
# numbered by the rows' places, and looked up by the rows' labels, which pandas keeps when it sorts: the
# groups are made of other people's distances. They have k people each, so that nothing else shows it; the
# ages that are released are all but the whole range, and averages of groups are alike.
#
# Seen, of three people each around 20, 60 and 90, and k = 3: 20-22, 60-62 and 90-92; sorted by age
# 20-90, 21-91 and 22-92, and the former again where the rows were numbered anew.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with anonypyx==0.2.11 pandas==3.1.1 numpy==2.4.6 scipy==1.17.1 <<'P'
import anonypyx
import pandas as pd

people = pd.DataFrame({"age": [20.0, 90, 60, 21, 91, 61, 22, 92, 62]})
people["weight"] = people["age"] / 2


def groups(table):
    choices = {"algorithm": "MDAV-generic", "generalisation_strategy": "human-readable"}
    return sorted(anonypyx.Anonymiser(table, k=3, **choices).anonymise()["age"])


by_age = people.sort_values("age")
seen = [groups(people), groups(by_age), groups(by_age.reset_index(drop=True))]
print(seen)
assert seen[0] == seen[2] == ["20.0-22.0", "60.0-62.0", "90.0-92.0"]
assert seen[1] == ["20.0-90.0", "21.0-91.0", "22.0-92.0"]
P
