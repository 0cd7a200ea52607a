#!/usr/bin/env bash
# pyaxis 0.4.3: of the signs for cells without a figure in a PX file one is read as missing, another
# as an empty text.
#
# The PX format marks such cells by dots, each number of dots for a reason of its own (not
# available, confidential). Two dots come as NaN; one dot comes as a text without a letter, which
# no longer tells the reason and is no missing value to pandas.
#
# Seen: '1', nan, '', '0'
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyaxis==0.4.3 pandas==3.1.1 numpy==2.4.6 <<'P'
import pandas as pd
from pyaxis import pyaxis

text = '''CHARSET="ANSI";
AXIS-VERSION="2000";
TITLE="People";
UNITS="number";
STUB="region";
HEADING="sex";
VALUES("region")="North","South";
VALUES("sex")="men","women";
DATA=
1 ".."
"." 0;
'''
with open("people.px", "w", encoding="latin-1") as file:
    file.write(text)
figures = list(pyaxis.parse("people.px", encoding="latin-1")["DATA"]["DATA"])
print(figures)
assert pd.isna(figures[1])
assert figures[:1] + figures[2:] == ["1", "", "0"], "signs are read otherwise now"
P
