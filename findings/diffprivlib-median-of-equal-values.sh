#!/usr/bin/env bash
# diffprivlib 0.6.6: the median of 200 equal values is any number between the bounds.
#
# A quantile is drawn from the gaps between neighbouring values, a wider gap more often. Equal
# values have no gap between them, so if all are 10, what is left are the gaps to the bounds, which
# are equally bad. Ages in whole years, or answers on a scale, are such data.
#
# Seen: in 200 draws at ε = 1 the median of 200 tens between 0 and 100 lies above 20 four times in
# five.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with diffprivlib==0.6.6 scikit-learn==1.5.2 numpy==2.4.6 <<'P'
import numpy as np
from diffprivlib.tools import median

values = np.full(200, 10.0)
drawn = np.array(
    [median(values, epsilon=1.0, bounds=(0, 100), random_state=seed) for seed in range(200)]
)
far = float((drawn > 20).mean())
print(far, drawn[:5].round(1))
assert 0.7 < far < 0.95
P
