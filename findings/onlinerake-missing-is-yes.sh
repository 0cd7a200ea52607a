#!/usr/bin/env bash
# onlinerake 1.0.0: somebody whose answer is missing, and somebody with code 2 for "no", weigh as smokers.
#
# Answers are made true or false as Python does: not a number, the code 2 and the text "no" are true like 1, and
# None is false. Shares and weights are those of a sample with other answers, with no warning.
#
# Seen, of the answers yes, no, and one of these, the share of smokers: NaN, 2 and "no" 0.67, None 0.33.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with onlinerake==1.0.0 numpy==2.4.6 <<'P'
from onlinerake import OnlineRakingMWU, OnlineRakingSGD, Targets

seen = {}
for raking in (OnlineRakingSGD, OnlineRakingMWU):
    for answer in (float("nan"), 2, "no", None):
        sample = raking(Targets(smoker=0.3))
        for given in (1, 0, answer):
            sample.partial_fit({"smoker": given})
        seen[raking, str(answer)] = round(float(sample.raw_margins["smoker"]), 2)
    print([share for (kind, _), share in seen.items() if kind is raking])
assert {answer for (_, answer), share in seen.items() if share == 0.67} == {"nan", "2", "no"}
assert {answer for (_, answer), share in seen.items() if share == 0.33} == {"None"}
P
