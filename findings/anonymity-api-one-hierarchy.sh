#!/usr/bin/env bash
# anonymity-api 1.0.4: a town stays exact once there is a hierarchy for jobs.
#
# Texts among the quasi-identifiers are replaced by all texts of their group. Where a hierarchy is given
# for one of them, the others are no longer replaced: the release has k people of one age and job, each
# with their own town, and is said to be k-anonymous.
#
# Seen, of four people and k = 2: without a hierarchy the towns Bern-Chur and Bern-Biel, twice each; with
# one of jobs the towns Bern, Chur, Bern and Biel, everybody alone with age, job and town.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
printf '%s;any\n' 'cook;food' 'baker;food' 'nurse;care' >jobs.csv
python_with anonymity-api==1.0.4 pandas==3.1.1 numpy==2.4.6 <<'P'
import pandas as pd
from anonymity_api import anonymity

known = ["age", "town", "job"]
people = pd.DataFrame(
    [[30, "Bern", "cook"], [31, "Chur", "baker"], [40, "Bern", "nurse"], [41, "Biel", "nurse"]],
    columns=known,
)
plain = anonymity.k_anonymity(people.copy(), known, 2)
mapped = anonymity.k_anonymity(people.copy(), known, 2, taxonomies={"job": "jobs.csv"})
print(plain, mapped, sep="\n")
assert plain["town"].tolist() == ["Bern-Chur"] * 2 + ["Bern-Biel"] * 2
assert plain.value_counts(known).min() == 2
assert mapped["town"].tolist() == ["Bern", "Chur", "Bern", "Biel"]
assert mapped["job"].tolist() == ["food", "food", "nurse", "nurse"]
assert mapped.value_counts(known).max() == 1
P
