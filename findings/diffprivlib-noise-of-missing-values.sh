#!/usr/bin/env bash
# diffprivlib 0.6.6: the noise of a mean of ten incomes is that of a mean of a thousand.
#
# nanmean ignores missing values, but its noise is measured by all rows, those without a value too:
# where 990 of 1,000 people gave no answer, one answer moves the mean by up to 0.1 of its bounds, and
# the noise at ε = 1 is that of 0.001. mean of the ten answers alone has a hundred times as much.
#
# Seen: scale of the noise 0.001 with nanmean, 0.1 with mean, of the same ten values between 0 and 1.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with diffprivlib==0.6.6 numpy==2.4.6 scikit-learn==1.6.1 scipy==1.15.3 <<'P'
import numpy as np
from diffprivlib import tools

answers = np.linspace(0.2, 0.8, 10)
people = np.concatenate([answers, np.full(990, np.nan)])


def scale(mean, values):
    """The scale of the Laplace noise that is seen in 2,000 means: half lie within scale * ln 2."""
    drawn = [mean(values, epsilon=1, bounds=(0, 1), random_state=seed) for seed in range(2000)]
    return float(np.median(np.abs(np.array(drawn) - 0.5)) / np.log(2))


with_gaps, alone = scale(tools.nanmean, people), scale(tools.mean, answers)
print("nanmean", with_gaps, "mean", alone)
assert 0.0009 < with_gaps < 0.0011
assert 0.09 < alone < 0.11
P
