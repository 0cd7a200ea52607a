#!/usr/bin/env bash
# anonymizedf 1.0.1: a column of decimals with a missing value can't be anonymized.
#
# Whole numbers, names and categories with a gap get a value in its place. Decimals end in a
# KeyError, since a missing number equals nothing, itself included.
#
# Seen: KeyError: nan; a made-up name for the person without one.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with anonymizedf==1.0.1 pandas==2.3.3 <<'P'
import pandas as pd
from anonymizedf.anonymizedf import anonymize

people = pd.DataFrame({"name": ["Anna", None], "weight": [71.5, None]})
named = anonymize(people.copy()).fake_names("name")
assert named["Fake_name"].notna().all()
try:
    anonymize(people.copy()).fake_decimal_numbers("weight")
except KeyError as error:
    print("KeyError:", error)
else:
    raise AssertionError("it works now")
P
