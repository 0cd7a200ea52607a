#!/usr/bin/env bash
# opendp 0.16.0: casting texts to truth values makes "false" true.
#
# then_cast_default(TOA=bool) looks like the way to read a yes-and-no column of a CSV. Every
# text but the empty one comes as True, so that a count of True, however private, is one of rows that
# have an answer.
#
# Seen: True for "true", "false" and "0", False for "".
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with opendp==0.16.0 <<'P'
import opendp.prelude as dp

dp.enable_features("contrib")
space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
found = (space >> dp.t.then_cast_default(TOA=bool))(["true", "false", "0", ""])
print(found)
assert found == [True, True, True, False]
P
