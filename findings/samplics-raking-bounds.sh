#!/usr/bin/env bash
# samplics 0.6.1: bounds of raked weights don't bind.
#
# rake takes a lower and an upper bound of what a weight may be multiplied with. They only say
# whether it goes on after the margins are met, to the same weights: with and without bounds the
# result is one, with no warning.
#
# Seen: factors from 0.44 to 2.76 with the bounds 0.5 and 1.5, as without bounds.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with samplics==0.6.1 numpy==2.4.6 <<'P'
import numpy as np
from samplics.weighting import SampleWeight

weights = np.full(10, 10.0)
margins = {"sex": np.array(list("fffffffmmm")), "age": np.array(list("yyyoooooyo"))}
totals = {"sex": {"f": 50, "m": 50}, "age": {"y": 60, "o": 40}}


def factors(**bounds):
    """What raking multiplies the weights with."""
    return SampleWeight().rake(weights, margins, control=totals, **bounds) / weights


bounded = factors(ll_bound=0.5, up_bound=1.5)
print(bounded.round(2))
assert bounded.min() < 0.45 and bounded.max() > 2.7
assert np.allclose(bounded, factors())
P
