#!/usr/bin/env bash
# anonypy 0.2.1: a person whose value is missing is not in the anonymized table, and nothing says so.
#
# A split sends the values up to the median to one side and those above it to the other; a missing
# number is neither. Where the sensitive value is missing, the record is not counted either.
#
# Seen: 6 records in, counts that add up to 5 out, for a missing age and for a missing diagnosis.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with anonypy==0.2.1 pandas==3.1.1 numpy==2.4.6 <<'P'
import anonypy
import pandas as pd


def released(ages, diagnoses):
    table = pd.DataFrame({"age": ages, "diagnosis": pd.Categorical(diagnoses)})
    rows = anonypy.Preserver(table, ["age"], "diagnosis").anonymize_k_anonymity(k=2)
    return sum(row["count"] for row in rows)


ages, diagnoses = [20, 21, 30, 31, 40, 41], list("xyxyxy")
found = (
    released(ages, diagnoses),
    released([None, *ages[1:]], diagnoses),
    released(ages, [None, *diagnoses[1:]]),
)
print("records released of 6 (complete, an age missing, a diagnosis missing):", *map(int, found))
assert found == (6, 5, 5)
P
