#!/usr/bin/env bash
# cheatstat 4.1.2: in one table of a weighted variable the mean is weighted, the median is not.
#
# uniV takes a weight; mean, variance and interval count with it, while median, quartiles, mode and
# skewness are those of the records. Its frequencies round each value's weights to whole people: a
# value whose people sum to 0.5 has none.
#
# Seen, of 1, 2, 3 and 4 with weights of 10, 1, 1 and 0.5:
#   mean 1.36, median 2.50
#   frequencies 10, 1, 1 and 0
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with cheatstat==4.1.2 pandas==3.1.1 numpy==2.4.6 scipy==1.17.1 <<'P'
import cheatstat
import pandas as pd

people = pd.DataFrame({"x": [1.0, 2, 3, 4], "w": [10, 1, 1, 0.5]})
told = cheatstat.uniV(people, "x", weight="w")
figures = dict(told.stat.to_numpy().tolist())
counts = told.tables["fre"].iloc[:4, 1].astype(int).tolist()
print(figures, counts)
assert figures["Mittelwert"] == "1.3600"
assert figures["50%-Quantil (Median)"] == "2.50"
assert counts == [10, 1, 1, 0]
P
