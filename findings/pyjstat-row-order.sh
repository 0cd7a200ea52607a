#!/usr/bin/env bash
# pyjstat 2.4.0: a table whose rows aren't in the order of its categories is written with other
# values in its cells, and one without some of its cells as a file that has too few values.
#
# Values of JSON-stat stand in the order of the dimensions' categories. The writer takes them in
# the order of the rows, and looks neither whether these follow the categories nor whether all
# cells are there.
#
# Seen: men of area a: 4 in the table, 3 in what was written and read again; 2 values for a cube of
# 2 x 2.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyjstat==2.4.0 pandas==3.1.1 numpy==2.4.6 <<'P'
import json

import pandas as pd
from pyjstat import pyjstat


def written(area, sex, value):
    return pyjstat.Dataset.read(pd.DataFrame({"area": area, "sex": sex, "value": value})).write()


text = written(list("bbaa"), list("mffm"), [1, 2, 3, 4])
again = pyjstat.Dataset.read(text).write("dataframe").set_index(["area", "sex"])["value"]
partial = json.loads(written(list("ab"), list("mf"), [1, 2]))
found = int(again["a", "m"]), partial["size"], partial["value"]
print("men of area a, 4 in the table:", found[0])
print("a cube of two cells: size", found[1], "values", found[2])
assert found == (3, [2, 2], [1, 2])
P
