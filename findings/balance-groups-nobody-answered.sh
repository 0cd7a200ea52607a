#!/usr/bin/env bash
# balance 0.23.0: where no man answered, raking gives the men's weight to the women, poststratifying
# drops it.
#
# Of 100 people of the target 50 are men, and in the sample there are women alone. Raked by sex and
# age, the weights sum to 100, with a warning; poststratified by both they sum to 50, with none. So
# they do raked by sex alone, which poststratifies: totals are half of those by two variables.
#
# Seen: sums of weights of 100, 50 and 50.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with balance==0.23.0 pandas==3.0.6 numpy==1.26.4 scikit-learn==1.3.2 scipy==1.13.1 <<'P'
import logging
import numpy as np
import pandas as pd
from balance.weighting_methods.poststratify import poststratify
from balance.weighting_methods.rake import rake

warned = []
logging.getLogger("balance").addFilter(lambda record: warned.append(record.levelname) or False)
target = pd.DataFrame({"sex": ["f"] * 50 + ["m"] * 50, "age": ["young", "old"] * 50})
sample = pd.DataFrame({"sex": ["f"] * 8, "age": ["young", "old"] * 4})


def total(method, variables):
    """What the weights sum to."""
    ones = (pd.Series(np.ones(len(table))) for table in (sample, target))
    weights = method(
        sample, next(ones), target, next(ones), variables=variables, transformations=None
    )["weight"]
    return float(weights.sum().round(6))


seen = total(rake, ["sex", "age"]), total(poststratify, ["sex", "age"]), total(rake, ["sex"])
print(seen)
assert seen == (100, 50, 50)
P
