#!/usr/bin/env bash
# anonypy 0.2.1: asked for a k that no table of so few records can keep, it returns a table anyway.
#
# The whole table is its only class, and the size of that class is not held against k: six records
# come back as one class of six for k = 7, without an error or a warning.
#
# Seen: the smallest class has 6 records for k = 7.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with anonypy==0.2.1 pandas==3.1.1 numpy==2.4.6 <<'P'
import anonypy
import pandas as pd

table = pd.DataFrame({"age": [20, 21, 30, 31, 40, 41], "d": pd.Categorical(list("xyxyxy"))})
rows = pd.DataFrame(anonypy.Preserver(table, ["age"], "d").anonymize_k_anonymity(k=7))
smallest = int(rows.groupby(rows["age"].astype(str))["count"].sum().min())
print("k asked for: 7, records in the smallest class:", smallest)
assert smallest == 6
P
