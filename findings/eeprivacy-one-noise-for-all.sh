#!/usr/bin/env bash
# eeprivacy 0.0.5: how much the hours of a day differ is told exactly, at any epsilon.
#
# PrivateVectorClampedMeanLaplace is to give the mean consumption of each hour of a day, with noise enough
# for all the hours together. One number is drawn and added to all of them: each hour alone is noisy, and
# the differences between hours are those of the true means, down to the last digit. Of a household
# that is alone in a group, the whole course of the day is told. Its Gaussian counterpart draws for each hour.
#
# Seen, of the consumption 1, 2, 3, 8 of one household at epsilon = 0.01: differences 1, 1 and 5.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with eeprivacy==0.0.5 numpy==2.4.6 scipy==1.17.1 <<'P'
import numpy as np
from eeprivacy.operations import (
    PrivateVectorClampedMeanGaussian,
    PrivateVectorClampedMeanLaplace,
)

day = [1.0, 2.0, 3.0, 8.0]
bounds = {"lower_bound": 0, "upper_bound": 10, "k": len(day), "N": 1}
budget = {"vectors": [day], "epsilon": 0.01, "delta": 1e-5}
laplace = PrivateVectorClampedMeanLaplace(**bounds).execute(**budget)
gaussian = PrivateVectorClampedMeanGaussian(**bounds).execute(**budget)
print(np.diff(laplace), np.diff(gaussian))
assert np.allclose(np.diff(laplace), [1, 1, 5]) and not np.allclose(laplace, day)
assert not np.allclose(np.diff(gaussian), [1, 1, 5], atol=0.1)
P
