#!/usr/bin/env bash
# privacy-preserver 1.0.1: a town in which everybody has the rare illness is t-close, mixed ones are not.
#
# A group is t-close where its distribution is close to that of all. Here it is looked at only whether a
# value that occurs in the group is much rarer there than among all. One that is far more frequent passes,
# and so does a group in which all have the same; a group that has some of each is left out. Of several
# sensitive columns only the last is looked at.
#
# Seen, with t = 0.1, of Aarau (50 flu, 50 cold), Baden (90 flu, 10 cold), Chur (100 cold) and Davos (2 HIV):
# all of Aarau, Chur and Davos are in the release, nobody of Baden.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with privacy-preserver==1.0.1 kmodes==0.12.2 pandas==3.1.1 numpy==2.4.6 scikit-learn==1.9.1 <<'P'
import pandas as pd
from preserver.clustering_anonymizer import TClosenessAnonymizer

counts = {("Aarau", "flu"): 50, ("Aarau", "cold"): 50, ("Baden", "flu"): 90, ("Baden", "cold"): 10}
counts |= {("Chur", "cold"): 100, ("Davos", "HIV"): 2}
rows = [pair for pair, people in counts.items() for _ in range(people)]
people = pd.DataFrame(rows, columns=["town", "illness"])
people["job"] = "cook"
released = TClosenessAnonymizer(people, ["town"], ["illness"]).anonymize(t=0.1)
print(released.value_counts(sort=False))
assert released["town"].value_counts().to_dict() == {"Aarau": 100, "Chur": 100, "Davos": 2}
assert set(released.loc[released["town"] == "Davos", "illness"]) == {"HIV"}
share = counts["Davos", "HIV"] / len(people)
assert 1 - share > 0.9  # how far Davos is from all
by_job = TClosenessAnonymizer(people, ["town"], ["illness", "job"]).anonymize(t=0.0001)
assert len(by_job) == len(people)
P
