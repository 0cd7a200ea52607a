#!/usr/bin/env bash
# statsmodels 0.15.0: somebody with weight 0 makes a weighted regression more certain.
#
# WLS takes people with weight 0 for observations: they change no coefficient, but count as degrees of freedom, so
# that standard errors and intervals get smaller with each. GLM with freq_weights does not count them, nor does R.
#
# Seen, of three people and one of weight 0: the slope is 0.5 both times, its standard error 0.61, and 0.87 without
# the fourth; the upper end of its interval 3.1, and 11.5.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with statsmodels==0.15.0 scipy==1.17.1 pandas==2.3.3 numpy==2.4.6 <<'P'
import pandas as pd
import statsmodels.formula.api as smf

people = pd.DataFrame({"y": [1.0, 3, 2, 5], "x": [1.0, 2, 3, 4], "w": [1.0, 1, 1, 0]})
weighted = people[people["w"] > 0]


def seen(fitted):
    """Slope, its standard error, the upper end of its interval, and the degrees of freedom."""
    return [round(float(x), 2) for x in (fitted.params["x"], fitted.bse["x"], fitted.conf_int().loc["x", 1], fitted.df_resid)]


every, three = (seen(smf.wls("y ~ x", table, weights=table["w"]).fit()) for table in (people, weighted))
frequencies = seen(smf.glm("y ~ x", people, freq_weights=people["w"]).fit())
print(every, three, frequencies)
assert every == [0.5, 0.61, 3.13, 2] and three == [0.5, 0.87, 11.5, 1]
assert frequencies[1] == 0.87 and frequencies[3] == 1
P
