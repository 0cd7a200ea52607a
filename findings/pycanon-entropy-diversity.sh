#!/usr/bin/env bash
# pycanon 1.3.5: the entropy l of classes in which all values are equally frequent is one too small.
#
# Such a class has an entropy of log(l) for its l values, but exp(log(l)) is rounded down to a
# whole number, and floats are often a little below it.
#
# Seen: 1 for 2 values, 2 for 3, 3 for 4, 5 for 5; distinct l-diversity is 2, 3, 4, 5.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pycanon==1.3.5 <<'P'
import pandas as pd
from pycanon import anonymity

found = {}
for values in range(2, 6):
    table = pd.DataFrame({"q": ["a"] * values + ["b"] * values, "s": [*range(values)] * 2})
    assert anonymity.l_diversity(table, ["q"], ["s"]) == values
    found[values] = anonymity.entropy_l_diversity(table, ["q"], ["s"])
print(found)
assert found == {2: 1, 3: 2, 4: 3, 5: 5}
P
