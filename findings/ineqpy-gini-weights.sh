#!/usr/bin/env bash
# ineqpy 0.4.1: the Gini index of one poor and nine rich people is 0.88 with weights.
#
# The rank of an income is the share of weights up to it, its own in full. With few incomes that
# stand for many people each, as in a table of deciles or a small sample, the index is not that of
# the people they stand for, and who is most hangs on where the weight lies.
#
# Seen: 0.88 for incomes of 1 and 9 with weights of 1 and 9, and 0.10 for the ten people; with the
# weights the other way round 0.44 both times.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with ineqpy==0.4.1 numpy==2.4.6 pandas==3.1.1 <<'P'
import numpy as np
from ineqpy.inequality import gini

incomes = np.array([1.0, 9.0])
for weights, weighted, written_out in (([1, 9], 0.88, 0.10), ([9, 1], 0.44, 0.44)):
    seen = gini(incomes, np.array(weights, float)), gini(np.repeat(incomes, weights))
    print(weights, seen)
    assert np.allclose(seen, (weighted, written_out), atol=0.005)
P
