#!/usr/bin/env bash
# liken 0.15.1: of three people without a name two are dropped as duplicates of the first.
#
# Missing names are equal, by exact() as by fuzzy() and edit_distance(), whatever distance is allowed: everybody without
# a name is one record. Where duplicates are dropped, the others are gone with their other values; empty
# texts likewise..
#
# Seen, of two Annas, three people without a name and three births among them: Anna and one without a name are left.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with liken==0.15.1 pandas==2.3.3 numpy==2.4.6 <<'P'
import liken
import pandas as pd

people = pd.DataFrame({"name": ["Anna", "Anna", None, None, None], "born": [1950, 1950, 1960, 1970, 1980]})
left = []
for how in (liken.exact(), liken.fuzzy(), liken.edit_distance()):
    kept = liken.dedupe(people).apply({"name": how}).drop_duplicates(keep="first")
    left.append(pd.DataFrame(kept)["born"].tolist())
print(left)
assert left == [[1950, 1960]] * 3
P
