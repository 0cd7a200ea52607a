#!/usr/bin/env bash
# pyreadstat 1.3.7: binary long texts (strL) of a Stata file are read as texts, up to their first NUL.
#
# A .dta file says of each strL whether it is text (130) or binary (129), which may hold NULs.
# read_dta takes both for texts and returns what stands before the first NUL, without an error.
#
# Seen: of the 6 bytes "ab\\0cd\\0", "ab" is read; pandas.read_stata returns all of them.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 <<'P'
import pathlib
import pandas as pd
import pyreadstat

path = pathlib.Path("t.dta")
frame = pd.DataFrame({"a": [1, 2], "s": ["x" * 3000, "ab|cd"]})
frame.to_stata(path, version=118, write_index=False, convert_strl=["s"])
content = bytearray(path.read_bytes())
# The last strL: "GSO", variable (4 bytes), row (8), its kind (1), its length (4), and the bytes.
content[content.rindex(b"GSO") + 15] = 129
content[content.rindex(b"ab|cd") + 2] = 0
path.write_bytes(content)
read = pyreadstat.read_dta(path)[0].s[1]
print("in the file:", pd.read_stata(path).s[1], "read:", repr(read))
assert read == "ab", "binary strL are read otherwise now"
P
