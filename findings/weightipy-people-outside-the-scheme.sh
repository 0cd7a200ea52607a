#!/usr/bin/env bash
# weightipy 0.4.2: ten people with one answer outside the scheme weigh twelve.
#
# The scheme states shares of men and women. Where two of ten people have a third answer, the eight
# others are scaled to ten, and the two keep a weight of 1 each: with no warning, totals are a fifth
# too large. Where the answer of the two is missing, the eight are scaled to eight.
#
# Seen: sums of weights of 12 and 10; men and women alone sum to 10 and 8.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with weightipy==0.4.2 pandas==3.1.1 numpy==2.4.6 <<'P'
import pandas as pd
import weightipy

seen = {}
for other in ("diverse", None):
    people = pd.DataFrame({"sex": ["m"] * 2 + ["f"] * 6 + [other] * 2})
    scheme = weightipy.scheme_from_dict({"sex": {"m": 50, "f": 50}})
    weights = weightipy.weight_dataframe(people, scheme, "w")["w"]
    seen[other] = round(float(weights.sum()), 6), round(float(weights[:8].sum()), 6)
    print(other, seen[other], weights.round(3).tolist())
assert seen == {"diverse": (12, 10), None: (10, 8)}
P
