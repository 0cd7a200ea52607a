#!/usr/bin/env bash
# acro 1.0.2: a normalized table has no rows where suppression is on.
#
# crosstab(…, normalize=True) of two columns whose cells are all frequent enough is a table of
# shares; with suppress=True it has the columns three times and no row.
#
# Seen: shape (2, 3) without, (0, 9) with suppression.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with acro==1.0.2 pandas==2.3.3 numpy==2.4.6 <<'P'
import logging
import warnings

import pandas as pd
from acro import ACRO

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
sex, region = pd.Series(list("mf") * 60, name="sex"), pd.Series(list("NSE") * 40, name="region")
shapes = [
    ACRO(suppress=suppress).crosstab(sex, region, normalize=True).shape
    for suppress in (False, True)
]
print(shapes)
assert shapes == [(2, 3), (0, 9)]
P
