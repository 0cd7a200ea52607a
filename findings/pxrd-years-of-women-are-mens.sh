#!/usr/bin/env bash
# pxrd 0.0.3: women have the figures of men in a PX file that names the rows of its data.
#
# With KEYS each row starts with its categories. Where two variables are in its columns, sex and year, a figure
# is looked up by the year alone: all sexes have the first one's figures. The same file without KEYS is read
# as it is.
#
# Seen, of 1, 2 for men and 3, 4 for women: 1, 2, 1, 2; without KEYS 1, 2, 3, 4.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pxrd==0.0.3 <<'P'
import itertools

import pxrd

WITHOUT = """TITLE="People";
STUB="town";
HEADING="sex","year";
VALUES("town")="Bern","Chur";
VALUES("sex")="men","women";
VALUES("year")="2020","2021";
DATA=
1 2 3 4
5 6 7 8;
"""
WITH = WITHOUT.replace("DATA=", 'KEYS("town")=VALUES;\nDATA=')
WITH = WITH.replace("1 2 3 4", '"Bern",1,2,3,4').replace("5 6 7 8", '"Chur",5,6,7,8')
for text, figures in ((WITHOUT, [1, 2, 3, 4, 5, 6, 7, 8]), (WITH, [1, 2, 1, 2, 5, 6, 5, 6])):
    file = pxrd.reads(text)
    seen = [file.datum(place) for place in itertools.product(range(2), repeat=3)]
    print(seen)
    assert seen == figures
P
