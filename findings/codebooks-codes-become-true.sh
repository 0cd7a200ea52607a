#!/usr/bin/env bash
# codebooks 0.0.7: of the codes 1 and 2 for men and women, the codebook has True and 2.
#
# A codebook is made of a table. Values of variables that have two are named False where they are
# 0 and True where they are 1, also where the other value is another code. Where there are three
# codes, all are told as they are.
#
# Seen: True and 2 for the codes 1 and 2; 1, 2 and 3 where there are three.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with codebooks==0.0.7 pandas==2.3.3 numpy==2.4.6 <<'P'
import re

import pandas as pd
from codebooks.html import SummaryRow
from codebooks.variable import Variable

seen = []
for codes in ([1, 1, 1, 2, 2], [1, 1, 1, 2, 2, 3]):
    variable = Variable(pd.Series(codes, name="sex"))
    variable.index = 1
    row = "".join(SummaryRow(variable).html)
    seen.append(re.findall(r"<td colspan=3>([^<]*)</td>", row))
print(seen)
assert seen == [["True", "2"], ["1", "2", "3"]]
P
