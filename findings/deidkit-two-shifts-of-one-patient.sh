#!/usr/bin/env bash
# deidkit 0.1.6: a sample taken two days after the admission comes four months after it.
#
# All dates of one patient are shifted by the same number of days, so that what lies between them
# is kept. The number is derived from the patient's key as a text: where one key is missing in a
# table, pandas holds all of them as decimals, 1 is 1.0, and everybody's dates move otherwise than
# in the tables where no key is missing.
#
# Seen, of patients 1 and 2 whose samples were taken 2 and 1 days after the admission:
#   no key missing        2 and 1 days
#   one more row's is     124 days after and 422 days before
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with deidkit==0.1.6 pandas==2.2.3 numpy==1.26.4 <<'P'
import deidkit
import pandas as pd

stays = pd.DataFrame({"patient_id": [1, 2], "admission_date": pd.to_datetime(["2020-01-10", "2020-03-10"])})
samples = pd.DataFrame({"patient_id": [1, 2], "sample_date": pd.to_datetime(["2020-01-12", "2020-03-11"])})
more = pd.concat([samples, pd.DataFrame({"sample_date": pd.to_datetime(["2020-05-05"])})])
shifter = deidkit.Deidentifier(deidkit.Policy(lang="en", spacy_model=None), secret="a" * 40)
admitted = shifter.run_table(stays, table="stays")["admission_date"].tolist()
seen = []
for name, table in (("samples", samples), ("more", more)):
    taken = shifter.run_table(table, table=name)["sample_date"].tolist()
    seen.append([(later - earlier).days for later, earlier in zip(taken, admitted)])
print(seen)
assert seen[0] == [2, 1] and seen[1][0] != 2 and seen[1][1] != 1
P
