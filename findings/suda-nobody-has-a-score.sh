#!/usr/bin/env bash
# suda 0.2.2: the DIS-SUDA score, by which records are compared with a threshold, is 0 for everybody.
#
# Those whose SUDA score is above 0 are to have one, but that is looked up in the table that was given, whose
# own scores were set to 0 before. The SUDA scores beside it are there, so that the table looks complete.
#
# Seen, of four people of whom two are unique: SUDA scores of 0, 0, 1 and 4, and DIS-SUDA scores of 0, 0, 0 and 0.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with suda==0.2.2 pandas==3.1.1 numpy==2.4.6 <<'P'
import pandas as pd
from suda import suda

people = pd.DataFrame({"age": [30, 30, 30, 90], "town": ["Bern", "Bern", "Chur", "Chur"], "job": ["nurse"] * 4})
for dis in (0.1, 0.9):
    scores = suda(people.copy(), max_msu=2, dis=dis)
    print(scores)
    assert scores["suda"].tolist() == [0, 0, 1, 4]
    assert scores["dis-suda"].tolist() == [0, 0, 0, 0]
P
