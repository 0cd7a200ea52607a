#!/usr/bin/env bash
# povertyInequalityMeasures 1.1.1: people with the same income have a Gini index above 0.
#
# The area below the curve is added up from the second row on; what lies below the first row's piece of it is
# counted as inequality. With few rows that stand for many people, as in a table of groups by income, that is
# a large part, and the more so the more people the poorest row stands for.
#
# Seen, of equal incomes: 0.25 with 2 rows, 0.01 with 10, and 0.81 with two rows that stand for 9 people and 1.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with povertyInequalityMeasures==1.1.1 pandas==3.1.1 numpy==2.4.6 <<'P'
import pandas as pd
from povertyInequalityMeasures.inequality import get_gini

for weights, index in (([1, 1], 0.25), ([1] * 10, 0.01), ([9, 1], 0.81)):
    people = pd.DataFrame({"income": 5.0, "weight": weights})
    seen = get_gini(people, "income", "weight")
    print(weights, seen)
    assert seen == index
P
