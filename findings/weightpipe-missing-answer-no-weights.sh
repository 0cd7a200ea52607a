#!/usr/bin/env bash
# weightpipe 0.1.3: where one answer is missing, nobody is weighted, and raking says that it converged.
#
# Categories are compared as texts. Codes 1 and 2 in a column with a missing answer are decimals to pandas, and
# their texts 1.0 and 2.0: no margin finds its people, and all weights stay as they were, with no warning. Where
# the answers are texts, those who answered are weighted and the other one keeps the weight of 1.
#
# Seen, of four people who are to sum to 50 men and 50 women: weights of 50, 16.7, 16.7 and 16.7, and of
# 1 each once the last answer is missing.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with weightpipe==0.1.3 pandas==2.3.3 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 <<'P'
import pandas as pd
from weightpipe import WeightPipe

margins = {"sex": {1: 50, 2: 50}}
seen = {}
for last in (2, None):
    people = pd.DataFrame({"sex": [1, 2, 2, last], "weight": 1.0})
    for method in ("raking", "poststratify"):
        pipe = WeightPipe(people, weight="weight").calibrate(method=method, margins=margins)
        seen[last, method] = pipe.weights.round(1).tolist()
        told = pipe.diagnostics["steps"]["calibrate"].get("converged")
        print(last, method, seen[last, method], told)
        assert told is (True if method == "raking" else None)
for method in ("raking", "poststratify"):
    assert seen[2, method] == [50, 16.7, 16.7, 16.7]
    assert seen[None, method] == [1, 1, 1, 1]
P
