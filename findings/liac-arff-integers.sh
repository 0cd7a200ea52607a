#!/usr/bin/env bash
# liac-arff 2.5.0: whole numbers of an ARFF file change from 17 digits on, and decimals are cut.
#
# A value of an integer column comes as a whole number, as near as a floating-point number can be.
#
# Seen: 1234567890123456789 is 1234567890123456768, and 1.9 is 1.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with liac-arff==2.5.0 <<'P'
import arff

TEXT = "@relation people\n@attribute id integer\n@data\n1234567890123456789\n1.9\n"
read = [row[0] for row in arff.loads(TEXT)["data"]]
print(read)
assert read == [1234567890123456768, 1]
P
