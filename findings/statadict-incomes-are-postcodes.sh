#!/usr/bin/env bash
# statadict 1.1.0: where a Stata dictionary leaves columns of its file out, incomes are postcodes.
#
# A dictionary says where each variable starts. Names are offered with widths or with places, either for a
# reader of files of fixed width; by widths each variable starts where the one before it ends, so that whatever
# was left out is read as the next variable, in silence where it is a number too.
#
# Seen, of a postcode between age and income that the dictionary doesn't name: incomes of 3012 and 8001 by
# widths, and of 1200 and 3400 by places.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with statadict==1.1.0 pandas==3.1.1 numpy==2.4.6 <<'P'
from pathlib import Path

import pandas as pd
from statadict import parse_stata_dict

Path("people.dct").write_text("""infile dictionary {
    _column(1)   int  id      %3f  "Number"
    _column(4)   int  age     %2f  "Age"
    _column(10)  int  income  %4f  "Income"
}
""")
Path("people.dat").write_text("0013030121200\n0024080013400\n")
dictionary = parse_stata_dict("people.dct")
by_width = pd.read_fwf("people.dat", names=dictionary.names, widths=dictionary.widths)
by_place = pd.read_fwf("people.dat", names=dictionary.names, colspecs=dictionary.colspecs)
print(by_width, by_place, sep="\n")
assert by_width["income"].tolist() == [3012, 8001] and by_place["income"].tolist() == [1200, 3400]
P
