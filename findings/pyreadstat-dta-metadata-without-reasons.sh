#!/usr/bin/env bash
# pyreadstat 1.3.7: reading a Stata file's metadata alone tells no tagged missing values.
#
# meta.missing_user_values is filled only where rows are read: with metadataonly=True, or a
# row_limit that ends before the first of them, a column seems to have none.
#
# Seen: {'x': ['a']} from all rows, {} from the metadata alone, {} from the first row.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 <<'P'
import pandas as pd
import pyreadstat

x = pd.Series([1.0, 2.0, "a"], dtype=object)
pyreadstat.write_dta(pd.DataFrame({"x": x}), "x.dta", version=14, missing_user_values={"x": ["a"]})
tell = lambda **how: dict(pyreadstat.read_dta("x.dta", user_missing=True, **how)[1].missing_user_values or {})
print("all rows      ", tell())
print("metadata only ", tell(metadataonly=True))
print("the first row ", tell(row_limit=1))
assert tell() == {"x": ["a"]}
assert not tell(metadataonly=True)
assert not tell(row_limit=1)
P
