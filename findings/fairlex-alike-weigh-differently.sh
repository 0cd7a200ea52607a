#!/usr/bin/env bash
# fairlex 0.1.0: of two people who are alike, one weighs 19 times as much as the other.
#
# leximin_weight_fair() minimises the largest change of a weight and is said to spread changes evenly. Only the
# largest of all is minimised: in every other group whatever meets the totals within that change is as
# good, and the solver takes a corner. leximin_residual() has no second step and does so everywhere.
#
# Seen, of two men to weigh 10 and two women to weigh 2 together, all of weight 1 before: 5 and 5, and 1.9 and 0.1;
# by leximin_residual() 0.1 and 9.9, and 0.1 and 1.9. Each kept at 1, the women would be fair.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with fairlex==0.1.0 scipy==1.17.1 numpy==2.4.6 <<'P'
import numpy as np
from fairlex import leximin_residual, leximin_weight_fair

GROUPS, TOTALS = np.array([[1, 1, 0, 0], [0, 0, 1, 1]]), np.array([10, 2])
methods = (leximin_weight_fair, leximin_residual)
fair, residual = (method(GROUPS, TOTALS, np.ones(4)).w.round(6).tolist() for method in methods)
print(fair, residual)
assert fair[:2] == [5, 5] and sorted(fair[2:]) == [0.1, 1.9]
assert sorted(residual[:2]) == [0.1, 9.9] and sorted(residual[2:]) == [0.1, 1.9]
P
