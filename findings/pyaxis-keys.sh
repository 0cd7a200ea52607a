#!/usr/bin/env bash
# pyaxis 0.4.3: a PX file that leaves out rows of zeros (keyword KEYS) is refused.
#
# With KEYS each line of the data names the categories of its row, and lines of zeros may be left
# out. The keyword is not looked at: two figures are found where four are expected, and the error is
# about lengths.
#
# Seen: ValueError, its message is of lengths of values and index.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyaxis==0.4.3 pandas==3.1.1 numpy==2.4.6 <<'P'
from pyaxis import pyaxis

text = '''CHARSET="ANSI";
AXIS-VERSION="2000";
TITLE="People";
UNITS="number";
STUB="region";
HEADING="sex";
VALUES("region")="North","South";
VALUES("sex")="men","women";
KEYS("region")=VALUES;
DATA=
"South",3 4;
'''
with open("people.px", "w", encoding="latin-1") as file:
    file.write(text)
try:
    data = pyaxis.parse("people.px", encoding="latin-1")["DATA"]
except ValueError as error:
    print("ValueError:", error)
    assert "length" in str(error).lower()
else:
    raise AssertionError(f"it is read now: {data}")
P
