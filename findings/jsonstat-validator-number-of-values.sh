#!/usr/bin/env bash
# jsonstat-validator 0.4.6: a cube of 2 x 2 with three values, or five, is valid JSON-stat.
#
# That sizes fit the categories is checked, and that a list of statuses is as long as the values;
# not that there are as many values as cells. pyjstat writes a table that lacks a cell with too few
# values, which then stand in other cells than they are of, and the file passes. So does a category
# at place 5 of 2.
#
# Seen: True for 3, 4 and 5 values of 4 cells, for a table with one row left out, and for the place
# 5.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with jsonstat-validator==0.4.6 pyjstat==2.4.0 pandas==3.1.1 numpy==2.4.6 <<'P'
import json

import pandas as pd
from jsonstat_validator import JSONStatValidationError, validate_jsonstat
from pyjstat import pyjstat


def cube(values, places=(0, 1), **others):
    area = {"category": {"index": ["a", "b"]}}
    sex = {"category": {"index": dict(zip("mf", places, strict=True))}}
    dimension = {"area": area, "sex": sex}
    head = {"version": "2.0", "class": "dataset", "id": ["area", "sex"], "size": [2, 2]}
    return {**head, "dimension": dimension, "value": values, **others}


table = pd.DataFrame({"area": list("aab"), "sex": list("mfm"), "value": [1, 2, 3]})
written = json.loads(pyjstat.Dataset.read(table).write())
print("pyjstat:", written["size"], written["value"])
assert written["size"] == [2, 2] and len(written["value"]) == 3
cubes = [cube([1] * number) for number in (3, 4, 5)]
for tried in (*cubes, written, cube([1] * 4, places=(0, 5))):
    assert validate_jsonstat(tried) is True
try:
    validate_jsonstat(cube([1, 2, 3, 4], status=["c", "d"]))
except JSONStatValidationError as refusal:
    print("statuses:", refusal)
else:
    raise AssertionError("a status list of another length is valid")
P
