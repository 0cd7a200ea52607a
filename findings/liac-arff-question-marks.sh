#!/usr/bin/env bash
# liac-arff 2.5.0: the text "?", and an empty text, are written as missing.
#
# In an ARFF file a missing value is an unquoted question mark, and a text that is one is quoted.
# It is written without quotation marks, as an empty text is, so both are missing when read again.
#
# Seen: "?" and "" come back as None.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with liac-arff==2.5.0 <<'P'
import arff

table = {"relation": "answers", "attributes": [("answer", "STRING")], "data": [["?"], [""], ["no"]]}
read = arff.loads(arff.dumps(table))["data"]
print(read)
assert read == [[None], [None], ["no"]]
P
