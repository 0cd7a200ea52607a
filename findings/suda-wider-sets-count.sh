#!/usr/bin/env bash
# suda 0.2.2: somebody who is unique by age is counted as unique by age and town, and by age and job, as well.
#
# SUDA counts the smallest sets of attributes by which somebody is unique: with a set that is unique, all that
# contain it are, and tell nothing more. Here they all count, and add to the score; the more attributes a table
# has that say nothing, the more a unique age weighs against other uniques.
#
# Seen, of a person with an age of her own: with the age alone one set and a score of 1; beside two attributes
# that are the same for everybody three sets and a score of 4, where one set and 2 are right.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with suda==0.2.2 pandas==3.1.1 numpy==2.4.6 <<'P'
import pandas as pd
from suda import suda

people = pd.DataFrame({"age": [30, 30, 30, 90], "town": ["Bern"] * 4, "job": ["nurse"] * 4})
for columns, sets, score in ((["age"], 1, 1), (["age", "town", "job"], 3, 4)):
    oldest = suda(people[columns].copy(), max_msu=2).iloc[3]
    print(oldest.to_dict())
    assert (oldest["msu"], oldest["fM"], oldest["suda"]) == (1, sets, score)
P
