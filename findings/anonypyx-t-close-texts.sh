#!/usr/bin/env bash
# anonypyx 0.2.11: a group in which nobody has the flu is t-close where illnesses are texts.
#
# The largest difference between a group's shares and those of all is to be at most t. Only values that occur
# in the group are looked at. Of a categorical column all categories are, of texts those that somebody
# has: that nobody of a group has what many others have does not count, and is told by the release.
#
# Seen, with t = 0.25, of 20 people of 20 (10 flu, 5 cold, 5 asthma) and 4 of 10 (2 cold, 2 asthma): as
# texts a group of 10 and one of 20, as categories one of 10-20. 42 % of all have the flu.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with anonypyx==0.2.11 pandas==3.1.1 numpy==2.4.6 scipy==1.17.1 <<'P'
import anonypyx
import pandas as pd

illnesses = ["flu"] * 10 + ["cold"] * 5 + ["asthma"] * 5 + ["cold"] * 2 + ["asthma"] * 2
people = pd.DataFrame({"age": [20] * 20 + [10] * 4, "illness": illnesses})


def groups(table):
    released = anonypyx.Anonymiser(
        table,
        k=2,
        t=0.25,
        feature_columns=["age"],
        sensitive_column="illness",
        generalisation_strategy="human-readable",
    ).anonymise()
    return {(str(row.age), row.illness): row.count for row in released.itertuples(index=False)}


texts, categories = groups(people), groups(people.astype({"illness": "category"}))
print(texts, categories)
assert {age for age, _ in texts} == {"10", "20"} and ("10", "flu") not in texts
assert {age for age, _ in categories} == {"10-20"}
assert (people["illness"] == "flu").mean() > 0.25
P
