#!/usr/bin/env bash
# table-evaluator 1.9.0: doubled incomes are at distance 0, copied people are not.
#
# row_distance is there to find synthetic records that are too close to real ones. Both tables are
# standardized for themselves, so incomes that are twice as high look like copies; one high income
# among the synthetic ones moves all the others, and 199 copied records of 200 no longer look so.
#
# Seen: a mean distance of 0.00 for the doubled incomes, and of 0.79 for the copied people.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with table-evaluator==1.9.0 pandas==2.2.2 numpy==1.26.4 <<'P'
import numpy as np
import pandas as pd
from table_evaluator import TableEvaluator

generator = np.random.default_rng(0)
real = pd.DataFrame(
    {
        "age": generator.integers(20, 80, 200).astype(float),
        "income": generator.normal(3000, 400, 200).round(),
        "sex": generator.choice(["f", "m"], 200),
    }
)
doubled, copied = real.assign(income=2 * real.income), real.copy()
copied.loc[199, "income"] = 900_000.0


def distance(synthetic):
    """The mean distance of a real record to the closest synthetic one."""
    return float(TableEvaluator(real, synthetic, cat_cols=["sex"]).row_distance()[0])


print(distance(real), distance(doubled), distance(copied))
assert distance(doubled) < 1e-9
assert distance(copied) > 0.5
P
