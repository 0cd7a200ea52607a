#!/usr/bin/env bash
# metasyn 3.0.0: the model of a table from which synthetic rows are drawn states the oldest age.
#
# A model is meant to be shared in place of the data. Without a plugin for disclosure control the limits
# of a fitted distribution are the least and the largest value that was there.
#
# Seen: 18 and 107; of 200 people one is 107.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with metasyn==3.0.0 <<'P'
import contextlib
import io
import json

import metasyn
import polars

ages = [18 + 7 * person % 71 for person in range(199)] + [107]
with contextlib.redirect_stderr(io.StringIO()):
    metasyn.MetaFrame.fit_dataframe(polars.DataFrame({"age": ages})).save_json("ages.json")
with open("ages.json") as file:
    told = json.load(file)
limits = told["tables"][0]["vars"][0]["distribution"]["parameters"]
print(limits)
assert (limits["lower"], limits["upper"]) == (18, 107)
P
