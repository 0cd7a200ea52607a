#!/usr/bin/env bash
# pyspssio 0.6.0: labels and missing codes of texts of more than 8 letters aren't told.
#
# It reads by IBM's own library for SPSS files. Of a variable of 9 letters neither the labels of
# its values nor the codes that are missing come; a variable of 8 letters has both. pyreadstat,
# which wrote the file, tells both.
#
# Seen, of two variables with one label and one missing code each:
#   texts of up to 7 letters    label, missing code
#   texts of up to 9 letters    nothing
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyspssio==0.6.0 pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 <<'P'
import pandas as pd
import pyreadstat
import pyspssio

codes = {"short": ["AGREED", "REFUSED"], "long": ["AGREED_TO", "REFUSED"]}
pyreadstat.write_sav(
    pd.DataFrame(codes),
    "x.sav",
    variable_value_labels={name: {values[0]: "agreed"} for name, values in codes.items()},
    missing_ranges={name: values[1:] for name, values in codes.items()},
)
about = pyspssio.read_metadata("x.sav")
labels, missing = about["var_value_labels"], about["var_missing_values"]
print("labels:", labels, "missing:", missing)
assert labels == {"short": {"AGREED": "agreed"}} and list(missing) == ["short"]
by_pyreadstat = pyreadstat.read_sav("x.sav", user_missing=True)[1]
assert list(by_pyreadstat.variable_value_labels) == list(codes)
assert list(by_pyreadstat.missing_ranges) == list(codes)
P
